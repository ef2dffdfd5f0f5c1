// Merges finished work as its task wants it (W-INT-06, -12). The trail decides first; the folders follow, again after a
// restart, since merging twice changes nothing.
import { type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import type { Integrator } from '@parley/kernel'
import type { IntegrationStrategy } from '@parley/trail/events'
import { ask } from '../ask.ts'
import type { Folders } from '../folder/folders.ts'
import type { MergeWay } from '../folder/model.ts'
import { coordinatorLimits } from '../limits.ts'
import type { ProjectedConflict, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { PlannedTask } from '../team/team.ts'
import { commitMessage } from './commit-message.ts'
import { sideOf, sideText } from './side.ts'
import { readConflicts } from './verdict.ts'

export interface Merging {
  readonly handle: Integrator
  readonly folders: Folders
  readonly projection: RunProjection
  /** Whose line it is merged into; undefined for the run's own. */
  readonly line: WorkspaceId | undefined
  /** Gives both versions to the agent that makes one of them. */
  readonly merge: (
    work: ProjectedWorkspace,
    draft: { readonly commit: string; readonly conflicts: readonly string[] },
  ) => Promise<void>
}

/**
 * Whether another merge into the same line is open (W-INT-08): then this one waits, with everything that the other one
 * needs to end. Asks the kernel, since the projection may lag behind.
 */
export async function isLocked(handle: Integrator, source?: WorkspaceId): Promise<boolean> {
  const target = await handle.look()
  // Whoever was replaced meanwhile merges nothing either.
  if (!target.ok) return true
  const { merging } = target.value
  return merging !== null && merging !== source
}

/** Work that was judged and is to be merged. */
export async function mergeWork(merging: Merging, work: ProjectedWorkspace, task: PlannedTask): Promise<void> {
  if (merging.projection.highway.waits('integration', work.id)) return
  // A person may have chosen another one at the gate.
  const strategy = work.integration?.open ? work.integration.strategy : task.merge.strategy
  const basis = 'the order in which work was accepted'
  if (strategy !== 'evaluated') {
    await ask(merging.handle.accept(work.id, { strategy, basis, baseAware: true, ungatedIfEmpty: true }))
    return
  }
  // Opened first: nothing else is merged while the integrator works on the present state.
  if (!work.integration?.open) {
    await ask(merging.handle.beginIntegration(work.id, { strategy, basis }))
    return
  }
  await mergeEvaluated(merging, work)
}

async function mergeEvaluated(merging: Merging, work: ProjectedWorkspace): Promise<void> {
  const mergers = mergersOf(merging, work)
  if (mergers.some(each => each.ended === undefined && each.state !== 'integrating')) return
  const made = mergers.findLast(each => each.state === 'integrating')
  if (!made) {
    // An integrator that fails is asked once more; without a result the work cannot be merged.
    if (mergers.length >= coordinatorLimits.mergeAttempts) {
      await ask(merging.handle.failIntegration(work.id))
      return
    }
    const draft = unwrap(await merging.folders.draft(commitOf(work), merging.line))
    await merging.merge(work, draft)
    return
  }
  const result = finalOf(made)
  const found = readConflicts(result?.text ?? '')
  if (found.length > 0 && work.conflicts.length === 0) {
    await ask(merging.handle.reportConflicts(work.id, found, { baseAware: true }))
    return
  }
  const how = { strategy: 'evaluated', result: { commit: result?.commit ?? null }, baseAware: true } as const
  await ask(merging.handle.accept(work.id, how))
}

/** Agents that made one of both versions, of the work or of its salvage, in order. */
export function mergersOf({ projection }: Pick<Merging, 'projection'>, { id }: ProjectedWorkspace, since = 0) {
  return projection.about(id).filter(({ facts, seq }) => facts?.kind === 'merge' && seq > since)
}

export const finalOf = (work: ProjectedWorkspace | undefined) => work?.checkpoints.findLast(each => each.final)

/** Work that conflicts with what was merged before it: one conflict at a time. */
export async function settleConflict(merging: Merging, work: ProjectedWorkspace, task: PlannedTask): Promise<void> {
  if (merging.projection.highway.waits('conflict_resolution', work.id)) return
  const conflict = work.conflicts.find(({ settled }) => settled === undefined)
  if (!conflict) return
  const { strategy, resolution } = await proposal(merging, work, task, conflict)
  const made = finalOf(mergersOf(merging, work).findLast(each => each.state === 'integrating'))
  const evaluated = work.integration?.strategy === 'evaluated'
  const result = evaluated && made ? { commit: made.commit ?? null } : undefined
  await ask(merging.handle.resolveConflict(work.id, conflict.id, strategy, resolution, result))
}

interface Proposal {
  readonly strategy: 'coordinator_resolve' | 'agent_rework' | 'escalate'
  readonly resolution: string
}

async function proposal(
  { projection, folders, line }: Merging,
  work: ProjectedWorkspace,
  task: PlannedTask,
  conflict: ProjectedConflict,
): Promise<Proposal> {
  const propose = (strategy: Proposal['strategy'], text: string) => ({ strategy, resolution: clip(text) })
  const { draft, files, shown } = await conflictText({ folders, line }, commitOf(work))
  const evaluated = work.integration?.strategy === 'evaluated'
  const resources = conflict.resources.join(', ')
  const rework = propose(
    'agent_rework',
    evaluated
      ? `${conflict.description} Do the work again on the present state.`
      : `The work conflicts with what was merged meanwhile, in: ${files || resources}. Do it again on the present state.\n${shown}`,
  )
  // A person turned down an earlier proposal: the work is done again; if they turn that down too, they decide.
  const turnedDown = projection.highway.ended('conflict_resolution', work.id)
  if (turnedDown?.action === 'reject') {
    const paused = turnedDown.gate.record.paused
    const before =
      paused.type === 'conflict_resolution' && paused.conflict === conflict.id ? paused.strategy : undefined
    if (before === 'coordinator_resolve') return rework
    if (before === 'agent_rework') return propose('escalate', sideText('incoming', shown))
  }
  if (evaluated && conflict.foundBy === 'runtime')
    return propose('coordinator_resolve', `The integrator read both versions of ${resources} and made one.`)
  if (!evaluated && draft.conflicts.length === 0)
    return propose('coordinator_resolve', `clean three-way merge of ${resources}`)
  if (task.merge.conflicts === 'rework') return rework
  if (evaluated) return propose('escalate', 'Take the result of the integrator in spite of this.')
  const sides = `Whose version of ${files} is taken: incoming is this work, existing is what was merged before.`
  return propose('escalate', sideText('incoming', `${sides}\n${shown}`))
}

/** What a commit would be merged with, and the files that do not fit together as a person is shown them. */
export async function conflictText({ folders, line }: Pick<Merging, 'folders' | 'line'>, commit: string) {
  const draft = unwrap(await folders.draft(commit, line))
  const excerpts = await folders.excerpts(draft, coordinatorLimits.excerptBytes)
  const shown = excerpts.map(({ path, text }) => `${path}:\n${text}`).join('\n')
  return { draft, files: draft.conflicts.join(', '), shown }
}

interface Merged {
  readonly work: ProjectedWorkspace
  readonly seq: number
  readonly commit: string | undefined
  readonly message: string
}

function mergedOf(work: ProjectedWorkspace, task: PlannedTask): Merged | undefined {
  const { salvage, checkpoints, merged, state } = work
  if (salvage?.merged !== undefined)
    return {
      work,
      seq: salvage.merged,
      commit: checkpoints.find(({ id }) => id === salvage.checkpoint)?.commit,
      message: `Salvaged: ${commitMessage(task, { 'Parley-Checkpoint': salvage.checkpoint })}`,
    }
  if (merged === undefined || state !== 'closed') return undefined
  return { work, seq: merged, commit: commitOf(work), message: commitMessage(task) }
}

/** Folders follow the trail: whatever it says is merged and is not in its line yet, in the order of the trail. */
export async function applyMerges(
  { folders, projection, line }: Pick<Merging, 'folders' | 'projection' | 'line'>,
  works: readonly { readonly work: ProjectedWorkspace; readonly task: PlannedTask }[],
  load: (result: ObjectId) => Promise<unknown>,
): Promise<boolean> {
  let changed = false
  const due = works
    .flatMap(({ work, task }) => mergedOf(work, task) ?? [])
    .toSorted((one, other) => one.seq - other.seq)
  for (const { work, commit, message } of due) {
    if (commit === undefined || projection.applied.has(work.id)) continue
    const way = await wayOf(work, load)
    const into = line === undefined ? {} : { into: line }
    const merged = unwrap(await folders.integrate(commit, { message, way, ...into }))
    // Different files can stand in each other's way all the same: a folder where the other has a file.
    if ('conflicts' in merged)
      unwrap(await folders.integrate(commit, { message, way: { way: 'take', side: 'incoming' }, ...into }))
    projection.applied.add(work.id)
    changed = true
  }
  return changed
}

async function wayOf(
  { integration, salvage, ...work }: ProjectedWorkspace,
  load: (result: ObjectId) => Promise<unknown>,
): Promise<MergeWay> {
  const strategy: IntegrationStrategy = salvage ? 'evaluated' : (integration?.strategy ?? 'layered')
  if (strategy === 'direct') return { way: 'overwrite' }
  const ref = (salvage ?? integration)?.result
  if (strategy === 'evaluated' && ref !== undefined) {
    const result = (await load(ref)) as { readonly commit?: string | null } | undefined
    return result?.commit ? { way: 'result', commit: result.commit } : { way: 'merge' }
  }
  const conflicts = salvage?.conflicts ?? work.conflicts
  const asked = conflicts.findLast(({ settled }) => settled?.strategy === 'escalate')
  if (!asked) return { way: 'merge' }
  return { way: 'take', side: sideOf(asked.settled!.resolution) ?? 'incoming' }
}

function commitOf(work: ProjectedWorkspace): string {
  return finalOf(work)?.commit ?? work.facts!.commit
}

export function clip(text: string): string {
  return text.slice(0, coordinatorLimits.resolutionLength)
}
