// The checks on whatever arrives, in the order of ALP-ENV-09. A failure is a reason for the log and never an answer
// (ALP-ERR-02).
import type { Ticks } from '@parley/core'
import { fromBase64, SIGNATURE_BYTES } from '@parley/keys'
import { verify } from '@parley/keys/sodium'
import { publicKeyOf } from '../identity/identity.ts'
import { parseWire } from '../json/parse.ts'
import { isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import { signedText } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { ALP_VERSION } from './envelope.ts'
import { readTs } from './timestamp.ts'

const FIELDS = ['v', 'from', 'to', 'ts', 'nonce', 'sig'] as const

/** Why a message was dropped: known here, told to nobody outside. */
export const DROP_REASONS = [
  'not JSON',
  'not an object',
  'missing alp',
  ...FIELDS.map(field => `missing ${field}` as const),
  'version',
  'timestamp unusable',
  'timestamp',
  'malformed alp',
  'signature',
  'replay',
  'replay journal',
  'recipient',
  'unpinned',
  'binding',
] as const
export type DropReason = (typeof DROP_REASONS)[number]

/** A message that passed: what its signature covers. */
export interface Message {
  readonly body: WireObject
  readonly from: string
  readonly to: string
  readonly nonce: string
  /** Microseconds since the epoch. */
  readonly ts: number
}

export type Verdict =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly reason: DropReason }

/** Remembers a pair of sender and nonce, or says why the message that brought it is dropped (ALP-ENV-08). */
export type ReplayGuard = (from: string, nonce: string) => 'replay' | 'replay journal' | undefined

export interface VerifyContext {
  /** The identity that messages must be addressed to. */
  readonly self: string
  readonly now: Ticks
  /** Callers keep one for each call alone (ALP-ENV-12). */
  readonly replay?: ReplayGuard
}

const MICROS = 1_000_000

export function verifyMessage(bytes: Uint8Array, context: VerifyContext): Verdict {
  const body = parseWire(bytes)
  if (body === undefined) return drop('not JSON')
  if (!isWireObject(body)) return drop('not an object')
  const { alp } = body
  if (!isWireObject(alp)) return drop('missing alp')
  for (const field of FIELDS) if (!(field in alp)) return drop(`missing ${field}`)
  // ALP-ENV-11: the integer, not something that equals it.
  if (alp.v !== ALP_VERSION) return drop('version')
  const ts = typeof alp.ts === 'string' ? readTs(alp.ts) : undefined
  if (ts === undefined) return drop('timestamp unusable')
  if (Math.abs(context.now - ts) > linkDefaults.skewSeconds * MICROS) return drop('timestamp')
  const { from, to, nonce, sig } = alp
  if (!isText(from) || !isText(to) || !isText(nonce) || !isText(sig)) return drop('malformed alp')
  if (nonce.length > linkLimits.nonceLength || from.length > linkLimits.identityLength) return drop('malformed alp')
  if (!signed(body, from, sig)) return drop('signature')
  const seen = context.replay?.(from, nonce)
  if (seen) return drop(seen)
  if (to !== context.self) return drop('recipient')
  return { ok: true, message: { body, from, to, nonce, ts } }
}

function isText(value: WireValue | undefined): value is string {
  return typeof value === 'string'
}

/** ALP-ENV-03: over the whole object without `alp.sig`, whatever else it holds. */
function signed(body: WireObject, from: string, sig: string): boolean {
  const key = publicKeyOf(from)
  const signature = fromBase64(sig, SIGNATURE_BYTES)
  if (!key || !signature) return false
  const covered = coveredBytes(body)
  return covered !== undefined && verify(key, covered, signature)
}

/** ALP-ENV-04 rule 6: a text with a lone surrogate has no bytes, so nobody can have signed it. */
function coveredBytes(body: WireObject): Buffer | undefined {
  try {
    return Buffer.from(signedText(body))
  } catch {
    return undefined
  }
}

function drop(reason: DropReason): Verdict {
  return { ok: false, reason }
}
