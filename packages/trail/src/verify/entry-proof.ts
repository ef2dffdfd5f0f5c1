// What proves one entry by itself (W-SEC-17): its hash, its links in both chains, its signature.
import type { RunId } from '@parley/core'
import type { Entry } from '../entry.ts'
import { globalEntry } from '../run/chain.ts'
import { entryAt } from '../store/entry-at.ts'
import type { TrailStore } from '../store/store.ts'
import { Predecessors } from './predecessors.ts'
import type { Finding, VerifyOptions } from './report.ts'
import { RunVerifier } from './verify.ts'

export interface EntryProof {
  readonly entry: Entry
  /** Global hash of the entry before it in the run, and local hash of the one before it in its workspace. */
  readonly previous: string | null
  readonly previousLocal: string | null
  /** What does not hold; empty if all does. In an unsigned run a missing signature is no finding. */
  readonly findings: readonly Finding[]
}

/** Undefined where there is no such entry. Reads the neighbours from the log, or from manifests. */
export async function proveEntry(
  store: TrailStore,
  run: RunId,
  seq: number,
  checks: VerifyOptions,
): Promise<EntryProof | undefined> {
  const stored = await entryAt(store, run, seq)
  if (!stored) return undefined
  const entry = globalEntry(stored)
  const before = new Predecessors(store, run)
  const previous = await before.hash(seq)
  const previousLocal = await before.localHash(entry)
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
