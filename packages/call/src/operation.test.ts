// What callers and handlers hand each other: operations and their types, paths, tokens, errors on their way
// (CALL-ERR-01, -02, CALL-EVT-07), and the names that are for pages.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { ManualClock, type Principal, type Ticks, Type } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import * as browser from './browser.ts'
import { CallError } from './error.ts'
import * as everything from './index.ts'
import { type InputOf, type OpOf, type OutputOf, operation, type ServiceOf, streaming } from './operation.ts'
import { PathPattern, parsePath } from './path.ts'
import { OperationRegistry } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { bundleForBrowser } from './testing/bundle.ts'
import { collect, open, registryWith, spec, TestHead } from './testing/head.ts'
import { KeyDirectory, keyIdOf, makeToken } from './token.ts'

const Path = Type.Object({ path: Type.String() })
const Happened = Type.Union([Type.Literal('changed'), Type.Literal('gone')])
const Numbers = Type.Object({ a: Type.Number(), b: Type.Optional(Type.Number()) })

const operations = {
  '/fs/readFile': operation(open('query', Path, Type.String()), ({ path }) => path.toUpperCase()),
  '/fs/watch': operation(open('subscription', Path, Happened), async function* ({ path }) {
    if (path !== '') yield 'changed'
    yield 'gone'
  }),
  '/calc/add': operation(open('mutation', Numbers, Type.Object({ sum: Type.Number() })), async ({ a, b = 0 }) => ({
    sum: a + b,
  })),
}
type Operations = typeof operations

test('a map of operations is a type: paths, services, inputs and outputs are known to callers', () => {
  expectTypeOf<ServiceOf<Operations>>().toEqualTypeOf<'fs' | 'calc'>()
  expectTypeOf<OpOf<Operations, 'fs'>>().toEqualTypeOf<'readFile' | 'watch'>()
  expectTypeOf<OpOf<Operations, 'calc'>>().toEqualTypeOf<'add'>()
  expectTypeOf<InputOf<Operations, '/fs/readFile'>>().toEqualTypeOf<{ path: string }>()
  expectTypeOf<OutputOf<Operations, '/fs/readFile'>>().toEqualTypeOf<string>()
  expectTypeOf<OutputOf<Operations, '/fs/watch'>>().toEqualTypeOf<'changed' | 'gone'>()
  expectTypeOf<InputOf<Operations, '/calc/add'>>().toEqualTypeOf<{ a: number; b?: number }>()
  expectTypeOf<OutputOf<Operations, '/calc/add'>>().toEqualTypeOf<{ sum: number }>()
  expectTypeOf<InputOf<Operations, '/no/such'>>().toEqualTypeOf<unknown>()
  expect(new OperationRegistry(operations).list().map(({ path }) => path)).toEqual([
    '/calc/add',
    '/fs/readFile',
    '/fs/watch',
  ])
})

test('a handler that does not fit its spec does not compile', () => {
  const query = open('query', Path, Type.String())
  const stream = open('subscription', Path, Type.String())
  // @ts-expect-error the output is a string
  operation(query, () => 5)
  // @ts-expect-error the output is a string, later too
  operation(query, async () => 5)
  // @ts-expect-error the input has no such member
  operation(query, ({ file }) => file)
  // @ts-expect-error a query does not stream
  operation(query, async function* () {
    yield 'a'
  })
  // @ts-expect-error a subscription streams
  operation(stream, async () => 'a')
  // @ts-expect-error each value is a string
  operation(stream, async function* () {
    yield 5
  })
  // @ts-expect-error there is no such type of operation
  operation({ ...query, opType: 'command' }, () => 'a')
  operation(query, (_input, context) => {
    // @ts-expect-error the context cannot be changed
    context.trusted = true
    return ''
  })
  operation(
    stream,
    streaming(({ path }: { path: string }) => ReadableStream.from([path])),
  )
  expect.assertions(0)
})

const PATHS = [
  '/dev1/fs/readFile',
  '/dev2/fs/readFile',
  '/dev1/bash/exec',
  '/head/agent/chat',
  '/services/list',
] as const

test.each([
  ['/dev1/*', [true, false, true, false, false]],
  ['/*/fs/*', [true, true, false, false, false]],
  ['/*/bash/*', [false, false, true, false, false]],
  ['/head/agent/*', [false, false, false, true, false]],
  ['/*', [true, true, true, true, true]],
  ['/dev1/fs/readFile', [true, false, false, false, false]],
] as const)('CALL-T40 the pattern %s matches as the table of CALL-ACL-08 says', (text, expected) => {
  const pattern = new PathPattern(text)
  expect(PATHS.map(path => pattern.matches(path))).toEqual(expected)
})

test.each(['fs*', '/fs*', '/*fs/x', 'a/b', '/a//b', '/a/b/', '//a', '/', '', '*', '/a b', '/**'])(
  'CALL-T40 %j is refused as a pattern when it is loaded',
  text => {
    expect(() => new PathPattern(text)).toThrow(TypeError)
  },
)

test('CALL-ACL-08 a pattern compares exactly: case, escapes and dots mean nothing special', () => {
  const pattern = new PathPattern('/dev1/f.s/*')
  expect(pattern.matches('/dev1/f.s/a')).toBe(true)
  for (const other of ['/Dev1/f.s/a', '/dev1/fxs/a', '/dev1/f%2Es/a', '/dev1/f.s', '/x/dev1/f.s/a'])
    expect(pattern.matches(other), other).toBe(false)
})

test.each([
  ['/fs/readFile', { node: undefined, service: 'fs', op: 'readFile', local: '/fs/readFile' }],
  ['fs/readFile', { node: undefined, service: 'fs', op: 'readFile', local: '/fs/readFile' }],
  ['/dev-1/fs/read.File~2', { node: 'dev-1', service: 'fs', op: 'read.File~2', local: '/fs/read.File~2' }],
  [`/${'a'.repeat(64)}/b`, { service: 'a'.repeat(64), op: 'b' }],
])('CALL-ROUTE-01, -02 %s is a path with its parts', (text, parts) => {
  expect(parsePath(text)).toMatchObject(parts)
})

test.each([
  ...['', '/', '/fs', '/a/b/c/d', '/fs/readFile/', '//fs/readFile', '/fs//readFile', '/fs/read file', '/fs/ä', '/fs/*'],
  ...['/.dev/fs/a', '/-dev/fs/a', '/d.v/fs/a', `/${'a'.repeat(65)}/b`],
])('CALL-ROUTE-01 %j is no path', text => {
  expect(parsePath(text)).toBeUndefined()
})

// The golden vector of CALL-TRANS-08.
const SEED = Buffer.alloc(32, 1)
const PUBLIC_KEY = Buffer.from('8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c', 'hex')
const KEY_ID = '34750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e'
const FINGERPRINT = 'SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8'
const TIME = 1_700_000_000
const TOKEN =
  'NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4AAAAAZVPxAA_YxRWsoazqvyH1L8m9a28WqVL1jgjsKgduXRNKnL0dWYrRfNBb8f2wprMZ94mQv5b51z9_aV3-Q6tk5Da8cQk'

const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), SEED]),
  format: 'der',
  type: 'pkcs8',
})
const ANNA: Principal = { id: 'anna', kind: 'user', scopes: ['dev'] }

function at(seconds: number): ManualClock {
  return new ManualClock((seconds * 1_000_000) as Ticks)
}

function directoryAt(seconds: number): KeyDirectory {
  const directory = new KeyDirectory(at(seconds))
  directory.add(PUBLIC_KEY, ANNA)
  return directory
}

/** The token with one bit of its bytes changed. */
function flipped(byte: number): string {
  const bytes = Buffer.from(TOKEN, 'base64url')
  bytes[byte]! ^= 1
  return bytes.toString('base64url')
}

test('CALL-T58 a token is good for 300 seconds around its time, for the key that signed it and no other bytes', async () => {
  expect(await directoryAt(TIME + 300).byToken(TOKEN)).toEqual(ANNA)
  expect(await directoryAt(TIME + 301).byToken(TOKEN)).toBeUndefined()
  expect(await directoryAt(TIME - 300).byToken(TOKEN)).toEqual(ANNA)
  expect(await directoryAt(TIME - 301).byToken(TOKEN)).toBeUndefined()
  // The last byte of the time, and some of the signature.
  for (const byte of [39, 40, 70, 103]) expect(await directoryAt(TIME).byToken(flipped(byte))).toBeUndefined()
  const bySsh = await directoryAt(TIME).byFingerprint(FINGERPRINT)
  expect(bySsh).toEqual(await directoryAt(TIME).byToken(TOKEN))
  expect(bySsh).toEqual(ANNA)
})

test('a token is made of the key and the time alone: the same bytes as other implementations make', () => {
  expect(makeToken(PRIVATE_KEY, at(TIME))).toBe(TOKEN)
  expect(TOKEN).toHaveLength(139)
  expect(keyIdOf(PUBLIC_KEY)).toBe(KEY_ID)
})

test('a token of an unknown or removed key, or in any other spelling, belongs to nobody', async () => {
  const directory = directoryAt(TIME)
  const stranger = generateKeyPairSync('ed25519').privateKey
  const broken = `${TOKEN.slice(0, 20)}\n${TOKEN.slice(20)}`
  const spelled = ['', 'x', `${TOKEN}A`, `${TOKEN}=`, TOKEN.slice(1), TOKEN.replaceAll('_', '/'), broken]
  for (const token of [makeToken(stranger, at(TIME)), ...spelled])
    expect(await directory.byToken(token)).toBeUndefined()
  expect(await directory.byToken(TOKEN)).toEqual(ANNA)
  directory.remove(PUBLIC_KEY)
  expect(await directory.byToken(TOKEN)).toBeUndefined()
  expect(await directory.byFingerprint(FINGERPRINT)).toBeUndefined()
})

test('only Ed25519 keys make tokens and are known', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  expect(() => makeToken(other)).toThrow(TypeError)
  expect(() => new KeyDirectory().add(Buffer.alloc(33), ANNA)).toThrow(TypeError)
})

const OPS_NAMES = ['VALIDATION_ERROR', 'ACCESS_DENIED', 'EXECUTION_ERROR', 'UNKNOWN_ERROR', 'OPERATION_NOT_FOUND']

test('CALL-T76 a code of an operation that OPS uses as a name stays itself, locally, remotely and through a head', async () => {
  const registry = registryWith(spec('/test/fail'), input => {
    throw new CallError(input as string, 'mine')
  })
  registry.register(spec('/test/failing', {}, 'subscription'), async function* (input) {
    yield* []
    throw new CallError(input as string, 'mine')
  })
  const head = new TestHead({ registry })
  await head.worker('dev1', { registry })
  const client = await head.join()
  for (const code of OPS_NAMES) {
    const error = { code, message: 'mine' }
    expect((await head.node.env.invoke('test', 'fail', code)).result).toMatchObject({ error })
    for (const path of ['/test/fail', '/dev1/test/fail'])
      await expect(client.call(path, code), path).rejects.toMatchObject(error)
    await expect(collect(client.subscribe('/dev1/test/failing', code))).rejects.toMatchObject(error)
  }
})

test.each([42, null, undefined, {}])('CALL-EVT-07 an error whose code is %j travels as INTERNAL', async code => {
  const registry = registryWith(spec('/test/fail'), () => {
    throw new CallError(code as unknown as string, 'odd')
  })
  const head = new TestHead({ registry })
  const peer = await head.peer()
  for (const request of [{ name: '/test/fail' }, { operationId: '/test/fail' }]) {
    peer.send('call.requested', 'r1', request)
    expect(await peer.next()).toMatchObject({ type: 'call.error', payload: { code: 'INTERNAL', message: 'odd' } })
  }
  expect((await head.node.env.invoke('test', 'fail')).result).toMatchObject({ error: { code: 'INTERNAL' } })
})

test('CALL-ERR-01 an ABORTED that a handler throws is an error like any other (D-27)', async () => {
  const registry = registryWith(spec('/test/stop'), () => {
    throw new CallError('ABORTED', 'enough')
  })
  registry.register(spec('/test/stopping', {}, 'subscription'), async function* () {
    yield 1
    throw new CallError('ABORTED', 'enough')
  })
  const head = new TestHead({ registry })
  const peer = await head.peer()
  const payload = { code: 'ABORTED', message: 'enough', retryable: false }
  peer.send('call.requested', 'r1', { name: '/test/stop' })
  expect(await peer.next()).toEqual({ type: 'call.error', id: 'r1', payload })
  // Ended as aborted, the stream would look complete.
  const client = await head.join()
  await expect(collect(client.subscribe('/test/stopping'))).rejects.toMatchObject(payload)
})

test('CALL-ENV-02 a failed envelope that is written as JSON says what failed, and nothing of where', () => {
  const cause = new Error('secret')
  const error = Object.assign(new CallError('GONE', 'no such file', { details: { path: 'a' } }), { cause })
  const failed = { code: 'GONE', message: 'no such file', retryable: false, details: { path: 'a' } }
  expect(JSON.parse(JSON.stringify(ResponseEnvelope.failure('r1', error)))).toEqual({
    requestId: 'r1',
    result: { ok: false, error: failed },
  })
  expect(JSON.stringify(new CallError('TIMEOUT', 'late'))).toBe('{"code":"TIMEOUT","message":"late","retryable":true}')
  // As on the wire: an error always gets through, if need be without its details.
  expect(JSON.stringify(new CallError('ODD', '', { details: { size: 5n, cause } }))).toBe(
    '{"code":"ODD","message":"","retryable":false}',
  )
})

test('what is for browsers imports nothing that browsers do not have', async () => {
  const { own, imports } = await bundleForBrowser(new URL('./browser.ts', import.meta.url))
  expect(imports).toEqual([])
  expect(own.includes('CallNode = class') || own.includes('class CallNode')).toBe(true)
  expect(/\b(?:require\(|process\.|Buffer\b)/.exec(own)?.[0]).toBeUndefined()
})

test('what a page gets to connect, to call and to be called is the same as in Node.js', () => {
  const { connectBrowserWebSocket, ...shared } = browser
  expect(connectBrowserWebSocket).toBeTypeOf('function')
  expect(Object.keys(shared)).toHaveLength(7)
  expect(everything).toMatchObject(shared)
})
