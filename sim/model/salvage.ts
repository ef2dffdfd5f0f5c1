// What entries with `mode: salvage` mean to the simulator's own model: they change the target and the record of the
// salvage, and nothing of the source.
import type { EntryDraft } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { RunModel } from './model.ts'
import { isOver, type SalvageModel, ticksOf } from './records.ts'

export function startSalvage(run: RunModel, body: EventBody<'integration_started'>): void {
  const { source, target, checkpoint_ref: checkpoint } = body
  run.salvages.set(source, {
    source,
    target,
    checkpoint: checkpoint ?? '',
    conflicts: new Set(),
    result: null,
    aborted: null,
  })
  run.workspace(target).merging = source
  run.approved.delete(source)
}

export function completeSalvage(run: RunModel, body: EventBody<'integration_completed'>, entry: EntryDraft): void {
  const salvage = run.salvages.get(body.source)
  const target = run.workspace(body.target)
  target.merges.push(body.source)
  for (const file of run.checkpoints.get(salvage?.checkpoint ?? '')?.files ?? []) target.files.set(file, ticksOf(entry))
  if (salvage) salvage.result = body.result
  run.salvaged.add(`${body.source} merged`)
  release(run, body)
}

export function abortSalvage(run: RunModel, body: EventBody<'integration_aborted'>): void {
  const salvage = run.salvages.get(body.source)
  if (salvage) salvage.aborted = body.reason
  run.salvaged.add(`${body.source} aborted`)
  release(run, body)
}

function release(run: RunModel, { source, target }: { readonly source: string; readonly target: string }): void {
  if (run.workspace(target).merging === source) run.workspace(target).merging = null
}

export function isOpen(salvage: SalvageModel | undefined): salvage is SalvageModel {
  return salvage?.result === null && salvage.aborted === null
}

/** W-INT-18: into the parent, or into the root where the parent is no more. */
export function salvageTarget(run: RunModel, source: string): string | undefined {
  const parent = run.workspaces.get(run.workspaces.get(source)?.parent ?? '')
  return parent && !isOver(parent.status) ? parent.id : run.root?.id
}
