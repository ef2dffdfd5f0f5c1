// Port rights (W-PORT-01, -02): permissions to send to one workspace, and the right to one's own inbox.
import type { RightId } from '@parley/core'
import type { RightType } from '@parley/trail/events'
import type { Run } from '../run/run.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'

/** `expired` is not kept: it follows from the states of holder and target (W-PORT-05). */
type RightStatus = 'active' | 'consumed' | 'revoked' | 'expired'

export interface PortRight {
  readonly id: RightId
  readonly type: RightType
  holder: Workspace
  readonly target: Workspace
  status: Exclude<RightStatus, 'expired'>
}

export function rightStatus(right: PortRight): RightStatus {
  if (right.status !== 'active') return right.status
  return ended(right.holder) || ended(right.target) ? 'expired' : 'active'
}

/** The right that a submission uses: `send` before `send_once` (W-PORT-07). */
export function sendRight(holder: Workspace, target: Workspace): PortRight | undefined {
  let once: PortRight | undefined
  for (const right of holder.rights?.get(target.id) ?? []) {
    if (right.type === 'receive' || rightStatus(right) !== 'active') continue
    if (right.type === 'send') return right
    once ??= right
  }
  return once
}

export function heldRight(
  holder: Workspace,
  type: RightType,
  target: Workspace,
  except?: ReadonlySet<PortRight>,
): PortRight | undefined {
  return holder.rights
    ?.get(target.id)
    ?.find(right => right.type === type && rightStatus(right) === 'active' && !except?.has(right))
}

export function rightsHeldBy(run: Run, holder: Workspace): readonly PortRight[] {
  return active(run, right => right.holder === holder)
}

export function rightsTo(run: Run, target: Workspace): readonly PortRight[] {
  return active(run, right => right.target === target)
}

function active(run: Run, wanted: (right: PortRight) => boolean): readonly PortRight[] {
  return [...run.rights.values()].filter(right => wanted(right) && rightStatus(right) === 'active')
}
