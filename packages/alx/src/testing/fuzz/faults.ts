// What can be wrong with a request, one thing at a time, and what the sheet has for it (ALX-SOLVE-03, section 9).
import { SCOPES } from '../../http/scopes.ts'
import { BODY_FAULTS, type Holder, holders, INVALID, isHolder } from './body-faults.ts'
import { below, own, pick, type Random, someJson, someObject } from './garbage.ts'
import { type Fault, SECRET } from './operations.ts'

const authority: readonly Fault[] = [
  {
    name: 'no token',
    fits: (_draft, { operation }) => operation.name !== 'protocol',
    apply(draft) {
      delete draft.headers.authorization
      return ['AUTH_REQUIRED']
    },
  },
  {
    name: 'unknown token',
    fits: (_draft, { operation }) => operation.name !== 'protocol',
    apply(draft, { random }) {
      draft.headers.authorization = pick(random, [`Bearer ${SECRET}`, 'Bearer', `Basic ${SECRET}`, 'Bearer \xff', 'U'])
      return ['UNAUTHORIZED']
    },
  },
  {
    name: 'another scope',
    fits: (_draft, { operation }) => !['read', undefined].includes(SCOPES[operation.name]),
    apply(draft) {
      draft.headers.authorization = 'Bearer reader'
      return ['UNAUTHORIZED']
    },
  },
  {
    name: 'another user',
    fits: (_draft, { operation: { path, name } }) => /\{(executionId|sessionId)\}/.test(path) || name === 'feedback',
    apply(draft) {
      draft.headers.authorization = 'Bearer V'
      return ['RUN_NOT_FOUND', 'SESSION_NOT_FOUND']
    },
  },
  {
    name: 'what belongs to another user',
    fits: (_draft, { operation: { path } }) => /\{(executionId|sessionId)\}/.test(path),
    apply({ segments }, { random, known: { foreign } }) {
      if (segments[3] !== undefined)
        segments[3] = pick(random, segments[2] === 'runs' ? foreign.runs : foreign.sessions)
      return ['RUN_NOT_FOUND', 'SESSION_NOT_FOUND']
    },
  },
  {
    name: 'in the name of another user',
    fits: ({ query }, { operation: { name } }) => name === 'solve' || (name === 'sessions' && query.length === 0),
    apply({ body, query }) {
      if (body) body.meta = { userId: 'V' }
      else query.push(['userId', 'V'])
      return ['UNAUTHORIZED']
    },
  },
]

/** What is no id, and what is one of nothing. */
const NO_IDS = [
  'nope',
  'x'.repeat(128),
  `0x${'0'.repeat(64)}`,
  '__proto__',
  '%00',
  '%2F',
  '%F0%9F%98%80',
  '..%2f..',
  'a%20b',
  '-',
]
const MISSING = ['RUN_NOT_FOUND', 'SESSION_NOT_FOUND', 'KB_NOT_FOUND', 'SETTLEMENT_NOT_FOUND', ...INVALID] as const

const addresses: readonly Fault[] = [
  {
    name: 'an id of nothing',
    fits: (_draft, { operation }) => operation.path.includes('{'),
    apply({ segments }, { random }) {
      if (segments[3] !== undefined) segments[3] = pick(random, NO_IDS)
      return MISSING
    },
  },
  {
    name: 'a path that cannot be read',
    fits: (_draft, { operation }) => operation.path.includes('{'),
    apply({ segments }, { random }) {
      if (segments[3] !== undefined) segments[3] = pick(random, ['%', '%zz', '%ff', '%c0%ae', 'x'.repeat(201)])
      return [...MISSING, 'NOT_FOUND']
    },
  },
  {
    name: 'another path',
    apply(draft, { random }) {
      const { segments } = draft
      draft.segments = pick(random, [
        ['', 'v1', 'nothing'],
        ['', 'v2', ...segments.slice(2)],
        [...segments, ''],
        ['', '', ...segments],
      ])
      // An empty segment is an id of nothing.
      return ['NOT_FOUND', 'METHOD_NOT_ALLOWED', ...MISSING]
    },
  },
  {
    name: 'another method',
    apply(draft, { random }) {
      const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'].filter(each => each !== draft.method)
      draft.method = pick(random, methods)
      // `verify` may be meant as the hash of a block, and is none.
      return draft.method === 'GET' && draft.segments[3] === 'verify' ? INVALID : ['METHOD_NOT_ALLOWED']
    },
  },
]

const READ = ['limit', 'status', 'type', 'direction', 'afterSeq'] as const

const parameters: readonly Fault[] = [
  {
    name: 'a query that is no value',
    fits: (_draft, { operation }) => READ.some(name => name in operation.query),
    apply(draft, { random, operation }) {
      const names = READ.filter(name => name in operation.query)
      if (names.length === 0) return 'sound'
      const name = pick(random, names)
      const values = ['', 'x', '-1', '9999999999999999999', '1e2', '1.5', '%00', '%F0%9F%98%80', '1%20']
      draft.query = draft.query.filter(([other]) => other !== name)
      draft.query.push([name, pick(random, values)])
      delete draft.headers['last-event-id']
      return INVALID
    },
  },
  {
    name: 'a repeated query',
    fits: (_draft, { operation }) => Object.keys(operation.query).length > 0,
    apply(draft, { random, operation }) {
      const [name, schema] = pick(random, Object.entries(operation.query)) ?? []
      if (name === undefined) return 'sound'
      const value = String(schema!.enum?.[0] ?? 1)
      draft.query.push([name, value], [name, value])
      delete draft.headers['last-event-id']
      return INVALID
    },
  },
  {
    name: 'a cursor of nothing',
    fits: (_draft, { operation }) => 'cursor' in operation.query,
    apply({ query }, { random }) {
      query.push(['cursor', pick(random, ['', 'zzz', 'W10', 'bnVsbA', 'WyJ4IiwxZTk5XQ', '%00', 'x'.repeat(900)])])
      return ['INVALID_CURSOR']
    },
  },
  {
    name: 'an unknown query',
    apply({ query }, { random }) {
      query.push([pick(random, ['zz', '__proto__', 'a[b]', '%F0%9F%98%80']), pick(random, ['', '1', '%E4%B8%AD'])])
      return 'sound'
    },
  },
  {
    name: 'another major',
    apply({ headers, body }, { random }) {
      const version = pick(random, ['2.0', '0.9', '9999.9999'])
      if (body && random() < 0.5) body.protocol = { protocol_version: version }
      else {
        delete body?.protocol
        headers['x-alx-protocol-version'] = version
      }
      return ['UNSUPPORTED_PROTOCOL_VERSION']
    },
  },
  {
    name: 'no version',
    apply({ headers, body }, { random }) {
      delete body?.protocol
      headers['x-alx-protocol-version'] = pick(random, ['x', '1', '1.1.1', '', '-1.0', '1.1, 1.1', '\xe4'])
      return INVALID
    },
  },
  {
    name: 'an odd correlation id',
    apply({ headers }, { random }) {
      headers['x-correlation-id'] = pick(random, ['a b', '', 'x'.repeat(129), '<script>', '\xe4', 'a\tb'])
      return 'sound'
    },
  },
  {
    name: 'a bad idempotency key',
    fits: (_draft, { operation }) => operation.name === 'solve',
    apply({ headers, body }, { random }) {
      const { idempotencyKey } = (isHolder(body?.options) ? body.options : {}) as Holder
      headers['idempotency-key'] =
        idempotencyKey === undefined ? pick(random, ['a b', '', 'x'.repeat(256), '\xe4']) : 'other'
      return INVALID
    },
  },
  {
    name: 'a bad last-event-id',
    fits: (_draft, { operation }) => operation.name === 'runEvents',
    apply({ headers }, { random }) {
      headers.accept = 'text/event-stream'
      headers['last-event-id'] = pick(random, ['x', '-1', '', '1.5', '01', '9'.repeat(30)])
      return INVALID
    },
  },
]

/** Anything may come of these. */
const chaos: readonly Fault[] = [
  {
    name: 'any value somewhere',
    apply({ body }, { random }) {
      const holder = pick(random, holders(body ?? {}))
      const names = Object.keys(holder)
      own(holder, names.length === 0 ? 'zz' : pick(random, names), someJson(random))
      return 'sound'
    },
  },
  {
    name: 'any value in an envelope',
    fits: ({ body }) => isHolder(body?.envelope),
    apply({ body }, { random }) {
      const { envelope } = body ?? {}
      if (isHolder(envelope)) own(envelope, pick(random, ENVELOPE), someJson(random))
      return 'sound'
    },
  },
  {
    name: 'any body',
    apply(draft, { random }) {
      draft.body = someObject(random)
      return 'sound'
    },
  },
  {
    name: 'changed bytes',
    apply(draft, { random }) {
      const bytes = Buffer.from(JSON.stringify(draft.body ?? {}))
      for (let times = 1 + below(random, 4); times > 0; times--) bytes[below(random, bytes.length)] = below(random, 256)
      draft.raw = bytes
      return 'sound'
    },
  },
  {
    name: 'any header',
    apply({ headers }, { random }) {
      const name = pick(random, HEADERS)
      const value = () => latin1(random, below(random, 40))
      headers[name] = random() < 0.2 ? [value(), value()] : value()
      return 'sound'
    },
  },
  {
    name: 'any path',
    apply(draft, { random }) {
      draft.segments = draft.segments.map((each, at) =>
        at > 0 && random() < 0.3 ? pick(random, PARTS) + pathText(random) : each,
      )
      return 'sound'
    },
  },
]

const ENVELOPE = ['type', 'domain', 'sources', 'payload', 'artifactHash', 'tier', 'derivation', 'kbHash', 'parents']
const HEADERS = [
  'authorization',
  'x-correlation-id',
  'x-alx-protocol-version',
  'idempotency-key',
  'last-event-id',
  'accept',
  'content-type',
  'accept-version',
  'cookie',
]
const PARTS = [
  '',
  '%',
  '%2e',
  '%2F',
  ';',
  ':',
  '*',
  '%00',
  '%C3%A4',
  '{executionId}',
  '..',
  '.',
  'v1',
  'solve',
  'runs',
  'x'.repeat(300),
]

function latin1(random: Random, length: number): string {
  const code = () => pick(random, [9, 32 + below(random, 95), 160 + below(random, 96)])
  return String.fromCharCode(...Array.from({ length }, code))
}

function pathText(random: Random): string {
  return latin1(random, below(random, 6)).replaceAll(/[^\x21-\x7e]|[#?]/g, '')
}

export const FAULTS = [...BODY_FAULTS, ...authority, ...addresses, ...parameters]
export const ALL_FAULTS = [...FAULTS, ...chaos]
