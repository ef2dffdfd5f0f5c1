// Trails as our own runtime never leaves them: half of a decision, as another runtime may that appends entry by entry
// entries that cannot be true, records that are gone or altered. What is forged here has sound hashes and
// places unless a test breaks them.
import { hash } from 'node:crypto'
import {
  canonicalize,
  type EntryId,
  formatTimestamp,
  type RunId,
  type Ticks,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import {
  type EntryDraft,
  HASH_ALGORITHM,
  type ProposedEntry,
  type StoredRecord,
  stamp,
  type TrailObject,
} from '@parley/trail'
import { forgeMemoryLog, openMemoryStore, type StoredEntry } from '@parley/trail/testing'
import type { Fixture } from './fixture.ts'

/** An entry as a test puts it, of a row too: without the types that its event demands. */
export function proposal(
  event_type: string,
  workspace: string | null,
  actor: string,
  body: object = {},
): ProposedEntry {
  return { event_type, workspace, actor, body } as ProposedEntry
}

/** Appends entries past the kernel, as a runtime could have that then stopped; the fixture is to be restarted. */
export async function leave(
  f: Fixture,
  entries: readonly ProposedEntry[],
  objects: readonly TrailObject[] = [],
): Promise<readonly EntryDraft[]> {
  await f.settle()
  const stamped = entries.map(entry =>
    stamp(entry, f.ids.next('e') as EntryId, formatTimestamp(f.runtime.clock.take())),
  )
  unwrap(await f.trail.run(f.run.id).append({ entries: stamped, objects }))
  return stamped
}

/** Writes all that the store holds anew, changed; to be called while everything is closed. */
export async function rewrite(
  f: Fixture,
  change: (records: StoredRecord[]) => readonly StoredRecord[],
  of: RunId = f.run.id,
): Promise<void> {
  const before = await openMemoryStore(f.disks)
  const written: StoredRecord[] = []
  for (const { run } of await before.runs()) {
    const records: StoredRecord[] = []
    for await (const record of before.replay(run)) records.push(record)
    written.push(...(run === of ? change(records) : records))
  }
  await before.close()
  f.disks = { trail: await forgeMemoryLog(written), blobs: f.disks.blobs }
}

/** Puts entries behind the others, linked as they must be, whatever they say. */
export function behind(records: StoredRecord[], run: RunId, forged: readonly EntryDraft[]): StoredRecord[] {
  const linked = [...records]
  for (const entry of forged) linked.push(link(linked, run, entry))
  return linked
}

/** W-TRAIL-12 by the letter: the local view, then the global one with the local hash as its anchor. */
function link(records: readonly StoredRecord[], run: RunId, entry: EntryDraft): StoredEntry {
  const entries = records.filter(record => record.kind === 'entry')
  const last = entries.at(-1)
  const { id, timestamp, workspace, actor, event_type, body } = entry
  const shown = { id, timestamp, workspace, actor, event_type, body }
  const local =
    workspace === null
      ? undefined
      : sha256(
          canonicalize({
            ...shown,
            prev_hash: lastLocal(entries, workspace),
            integrity: { algorithm: HASH_ALGORITHM },
          }),
        )
  const view = canonicalize({
    ...shown,
    prev_hash: last?.hash ?? null,
    integrity: { algorithm: HASH_ALGORITHM, ...(local !== undefined && { local_hash: local }) },
  })
  return { kind: 'entry', run, seq: (last?.seq ?? 0) + 1, view, hash: sha256(view) }
}

function lastLocal(entries: readonly StoredEntry[], workspace: WorkspaceId): string | null {
  for (const { view } of entries.toReversed()) {
    const parsed = JSON.parse(view) as { workspace: string | null; integrity: { local_hash?: string } }
    if (parsed.workspace === workspace) return parsed.integrity.local_hash ?? null
  }
  return null
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex')
}

/** An entry with a time of the test's own. */
export function draft(f: Fixture, entry: ProposedEntry, at: Ticks): EntryDraft {
  return stamp(entry, f.ids.next('e') as EntryId, formatTimestamp(at))
}
