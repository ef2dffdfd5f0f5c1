// What one entry by itself can be proven with (W-SEC-17): its hash, its link to the entries before it in both chains, its signature.
import type { RunId, WorkspaceId } from '@parley/core'
import { globalEntry } from './chain.ts'
import type { Entry, StoredEntry } from './entry.ts'
import type { TrailStore } from './store/store.ts'
import { type Finding, RunVerifier, type VerifyOptions } from './verify.ts'

export interface EntryProof {
  readonly entry: Entry
  /** Global hash of the entry before it in the run, and local hash of the one before it in its workspace. */
  readonly previous: string | null
  readonly previousLocal: string | null
  /** What does not hold; none where all does. An entry of a run that is not signed lacks a signature without a finding. */
  readonly findings: readonly Finding[]
}

/** Undefined where there is no such entry. It reads the neighbours from the log, or from the manifests where retention took them. */
export async function proveEntry(
  store: TrailStore,
  run: RunId,
  seq: number,
  checks: VerifyOptions,
): Promise<EntryProof | undefined> {
  const stored = await entryAt(store, run, seq)
  if (!stored) return undefined
  const entry = globalEntry(stored)
  const previous = seq === 1 ? null : await hashAt(store, run, seq - 1)
  const previousLocal = entry.workspace === null ? null : await localBefore(store, run, entry.workspace, seq)
  const first = seq === 1 ? stored : await entryAt(store, run, 1)
  const verifier = new RunVerifier(run, {
    ...(first?.signature !== undefined && { signed: true }),
    ...checks,
    behind: { seq: seq - 1, hash: previous, locals: localsOf(entry, previousLocal) },
  })
  verifier.entry(stored)
  return { entry, previous, previousLocal, findings: verifier.finish().findings }
}

function localsOf({ workspace, timestamp }: Entry, hash: string | null) {
  if (workspace === null || hash === null) return new Map()
  return new Map([[workspace, { hash, timestamp, terminal: false }]])
}

async function entryAt(store: TrailStore, run: RunId, seq: number): Promise<StoredEntry | undefined> {
  const place = { run, after: seq - 1, before: seq + 1 }
  return (await store.select({ ...place, order: 'ascending', limit: 1 })).entries[0]
}

async function hashAt(store: TrailStore, run: RunId, seq: number): Promise<string | null> {
  const stored = await entryAt(store, run, seq)
  return stored?.hash ?? (await deleted(store, run)).find(each => each.seq === seq)?.hash ?? null
}

async function localBefore(
  store: TrailStore,
  run: RunId,
  workspace: WorkspaceId,
  before: number,
): Promise<string | null> {
  const query = { run, spans: [{ workspace }], before, order: 'descending', limit: 1 } as const
  const [stored] = (await store.select(query)).entries
  const gone = (await deleted(store, run)).filter(each => each.workspace === workspace && each.seq < before)
  const newest = gone.toSorted((one, other) => other.seq - one.seq)[0]
  if (newest && newest.seq > (stored?.seq ?? 0)) return newest.local_hash
  return stored ? (globalEntry(stored).integrity.local_hash ?? null) : null
}

/** What retention deleted and the manifests still tell of (W-TRAIL-29). */
async function deleted(store: TrailStore, run: RunId) {
  return (await store.manifests(run)).filter(each => each.deleted).flatMap(({ entries }) => entries)
}
