// What a verification finds, is told and reports.
import type { EntryId, RunId, Timestamp } from '@parley/core'
import type { ProposedEntry } from '../entry.ts'
import type { Violation } from '../events/names.ts'
import type { ChainState } from '../run/run-chain.ts'
import type { RunHead } from '../store/store.ts'

/** What somebody must have done to the stored trail, and what the registry calls that (W-TRAIL-16). */
export const DAMAGE = {
  edited: 'hash_mismatch',
  missing: 'chain_broken',
  reordered: 'chain_broken',
  forked: 'chain_broken',
  spliced: 'chain_broken',
  truncated: 'chain_broken',
  rolled_back: 'chain_broken',
  signature: 'signature_invalid',
  unreadable: 'chain_broken',
} as const satisfies Readonly<Record<string, Violation>>
export type DamageKind = keyof typeof DAMAGE

export interface Finding {
  readonly seq: number
  /** The entry's id where its bytes still tell one. */
  readonly entry: EntryId | null
  readonly damage: DamageKind
  readonly violation: Violation
  readonly message: string
  readonly expected: string
  readonly actual: string
}

export interface VerifyReport {
  readonly run: RunId
  readonly entries: number
  readonly head: RunHead | undefined
  /** In order of `seq`; the first one is where the damage begins. */
  readonly findings: readonly Finding[]
  /** One per finding, for the runtime to record. */
  readonly violations: readonly ProposedEntry<'integrity_violation'>[]
}

export interface VerifyOptions {
  /** Heads that are known from elsewhere: an index, a heads file, an export. */
  readonly knownHeads?: readonly RunHead[]
  /** Every entry must be signed. Without it a run counts as signed when its first entry is. */
  readonly signed?: boolean
  /** Public keys that may have signed; any key when absent. */
  readonly trusted?: ReadonlySet<string>
  /** Those of them that were replaced, in order, each with the timestamp of the last entry that it may have signed. */
  readonly retired?: ReadonlyMap<string, Timestamp>
  /** Leave out the signatures, which take most of the time. */
  readonly skipSignatures?: boolean
  /**
   * `seq` of the first entry whose signature is checked. Earlier ones must be signed by a permitted key; a later
   * signature covers them, since each is over a hash of all entries before it.
   */
  readonly signaturesFrom?: number
  /** Begin behind a state that was kept (`RunTrail.state`), which is trusted with all that stands before it. */
  readonly behind?: Pick<ChainState, 'seq' | 'hash' | 'locals'>
}

export function violationOf(finding: Finding): ProposedEntry<'integrity_violation'> {
  return {
    event_type: 'integrity_violation',
    workspace: null,
    actor: 'protocol',
    body: {
      subject_type: 'trail_entry',
      subject_id: finding.entry ?? `seq:${finding.seq}`,
      violation: finding.violation,
      expected: finding.expected,
      actual: finding.actual,
      action_taken: 'flagged',
    },
  }
}
