// The keys that sign a trail in turn (W-TRAIL-15). A rotation is a statement that both keys sign, so a verifier who
// knows one key of the chain can follow it in both directions, and nobody can put a key of their own before or behind
// somebody else's.
import { hash } from 'node:crypto'
import { canonicalize, type Timestamp } from '@parley/core'
import { fingerprint } from '@parley/keys'
import type { Endorsement, TrailKey } from '../shapes.ts'
import { type Signer, signatureValid } from '../signing.ts'

export { type Endorsement, EndorsementSchema, type TrailKey, TrailKeySchema } from '../shapes.ts'

const STATEMENT = 'parley-key-rotation/1'

export interface Trust {
  readonly trusted: ReadonlySet<string>
  /** Keys that were replaced, in order, each with the timestamp of the last entry that it may have signed. */
  readonly retired: ReadonlyMap<string, Timestamp>
}

export function endorse(old: Signer, next: Signer, at: Timestamp, until: Timestamp): Endorsement {
  const statement = { from: old.id, to: next.id, at, until }
  const digest = digestOf(statement)
  return { ...statement, signature: old.sign(digest), countersignature: next.sign(digest) }
}

export function endorsementValid({ signature, countersignature, ...statement }: Endorsement): boolean {
  const digest = digestOf(statement)
  return (
    statement.from !== statement.to &&
    signatureValid(statement.from, digest, signature) &&
    signatureValid(statement.to, digest, countersignature)
  )
}

function digestOf({ from, to, at, until }: Omit<Endorsement, 'signature' | 'countersignature'>): string {
  return hash('sha256', canonicalize({ format: STATEMENT, from, to, at, until }), 'hex')
}

export function trustOf(keys: readonly TrailKey[]): Trust {
  return { trusted: new Set(keys.map(({ key }) => key)), retired: retiredOf(keys) }
}

/** Trust in known keys, and in those that sound endorsements of an untrusted list lead to from there. */
export function followKeys(known: Iterable<string>, shown: readonly TrailKey[]): Trust {
  const links = shown.flatMap(({ key, endorsement }) =>
    endorsement && endorsement.to === key && endorsementValid(endorsement) ? [endorsement] : [],
  )
  const trusted = new Set(known)
  for (const key of trusted) {
    for (const { from, to } of links) {
      if (from === key) trusted.add(to)
      if (to === key) trusted.add(from)
    }
  }
  // An end that nobody has signed can only make the check stricter.
  return { trusted, retired: retiredOf(shown.filter(({ key }) => trusted.has(key))) }
}

/** Endorsements in a list that do not hold: somebody has changed it. */
export function keyProblems(shown: readonly TrailKey[]): string[] {
  return shown.flatMap(({ key, endorsement }) =>
    !endorsement || (endorsement.to === key && endorsementValid(endorsement))
      ? []
      : [`The endorsement of the key ${fingerprint(key)} does not hold.`],
  )
}

function retiredOf(keys: readonly TrailKey[]): Map<string, Timestamp> {
  const retired = new Map<string, Timestamp>()
  for (const { key, until } of keys) {
    const said = keys.find(({ endorsement }) => endorsement?.from === key)?.endorsement?.until
    const end = said !== undefined && (until === null || said < until) ? said : until
    if (end !== null) retired.set(key, end)
  }
  return retired
}
