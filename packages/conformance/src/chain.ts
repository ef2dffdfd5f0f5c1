// The hash chains recomputed from what a system shows, by the letter of W-TRAIL-11 and -12: nothing of any
// implementation is used.
import { hash } from 'node:crypto'
import { canonicalize } from '@parley/core'
import type { Entry } from './host.ts'

/** Node's names of the algorithms that W-TRAIL-12 allows. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  'sha-256': 'sha256',
  'sha-384': 'sha384',
  'sha-512': 'sha512',
}

export interface Hashes {
  /** Null for an entry that belongs to no workspace. */
  readonly local: string | null
  readonly global: string
}

/** Both hashes of an entry, given the hashes before it in both chains. */
export function hashesOf(entry: Entry, lastLocal: string | null, lastGlobal: string | null): Hashes {
  const { id, timestamp, workspace, actor, event_type, body } = entry
  const shown = { id, timestamp, workspace, actor, event_type, body }
  const algorithm = entry.integrity?.algorithm ?? 'sha-256'
  const view = (prev_hash: string | null, integrity: object) =>
    digestOf(algorithm, canonicalize({ ...shown, prev_hash, integrity: { algorithm, ...integrity } }))
  const local = workspace === null ? null : view(lastLocal, {})
  const anchored = entry.integrity?.local_hash !== undefined && local !== null
  return { local, global: view(lastGlobal, anchored ? { local_hash: local } : {}) }
}

/** The hash of a text by the name that the trail gives its algorithm. */
export function digestOf(algorithm: string, text: string): string {
  const known = ALGORITHMS[algorithm]
  if (known === undefined) throw new Error(`The hash algorithm ${algorithm} is none that W-TRAIL-12 allows.`)
  return hash(known, text, 'hex')
}

/** What is wrong with the chains of a whole trail; nothing where they hold. */
export function chainProblems(entries: readonly Entry[]): readonly string[] {
  const problems: string[] = []
  const locals = new Map<string, string>()
  let last: string | null = null
  for (const entry of entries) {
    const before: string | null = entry.workspace === null ? null : (locals.get(entry.workspace) ?? null)
    const { local, global } = hashesOf(entry, before, last)
    const at = `entry ${entry.seq} (${entry.event_type})`
    if (entry.prev_hash !== last) problems.push(`${at} does not name the hash before it (W-TRAIL-12)`)
    if (entry.integrity?.entry_hash !== global) problems.push(`${at} has another hash than its content (W-TRAIL-12)`)
    if (entry.workspace !== null && local !== null) locals.set(entry.workspace, local)
    last = global
  }
  return problems
}
