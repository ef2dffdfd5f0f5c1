// Active rights by holder and by target (W-PORT-11, W-TOPO-CHAN-08), in order of their creation.
import type { Run } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type PortRight, rightStatus } from './port-right.ts'

export function rightsHeldBy(run: Run, holder: Workspace): readonly PortRight[] {
  return active(run, right => right.holder === holder)
}

export function rightsTo(run: Run, target: Workspace): readonly PortRight[] {
  return active(run, right => right.target === target)
}

function active(run: Run, wanted: (right: PortRight) => boolean): readonly PortRight[] {
  return [...run.rights.values()].filter(right => wanted(right) && rightStatus(right) === 'active')
}
