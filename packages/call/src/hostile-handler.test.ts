// Handlers that misbehave (CALL-REG-09, CALL-WIRE-07, CALL-SUB-05): they throw anything, return what is no JSON or is
// too large, and stream through iterators that break every promise. Each caller gets an error with a code, the link
// goes on, and so does the process.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { CallError } from './error.ts'
import type { Link } from './link/link.ts'
import { CallNode } from './node.ts'
import { type StreamHandler, streaming } from './operation.ts'
import { ResponseEnvelope } from './response.ts'
import { Ground } from './testing/ground.ts'
import { spec } from './testing/head.ts'
import { registryOf, turn } from './testing/peer.ts'
import { connectUnix } from './transport/sockets.ts'

const throwing = (what: () => unknown) => () => {
  throw what()
}
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const cycle = () => {
  const one: Record<string, unknown> = {}
  const two = { one }
  one.two = { two }
  return one
}
const changed = <E extends Error>(error: E, members: object): E => Object.assign(error, members)
const getter = (message: () => unknown) => Object.defineProperty(new Error('x'), 'message', { get: message })

const round = new Error('round')
const throwsAsJson = { toJSON: throwing(() => 1) }

/** Everything that can be thrown, and the code and message that the caller gets. */
const THROWN: Readonly<Record<string, readonly [thrown: () => unknown, code: string, message: unknown]>> = {
  'an Error': [() => new Error('boom'), 'INTERNAL', 'boom'],
  'a text': [() => 'boom', 'INTERNAL', 'boom'],
  nothing: [() => undefined, 'INTERNAL', 'undefined'],
  null: [() => null, 'INTERNAL', 'null'],
  'a BigInt': [() => 5n, 'INTERNAL', '5'],
  'a symbol': [() => Symbol('s'), 'INTERNAL', 'Symbol(s)'],
  'a promise': [() => Promise.resolve(1), 'INTERNAL', '[object Promise]'],
  'an object without a prototype': [() => Object.create(null), 'INTERNAL', 'internal error'],
  'an object whose toString throws': [() => ({ toString: throwing(() => 1) }), 'INTERNAL', 'internal error'],
  'an object whose toString is no function': [() => ({ toString: 1, valueOf: 1 }), 'INTERNAL', 'internal error'],
  'a proxy that is no more': [revoked, 'INTERNAL', 'internal error'],
  'an Error whose message is a number': [() => changed(new Error(), { message: 5 }), 'INTERNAL', expect.any(String)],
  'an Error whose message throws': [() => getter(throwing(() => 1)), 'INTERNAL', 'internal error'],
  'an Error that is its own cause': [() => changed(round, { cause: round }), 'INTERNAL', 'round'],
  'a CallError with a cycle in its details': [() => new CallError('X', 'c', { details: cycle() }), 'X', 'c'],
  'a CallError whose details throw': [() => new CallError('X', 'c', { details: throwsAsJson }), 'X', 'c'],
  'a CallError whose code is a number': [() => changed(new CallError('X', 'c'), { code: 7n }), 'INTERNAL', 'c'],
  'a CallError whose message is an object': [() => changed(new CallError('X', ''), { message: cycle() }), 'X', ''],
  'a CallError that is retryable in words': [() => changed(new CallError('X', 'c'), { retryable: 'yes' }), 'X', 'c'],
  'a message of 70 MB': [() => new Error('x'.repeat(70_000_000)), 'INTERNAL', 'x'.repeat(1024)],
  'details of 70 MB': [() => new CallError('X', 'c', { details: 'x'.repeat(70_000_000) }), 'X', 'c'],
}

class Special {
  readonly x = 1
}

const list: unknown[] = []
list.push(list)
const nested = (levels: number) => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
const changing = () => {
  let reads = 0
  return Object.defineProperty({}, 'x', { enumerable: true, get: () => (reads++ === 0 ? 1 : 5n) })
}

/** What cannot be sent as a result. */
const RETURNED: Readonly<Record<string, () => unknown>> = {
  'a cycle': cycle,
  'a list that contains itself': () => list,
  'a BigInt': () => 5n,
  'a BigInt inside': () => ({ a: [{ b: 5n }] }),
  'a Map': () => new Map([[1, 2]]),
  'a Set': () => ({ set: new Set([1]) }),
  bytes: () => new Uint8Array(8),
  'a Buffer': () => ({ data: Buffer.from('x') }),
  'an ArrayBuffer': () => new ArrayBuffer(8),
  'a symbol': () => Symbol('s'),
  'a function': () => () => 1,
  NaN: () => Number.NaN,
  infinity: () => [Number.NEGATIVE_INFINITY],
  'an object of a class': () => new Special(),
  'an Error': () => new Error('returned'),
  'a proxy that is no more': revoked,
  'something with a then that throws': () => Object.fromEntries([['then', throwing(() => 1)]]),
  'something with a then that cannot be read': () => Object.defineProperty({}, 'then', { get: throwing(() => 1) }),
  'toJSON that throws': () => ({ toJSON: throwing(() => 1) }),
  'toJSON that gives a BigInt': () => Object.create({ toJSON: () => 5n }),
  'a member that is another one the second time': changing,
  'meta that is no JSON': () => ResponseEnvelope.success('x', 1, { source: 5n }),
  'nesting without end': () => nested(100_000),
}

/** What is too much for one message. */
const TOO_LARGE: typeof RETURNED = {
  'a text of 70 MB': () => 'x'.repeat(70_000_000),
  '23 million letters that take three bytes each': () => '€'.repeat(23_000_000),
  'more than the platform can put into a text': () => Array.from({ length: 600 }, () => 'x'.repeat(2 ** 20)),
}

const NEVER = new Promise<never>(() => undefined)
const value = (given: unknown) => Promise.resolve({ done: false, value: given })
let returned = 0

/** Iterators, and what their consumer gets after its first pull: a value, or the code of an error. */
const ITERATED: Readonly<Record<string, readonly [iterable: () => unknown, first: unknown]>> = {
  'no iterable': [() => 5, 'INTERNAL'],
  nothing: [() => undefined, 'INTERNAL'],
  'asyncIterator that throws': [() => ({ [Symbol.asyncIterator]: throwing(() => 'x') }), 'INTERNAL'],
  'asyncIterator that gives nothing': [() => ({ [Symbol.asyncIterator]: () => undefined }), 'INTERNAL'],
  'no next': [() => iterable({}), 'INTERNAL'],
  'next that throws': [() => iterable({ next: throwing(() => Object.create(null)) }), 'INTERNAL'],
  'next that rejects': [() => iterable({ next: () => Promise.reject(new Error('x')) }), 'INTERNAL'],
  'next that gives nothing': [() => iterable({ next: () => Promise.resolve() }), 'INTERNAL'],
  'a value that is no JSON': [() => iterable({ next: () => value(5n) }), 'INTERNAL'],
  'a value that is too large': [() => iterable({ next: () => value('x'.repeat(70_000_000)) }), 'PAYLOAD_TOO_LARGE'],
  'no end': [() => iterable({ next: () => value(1) }), 1],
  'no end and no return': [() => ({ [Symbol.asyncIterator]: () => ({ next: () => value(1) }) }), 1],
  'return that throws': [() => iterable({ next: () => value(1), return: throwing(() => new Error('x')) }), 1],
  'return that rejects': [() => iterable({ next: () => value(1), return: () => Promise.reject(new Error('x')) }), 1],
  'return that never settles': [() => iterable({ next: () => value(1), return: () => NEVER }), 1],
}

function iterable(iterator: object): unknown {
  const counted = { return: () => Promise.resolve({ done: true }), ...iterator } as { return: () => unknown }
  const close = counted.return
  return {
    [Symbol.asyncIterator]: () => ({
      ...counted,
      return: () => {
        returned++
        return close()
      },
    }),
  }
}

let ground: Ground
let link: Link

beforeAll(async () => {
  const handlers = {
    '/bad/throw': (name: unknown) => {
      throw THROWN[String(name)]![0]()
    },
    '/bad/reject': async (name: unknown) => {
      await turn()
      throw THROWN[String(name)]![0]()
    },
    '/bad/return': (name: unknown) => (RETURNED[String(name)] ?? TOO_LARGE[String(name)])!(),
    '/bad/hang': (_input: unknown, { signal }: OperationContext) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(Object.create(null)))),
    '/bad/generator': async function* (name: unknown) {
      yield 1
      throw THROWN[String(name)]![0]()
    },
  }
  ground = await Ground.open(handlers, registry => {
    registry.register(
      spec('/bad/iterate', {}, 'subscription'),
      streaming(((name: unknown) => ITERATED[String(name)]![0]()) as StreamHandler),
    )
  })
  link = new CallNode({ registry: registryOf({}) }).attach(await connectUnix(ground.path))
})

afterAll(async () => {
  link.close()
  await ground.close()
})

async function failure(running: Promise<unknown>): Promise<CallError> {
  const thrown = await running.then(
    value => new Error(`it was answered: ${String(value)}`),
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(CallError)
  return thrown as CallError
}

async function unharmed(): Promise<void> {
  expect(await link.call('/test/echo', 'still here')).toBe('still here')
  expect((await ground.lastAttacked()).inboundCount).toBe(0)
  await ground.goOn(1)
}

test.for(Object.keys(THROWN))('CALL-REG-09 a handler that throws %s fails, and nothing else does', async name => {
  const [, code, message] = THROWN[name]!
  for (const path of ['/bad/throw', '/bad/reject']) {
    const error = await failure(link.call(path, name))
    expect([error.code, error.message, error.retryable]).toEqual([code, message, false])
  }
  const stream = link.subscribe('/bad/generator', name)[Symbol.asyncIterator]()
  expect((await stream.next()).value).toBe(1)
  expect((await failure(stream.next())).code).toBe(code)
  await unharmed()
})

test.for([...Object.keys(RETURNED), ...Object.keys(TOO_LARGE)])(
  'CALL-WIRE-07 a handler that returns %s fails with a code',
  async name => {
    const code = name in RETURNED ? 'INTERNAL' : 'PAYLOAD_TOO_LARGE'
    expect((await failure(link.call('/bad/return', name, { timeout: 25_000 }))).code).toBe(code)
    await unharmed()
  },
)

test.for(Object.keys(ITERATED))('CALL-SUB-05 a stream with %s ends like any other', async name => {
  const [, first] = ITERATED[name]!
  const before = returned
  const stream = link.subscribe('/bad/iterate', name)[Symbol.asyncIterator]()
  if (typeof first === 'string') expect((await failure(stream.next())).code).toBe(first)
  else {
    expect((await stream.next()).value).toBe(first)
    await stream.return!()
  }
  await unharmed()
  expect(returned - before).toBeLessThanOrEqual(1)
})

test('CALL-SUB-05 a handler that rejects with nonsense when it is aborted disturbs nobody', async () => {
  const controller = new AbortController()
  const running = Array.from({ length: 100 }, () => link.callEnvelope('/bad/hang', null, { signal: controller.signal }))
  await turn()
  controller.abort()
  for (const { result } of await Promise.all(running)) expect(result.ok || result.error.code).toBe('ABORTED')
  await unharmed()
})
