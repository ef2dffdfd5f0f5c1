// Inputs for fuzzing, from a seed: JSON values with everything that trips programs up, envelopes that are nearly right,
// and sound bytes made unsound. Node.js only.
import { randomBytes } from './random.ts'

export type Random = () => number

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}

export function pick<T>(random: Random, among: readonly T[]): T {
  return among[below(random, among.length)]!
}

const KEYS = [
  'name',
  'operationId',
  'requestId',
  'input',
  'payload',
  'namespace',
  'deadline',
  'idleTimeout',
  'metadata',
  'identity',
  'forwarded_for',
  'auth_token',
  'id',
  'type',
  'scopes',
  'output',
  'data',
  'operations',
  'code',
  'message',
  'retryable',
  'details',
  'op_type',
  'opType',
  'access_control',
  'accessControl',
  'required_scopes',
  'required_scopes_any',
  'resource_type',
  'resource_action',
  'input_schema',
  'node',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'hasOwnProperty',
  'length',
  '',
  '0',
  'ä',
  '\ud83d\ude00',
] as const

const TEXTS = [
  '',
  '/',
  '//',
  '/a',
  '/a/b',
  'a.b',
  'a.b.c',
  '.',
  '/a/b/c',
  '/a/b/c/d',
  '/test/echo',
  'test.echo',
  '/head/services/register',
  '/services/list',
  '/services/schema',
  '/test/stream',
  '/w/test/echo',
  'seed',
  'query',
  'subscription',
  'call.requested',
  'INTERNAL',
  'OPERATION_NOT_FOUND',
  '__proto__',
  '\u0000',
  '\ufeff',
  '\ufffd',
  '\u2028',
  '"',
  '\\',
  '\\u',
  '\ud800',
  '\udc00',
  '\ud83d\ude00',
  'ä',
  '€'.repeat(50),
  'x'.repeat(300),
] as const

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e21,
  1e308,
  -1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1_700_000_000_000,
  Date.UTC(2026, 0, 1),
] as const

/** Any JSON value. */
export function someJson(random: Random, depth = 0): unknown {
  switch (below(random, depth > 4 ? 4 : 7)) {
    case 0:
      return pick(random, [null, true, false])
    case 1:
      return pick(random, NUMBERS)
    case 2:
      return pick(random, TEXTS)
    case 3:
      return String.fromCharCode(...Array.from({ length: below(random, 8) }, () => below(random, 65_536)))
    case 4:
      return Array.from({ length: below(random, 4) }, () => someJson(random, depth + 1))
    default:
      return someObject(random, depth)
  }
}

export function someObject(random: Random, depth = 0): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (let members = below(random, 5); members > 0; members--)
    // As JSON.parse does it: an own member, whatever its name.
    Object.defineProperty(object, pick(random, KEYS), {
      value: someJson(random, depth + 1),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  return object
}

const TYPES = [
  'call.requested',
  'call.requested',
  'call.requested',
  'call.responded',
  'call.completed',
  'call.aborted',
  'call.error',
  'call.bogus',
  'topic.tick',
  '__subscribe',
  '',
] as const

const FIELDS = [
  'deadline',
  'idleTimeout',
  'metadata',
  'requestId',
  'namespace',
  'identity',
  'auth_token',
  'parentRequestId',
  'payload',
] as const

/** A request that is nearly right. */
export function someRequest(random: Random): unknown {
  if (random() < 0.2) return someJson(random)
  const target = pick(random, ['name', 'operationId'])
  const request: Record<string, unknown> = { [target]: pick(random, TEXTS), input: someJson(random) }
  while (random() < 0.4) request[pick(random, FIELDS)] = someJson(random)
  return request
}

export interface LooseEnvelope {
  readonly type: string
  readonly id: string
  readonly payload: unknown
}

/** An envelope that is sound; what it says need not be. */
export function someEnvelope(
  random: Random,
  ids: readonly string[] = ['', 'r1', 'r2', 'x'.repeat(128), 'x'.repeat(129)],
): LooseEnvelope {
  const type = pick(random, TYPES)
  return {
    type,
    id: pick(random, ids),
    payload: type === 'call.requested' ? someRequest(random) : someJson(random),
  }
}

/** The body of a frame: mostly an envelope, sometimes something else. */
export function someBody(random: Random): string {
  const kind = random()
  if (kind < 0.75) return JSON.stringify(someEnvelope(random))
  if (kind < 0.85) return JSON.stringify(someJson(random))
  if (kind < 0.9) return '['.repeat(below(random, 300)) + ']'.repeat(below(random, 300))
  if (kind < 0.95) return nested(below(random, 260))
  return `  ${JSON.stringify(someEnvelope(random), null, 2)}\n`
}

function nested(levels: number): string {
  return `{"type":"a","id":"[[[","payload":${'{"a":['.repeat(levels >> 1)}1${']}'.repeat(levels >> 1)}}`
}

/** Changes sound bytes here and there. */
export function mutated(random: Random, bytes: Buffer): Buffer {
  let changed = bytes
  for (let times = below(random, 4); times > 0; times--) changed = mutatedOnce(random, changed)
  return changed
}

const TELLING = [0, 1, 4, 5, 0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0xbf, 0xc0, 0xed, 0xf4, 0xfe, 0xff]

function mutatedOnce(random: Random, bytes: Buffer): Buffer {
  const at = below(random, bytes.length + 1)
  const until = Math.min(bytes.length, at + 1 + below(random, 8))
  const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, until), bytes.subarray(until)]
  switch (below(random, 6)) {
    case 0:
      return Buffer.concat([before, after])
    case 1:
      return Buffer.concat([before, part, part, after])
    case 2:
      return Buffer.concat([before, randomBytes(random, 1 + below(random, 8)), after])
    case 3:
      return Buffer.concat([before, Buffer.from([pick(random, TELLING)]), after])
    case 4:
      return Buffer.from(before)
    default:
      return Buffer.concat([before, part.map(byte => byte ^ (1 << below(random, 8))), after])
  }
}

/** The same bytes in pieces of any size, empty ones included. */
export function cut(random: Random, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = random() < 0.3 ? below(random, 5) : below(random, bytes.length - at + 1)
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}
