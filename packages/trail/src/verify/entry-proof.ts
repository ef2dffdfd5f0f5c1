// What one entry by itself can be proven with (W-SEC-17): its hash, its link to the entries before it in both chains,
// its signature.
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
  /**
   * What does not hold; none where all does. An entry of a run that is not signed lacks a signature without a finding.
   */
  readonly findings: readonly Finding[]
}

/**
 * Undefined where there is no such entry. It reads the neighbours from the log, or from the manifests where retention
 * took them.
 */
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
