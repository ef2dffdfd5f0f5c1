// One entry by its place in its run, checked against its hash; undefined where there is none.
import type { RunId } from '@parley/core'
import type { StoredEntry } from '../entry.ts'
import type { TrailStore } from './store.ts'

export async function entryAt(store: TrailStore, run: RunId, seq: number): Promise<StoredEntry | undefined> {
  const place = { run, after: seq - 1, before: seq + 1 }
  return (await store.select({ ...place, order: 'ascending', limit: 1 })).entries[0]
}
