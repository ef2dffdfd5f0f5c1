// The checks on a message that arrives, in the order of ALP-ENV-09, and those on an answer (ALP-ENV-12). A failure is a
// reason for the log and never an answer (ALP-ERR-02).
import { type Ticks, ticksPerSecond } from '@parley/core'
import { fromBase64, SIGNATURE_BYTES } from '@parley/keys'
import { verify } from '@parley/keys/sodium'
import { readWireError } from '../errors.ts'
import { publicKeyOf } from '../identity/identity.ts'
import { parseWire } from '../json/parse.ts'
import { isWireObject, type WireObject, type WireValue } from '../json/value.ts'
import { signedText } from '../json/write.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { ALP_VERSION, JSONRPC, type ResponseBody } from './envelope.ts'
import { readTs } from './timestamp.ts'

const FIELDS = ['v', 'from', 'to', 'ts', 'nonce', 'sig'] as const

/** Why a message was dropped: for our log alone. */
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

/** A message that passed: its signature covers all of it. */
export interface Message {
  readonly body: WireObject
  readonly from: string
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
  /** A caller has one for each of its calls (ALP-ENV-12): no answer is taken twice. */
  readonly replay?: ReplayGuard
}

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
  if (Math.abs(context.now - ts) > linkDefaults.skewSeconds * ticksPerSecond) return drop('timestamp')
  const { from, to, nonce, sig } = alp
  if (!isText(from) || !isText(to) || !isText(nonce) || !isText(sig)) return drop('malformed alp')
  if (nonce.length > linkLimits.nonceLength || from.length > linkLimits.identityLength) return drop('malformed alp')
  if (!signed(body, from, sig)) return drop('signature')
  const seen = context.replay?.(from, nonce)
  if (seen) return drop(seen)
  if (to !== context.self) return drop('recipient')
  return { ok: true, message: { body, from } }
}

function isText(value: WireValue | undefined): value is string {
  return typeof value === 'string'
}

/** ALP-ENV-03: over the whole object without `alp.sig`, unknown members included. */
function signed(body: WireObject, from: string, sig: string): boolean {
  const key = publicKeyOf(from)
  const signature = fromBase64(sig, SIGNATURE_BYTES)
  if (!key || !signature) return false
  try {
    return verify(key, Buffer.from(signedText(body)), signature)
  } catch {
    // ALP-ENV-04 rule 6: a text with a lone surrogate has no bytes, so nobody can have signed it.
    return false
  }
}

function drop(reason: DropReason): Verdict {
  return { ok: false, reason }
}

export interface ExpectedResponse extends VerifyContext {
  /** The identity that was dialled, which must have signed the answer. */
  readonly dialled: string
  /** Of the request. */
  readonly id: string
}

export type ResponseVerdict =
  | { readonly ok: true; readonly body: ResponseBody }
  | { readonly ok: false; readonly reason: DropReason | 'sender' | 'jsonrpc' | 'id' | 'neither result nor error' }

/** ALP-ENV-12: an answer passes the checks of any message, comes from the dialled identity and is for the request. */
export function readResponse(bytes: Uint8Array, expected: ExpectedResponse): ResponseVerdict {
  const verdict = verifyMessage(bytes, expected)
  if (!verdict.ok) return verdict
  const { body, from } = verdict.message
  if (from !== expected.dialled) return { ok: false, reason: 'sender' }
  if (body.jsonrpc !== JSONRPC) return { ok: false, reason: 'jsonrpc' }
  if (body.id !== expected.id) return { ok: false, reason: 'id' }
  const { error, result, stream } = body
  // A plain answer may have `error: null` beside its result.
  if (error !== undefined && error !== null) return { ok: true, body: { error: readWireError(error) } }
  if (result === undefined) return { ok: false, reason: 'neither result nor error' }
  // ALP-UNIX-08: everything that is not a chunk ends the exchange.
  return { ok: true, body: stream === 'chunk' || stream === 'final' ? { result, stream } : { result } }
}
