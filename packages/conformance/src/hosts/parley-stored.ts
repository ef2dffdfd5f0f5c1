// What Parley has stored, changed while nothing runs: records are taken out of one disk in memory and written to
// another.
import { canonicalize, formatTimestamp, parseTimestamp, type RunId, type Ticks } from '@parley/core'
import { HASH_ALGORITHM, type StoredRecord as TrailRecord } from '@parley/trail'
import { forgeMemoryLog, type MemoryDisks, openMemoryStore, unwrapProven } from '@parley/trail/testing'
import { hashesOf } from '../chain.ts'
import type { ForeignEntry, StoredFault, StoredRecord } from '../faults.ts'
import type { Entry } from '../host.ts'
import { REGISTRY } from '../registry.ts'

/** What the stored faults need of the system. */
export interface Disks {
  disks: MemoryDisks
  now(): Ticks
  newId(prefix: string): string
}

export function storedFault(system: Disks): StoredFault {
  return {
    rewrite: (run, change) => rewrite(system, run, records => change(records)),
    forge: (run, change) => rewrite(system, run, records => linked(change(records))),
    async append(run, entries) {
      const ids: string[] = []
      await rewrite(system, run, records => {
        const last = records.findLast(record => record.kind === 'entry')
        const added = drafted(system, entries, last)
        ids.push(...added.map(({ id }) => id))
        return linked([...records, ...added.map(entry => ({ kind: 'entry', entry }) as const)])
      })
      return ids
    },
  }
}

async function rewrite(
  system: Disks,
  of: string,
  change: (records: readonly StoredRecord[]) => readonly StoredRecord[],
): Promise<void> {
  const before = await openMemoryStore(system.disks)
  const written: TrailRecord[] = []
  for (const { run } of await before.runs()) {
    const kept: TrailRecord[] = []
    for await (const record of before.replay(run)) kept.push(record)
    written.push(...(run === of ? changed(run, kept, change) : kept))
  }
  await before.close()
  system.disks = { trail: await forgeMemoryLog(written), blobs: system.disks.blobs }
}

/**
 * What is not touched stays as it is to the letter. An object that is changed keeps the proof that it had: nobody can
 * make another.
 */
function changed(
  run: RunId,
  kept: readonly TrailRecord[],
  change: (records: readonly StoredRecord[]) => readonly StoredRecord[],
): TrailRecord[] {
  const originals = new Map(kept.map(record => [shown(record), record]))
  const proofs = new Map(kept.map(record => [record.kind === 'object' && record.id, proofIn(record)]))
  return change([...originals.keys()]).map((each, index, all) => {
    const original = originals.get(each)
    if (original?.kind === 'object') return { ...original, seq: stored(run, each, index, all).seq }
    const made = stored(run, each, index, all)
    return made.kind === 'object' ? { ...made, data: (proofs.get(made.id) ?? '') + made.data } : made
  })
}

function proofIn(record: TrailRecord): string {
  if (record.kind !== 'object') return ''
  return record.data.slice(0, record.data.length - unwrapProven(record).data.length)
}

export function shown(record: TrailRecord): StoredRecord {
  if (record.kind === 'object')
    return {
      kind: 'object',
      id: record.id,
      type: record.objectKind,
      value: JSON.parse(unwrapProven(record).data),
    }
  const { integrity, ...view } = JSON.parse(record.view) as Omit<Entry, 'seq'>
  const { signature, signer } = record
  const sealed = {
    ...integrity!,
    entry_hash: record.hash,
    ...(signature && { signature }),
    ...(signer && { signer }),
  }
  return { kind: 'entry', entry: { seq: record.seq, ...view, integrity: sealed } }
}

/** As Parley's log keeps it: the canonical view and what it hashes to according to the record. */
function stored(run: RunId, record: StoredRecord, index: number, all: readonly StoredRecord[]): TrailRecord {
  if (record.kind === 'object') {
    const next = all.slice(index).find(each => each.kind === 'entry')
    const last = all.findLast(each => each.kind === 'entry')
    const seq = next?.entry.seq ?? (last?.entry.seq ?? 0) + 1
    return {
      kind: 'object',
      run,
      seq,
      id: record.id as never,
      objectKind: record.type,
      data: canonicalize(record.value),
    }
  }
  const { seq, integrity, id, timestamp, workspace, actor, event_type, body, prev_hash = null } = record.entry
  const { entry_hash: hash = '', signature, signer, ...rest } = integrity ?? { entry_hash: '' }
  const view = canonicalize({ id, timestamp, workspace, actor, event_type, body, prev_hash, integrity: rest })
  return { kind: 'entry', run, seq, view, hash, ...(signature && { signature }), ...(signer && { signer }) }
}

/** Places, links and anchors made anew for everything that is there; signatures cannot be, and are left out. */
function linked(records: readonly StoredRecord[]): readonly StoredRecord[] {
  const locals = new Map<string, string>()
  let last: string | null = null
  let seq = 0
  return records.map(record => {
    if (record.kind === 'object') return record
    seq++
    const { workspace } = record.entry
    const placed: Entry = {
      ...record.entry,
      seq,
      prev_hash: last,
      integrity: {
        entry_hash: '',
        algorithm: HASH_ALGORITHM,
        ...(workspace !== null && { local_hash: '' }),
      },
    }
    const { local, global } = hashesOf(placed, workspace === null ? null : (locals.get(workspace) ?? null), last)
    if (workspace !== null && local !== null) locals.set(workspace, local)
    last = global
    const integrity = {
      entry_hash: global,
      algorithm: HASH_ALGORITHM,
      ...(local !== null && { local_hash: local }),
    }
    return { kind: 'entry', entry: { ...placed, integrity } }
  })
}

export function drafted(
  system: Pick<Disks, 'now' | 'newId'>,
  entries: readonly ForeignEntry[],
  last: { readonly entry: Entry } | undefined,
): readonly Entry[] {
  let floor = Math.max(system.now(), last ? Number(parseTimestamp(last.entry.timestamp)) + 1 : 0)
  return entries.map(({ workspace, actor, event_type, body, ...given }) => {
    const timestamp = given.timestamp ?? formatTimestamp(floor as Ticks)
    floor++
    const repeated = (REGISTRY[event_type] ?? []).filter(field => field === 'timestamp' || field === 'delivered_at')
    const stamped = { ...body, ...Object.fromEntries(repeated.map(field => [field, timestamp])) }
    const id = given.id ?? system.newId('e')
    return { seq: 0, id, timestamp, workspace, actor, event_type, body: stamped }
  })
}
