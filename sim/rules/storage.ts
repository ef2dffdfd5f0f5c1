// The storage life cycle: what may move where, what a summary says, and what may follow the end of a run.

import { hash } from 'node:crypto'
import { canonicalize } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { Manifest } from '@parley/trail/testing'
import type { RunModel } from '../model/model.ts'
import { isOver } from '../model/records.ts'
import type { Invariant, Problem } from './rule.ts'

/** W-TRAIL-27, column C of the registry, written down a second time. */
const ARCHIVABLE: ReadonlySet<EventType> = new Set<EventType>([
  'budget_warning',
  'liveness_warning',
  'priority_changed',
  'visibility_granted',
  'signal_delivered',
  'envelope_delivered',
])

export function isArchivable({ event_type, body }: EntryDraft): boolean {
  if (event_type === 'workspace_state_changed') return !isOver((body as EventBody<'workspace_state_changed'>).to_state)
  return ARCHIVABLE.has(event_type)
}

export const storageRules: readonly Invariant[] = [
  {
    name: 'W-TRAIL-27 a summary is about a terminal workspace, system-level, and never about nothing',
    on: {
      trail_compacted: (run, body, { workspace, actor }) => {
        const status = run.workspaces.get(body.workspace)?.status ?? 'unknown'
        if (!isOver(status)) return `${body.workspace} is ${status}`
        if (workspace !== null || actor !== 'protocol') return `it is filed under ${workspace} by ${actor}`
        // A summary may have been deleted with the file that it was in, and then its archive needs another.
        const earlier = run.summaries.get(body.archive_hash)
        if (earlier && !run.gone.has(earlier.by)) return `${body.archive_hash} is summed up twice`
        return body.entries_archived > 0 ? undefined : 'nothing was archived'
      },
    },
  },
  {
    name: 'W-TRAIL-30 a snapshot freezes entries of a run that has ended',
    on: {
      trail_snapshot_created: (run, body) => {
        if (!run.ended) return `${run.id} goes on`
        if (body.up_to > run.seq) return `there is no entry ${body.up_to}`
        const left = run.drafts.slice(0, body.up_to).filter(({ id }) => !run.gone.has(id)).length
        return body.entry_count === left ? undefined : `${body.entry_count} entries, ${left} are there`
      },
    },
  },
]

/** W-TRAIL-27, -29: what the archives of a run hold, against the run itself. */
export function compactedProblem(run: RunModel, manifests: readonly Manifest[]): Problem {
  const cold = new Set<number>()
  for (const { archive, kind, workspace, deleted, entries, archive_hash } of manifests) {
    if (deleted) continue
    const summed = run.summaries.get(archive_hash)?.entries
    if (summed !== undefined && kind === 'workspace' && summed !== entries.length)
      return `archive ${archive} holds ${entries.length} entries, its summary says ${summed}`
    const hashes = entries.map(({ local_hash, hash: own }) => local_hash ?? own)
    if (hash('sha256', canonicalize(hashes), 'hex') !== archive_hash) return `archive ${archive} has another hash`
    for (const { seq, id } of entries) {
      const draft = run.drafts[seq - 1]
      if (draft?.id !== id) return `archive ${archive} has ${id} as entry ${seq}`
      if (kind !== 'workspace') continue
      if (draft.workspace !== workspace || !isArchivable(draft))
        return `archive ${archive} of ${workspace} took ${draft.event_type} of ${draft.workspace}`
      if (cold.has(seq)) return `entry ${seq} was archived twice`
      cold.add(seq)
    }
  }
  return undefined
}
