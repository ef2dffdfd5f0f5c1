// Overlap under `layered` and `evaluated` (W-INT-07, AMB-55): paths that an earlier integration into the same target
// changed too.
import type { CheckpointId, WorkspaceId } from '@parley/core'
import { kernelLimits } from '../limits.ts'
import type { Run } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { Finding } from './conflict-record.ts'

/** The files that merging a checkpoint changes; an observation is an empty merge (W-INT-06). */
export function filesOf(run: Run, id: CheckpointId | null): readonly string[] {
  const checkpoint = id === null ? undefined : run.checkpoints.get(id)
  return !checkpoint || checkpoint.type === 'observation' ? [] : checkpoint.filesChanged
}

export function overlapsOf(
  files: readonly string[],
  source: Workspace,
  target: Workspace,
  baseAware: boolean,
): readonly Finding[] {
  const shared = new Map<WorkspaceId, string[]>()
  for (const path of new Set(files)) {
    const change = target.files?.get(path)
    if (!change || (baseAware && change.at < source.created)) continue
    const paths = shared.get(change.source) ?? []
    paths.push(path)
    shared.set(change.source, paths)
  }
  return bounded([...shared]).map(([earlier, paths]) => findingOf(earlier, paths))
}

/** The files that no reported overlap names: what the runtime finds there, the integrator has not told of yet. */
export function unnamedIn(files: readonly string[], reported: readonly Finding[]): readonly string[] {
  const named = new Set(reported.flatMap(({ type, resources }) => (type === 'content_overlap' ? resources : [])))
  return files.filter(path => !named.has(path))
}

type Shared = readonly (readonly [WorkspaceId, readonly string[]])[]

/** All of them fit into one batch: where too many sources are concerned, the last finding stands for the rest. */
function bounded(shared: Shared): Shared {
  const rest = shared.slice(kernelLimits.conflicts - 1)
  const [first] = rest
  if (!first || rest.length === 1) return shared
  return [...shared.slice(0, kernelLimits.conflicts - 1), [first[0], rest.flatMap(([, paths]) => paths)]]
}

function findingOf(earlier: WorkspaceId, paths: readonly string[]): Finding {
  let length = 0
  const resources = paths.filter(path => {
    length += path.length
    return length <= kernelLimits.conflictResourceLength
  })
  const more = paths.length - resources.length
  const unnamed = more > 0 ? ` ${more} more are not named here.` : ''
  return {
    type: 'content_overlap',
    resources,
    description: `Integrated earlier, ${earlier} changed ${paths.length} of the same files.${unnamed}`,
  }
}
