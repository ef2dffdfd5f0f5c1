// Records for the suite of stores: entries that follow each other, objects, and what a store has of them.
import { hash } from 'node:crypto'
import type { ObjectId, ParleyError, RunId, Timestamp, WorkspaceId } from '@parley/core'
import { expect } from 'vitest'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import type { StoreQuery, TrailStore } from '../store/store.ts'

export const R1 = 'run_1' as RunId
export const R2 = 'run_2' as RunId
export const A = 'ws_a' as WorkspaceId
export const B = 'ws_b' as WorkspaceId

export interface Shape {
  readonly workspace?: WorkspaceId | null
  readonly actor?: string
  readonly type?: string
  readonly body?: object
}

/** The hash of each entry that was made last in its place. */
export const hashes = new Map<string, string>()

/**
 * An entry as a store sees one: the text of a view and its hash. Timestamps rise with `seq`; it follows the one made
 * before it.
 */
export function entry(run: RunId, seq: number, shape: Shape = {}): StoredEntry {
  const workspace = shape.workspace === undefined ? A : shape.workspace
  const view = JSON.stringify({
    actor: shape.actor ?? 'protocol',
    body: shape.body ?? { n: seq },
    event_type: shape.type ?? 'signal_delivered',
    id: `e_${run}_${seq}`,
    integrity: { algorithm: 'sha-256', ...(workspace !== null && { local_hash: 'cd'.repeat(32) }) },
    prev_hash: hashes.get(`${run} ${seq - 1}`) ?? null,
    timestamp: timeOf(seq),
    workspace,
  })
  const made = hash('sha256', view, 'hex')
  hashes.set(`${run} ${seq}`, made)
  return { kind: 'entry', run, seq, view, hash: made }
}

export function timeOf(seq: number): Timestamp {
  return `2026-03-01T09:00:00.${String(seq).padStart(6, '0')}Z` as Timestamp
}

export function object(run: RunId, seq: number, id: string, data: string): StoredObject {
  return { kind: 'object', run, seq, id: id as ObjectId, objectKind: 'payload', data: JSON.stringify(data) }
}

export function append(store: TrailStore, ...records: readonly StoredRecord[]): Promise<ParleyError | undefined> {
  return new Promise(resolve => {
    const refused = store.append(records, resolve)
    if (refused) resolve(refused)
  })
}

export async function fill(
  store: TrailStore,
  run: RunId,
  count: number,
  shape?: (seq: number) => Shape,
): Promise<void> {
  for (let seq = 1; seq <= count; seq++) expect(await append(store, entry(run, seq, shape?.(seq)))).toBeUndefined()
}

export const everything = { order: 'ascending', limit: 1000 } as const

export async function seqs(
  store: TrailStore,
  query: Omit<StoreQuery, 'order' | 'limit'> & Partial<StoreQuery>,
): Promise<number[]> {
  const page = await store.select({ ...everything, ...query })
  return page.entries.map(each => each.seq)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
