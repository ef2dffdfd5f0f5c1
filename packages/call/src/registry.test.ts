import { type TSchema, Type } from '@parley/core'
import { expect, test, vi } from 'vitest'
import type { OperationContext } from './context.ts'
import { CallError } from './error.ts'
import { type Handler, operation, streaming } from './operation.ts'
import type { OperationSpec } from './operation-spec.ts'
import { OperationRegistry, PROVEN } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { codeOf, principal, registryWith, spec, TestHead } from './testing/head.ts'

/** A link to a node with this registry; the caller is the principal with these scopes. */
function caller(registry: OperationRegistry, scopes: readonly string[] = []) {
  return new TestHead({ registry }).join({ as: principal('caller', scopes) })
}

test('CALL-T31 a spec without a handler cannot be called, and a handler needs a spec', async () => {
  const registry = new OperationRegistry()
  registry.registerSpec(spec('/test/later'))
  const missing = { code: 'NOT_FOUND', message: 'operation not found: /test/later', retryable: false }
  const head = new TestHead({ registry })
  const link = await head.join()
  await expect(link.call('/test/later')).rejects.toMatchObject(missing)
  expect((await head.node.env.invoke('test', 'later')).result).toMatchObject({ ok: false, error: missing })
  expect(() => registry.registerHandler('/test/unknown', () => 1)).toThrow(TypeError)
  registry.registerHandler('/test/later', () => 1)
  await expect(link.call('/test/later')).resolves.toBe(1)
})

test('CALL-REG-04 what has no handler is not found, whoever asks: access is looked at after that', async () => {
  const registry = new OperationRegistry()
  registry.registerSpec(spec('/test/later', { requiredScopes: ['admin'] }))
  const head = new TestHead({ registry, pathRules: [{ pattern: '/test/*', access: { requiredScopes: ['b'] } }] })
  const link = await head.join({ as: principal('caller') })
  await expect(link.call('/test/later')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-T32 input that does not fit is refused with its place, but only to those who may call at all', async () => {
  const handler = vi.fn(() => 'text')
  const inputSchema = Type.Object({ path: Type.String() })
  const registry = registryWith({ ...spec('/fs/readFile', { requiredScopes: ['fs'] }), inputSchema }, handler)
  const allowed = await caller(registry, ['fs'])
  await expect(allowed.call('/fs/readFile', { path: 5 })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    retryable: false,
    details: { errors: [{ path: '/path', message: expect.stringContaining('string') }] },
  })
  const stranger = await caller(registry)
  const refused = stranger.call('/fs/readFile', { path: 5 })
  await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN', details: undefined })
  expect(handler).not.toHaveBeenCalled()
  await expect(allowed.call('/fs/readFile', { path: 'a', more: [1] })).resolves.toBe('text')
  expect(handler).toHaveBeenCalledWith({ path: 'a', more: [1] }, expect.anything())
})

test('CALL-REG-06 a refusal names at most 20 places', async () => {
  const registry = registryWith({ ...spec('/test/all'), inputSchema: Type.Array(Type.String()) }, () => 1)
  const link = await caller(registry)
  const refused = await link.call('/test/all', Array(50).fill(1)).catch((error: CallError) => error)
  const { errors } = (refused as CallError).details as { errors: readonly unknown[] }
  expect(errors.length).toBeGreaterThan(1)
  expect(errors.length).toBeLessThanOrEqual(20)
})

const words = Type.String({ pattern: '^[a-z]+( [a-z]+)*$' })
const sentence = Array(600).fill('word').join(' ')

test("CALL-T65 a node's own schemas are not bounded: patterns hold on long texts, references may go round, depth is free", async () => {
  const tree = {
    $ref: '#/$defs/tree',
    $defs: { tree: { properties: { next: { $ref: '#/$defs/tree' }, word: words }, required: ['word'] } },
  }
  const registry = registryWith({ ...spec('/test/words'), inputSchema: words }, input => (input as string).length)
  registry.register({ ...spec('/test/tree'), inputSchema: tree }, () => 'fits')
  const link = await caller(registry)
  expect(await link.call('/test/words', sentence)).toBe(sentence.length)
  await expect(link.call('/test/words', `${sentence}!`)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await link.call('/test/tree', { word: sentence, next: { word: 'a' } })).toBe('fits')
  await expect(link.call('/test/tree', { word: 'a', next: {} })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    details: { errors: [{ path: '/next/word' }] },
  })
})

test('CALL-T65 schemas that came from outside are bounded, also in a registry', async () => {
  const registry = new OperationRegistry()
  const foreign = operation({ ...spec('/test/words'), inputSchema: words }, () => 1)
  registry.registerAll({ '/test/words': foreign }, { foreign: true })
  const link = await caller(registry)
  expect(await link.call('/test/words', 'two words')).toBe(1)
  await expect(link.call('/test/words', sentence)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const slow = { ...spec('/test/slow'), inputSchema: { pattern: '^(a+)+$' } }
  expect(() => registry.register(slow, () => 1, { foreign: true })).toThrow(TypeError)
  expect(() => registry.registerSpec(slow, { foreign: true })).toThrow(TypeError)
  expect(() => registry.register(slow, () => 1)).not.toThrow()
})

test('CALL-REG-06 registering compiles nothing: a node with many operations starts at once', () => {
  const real = globalThis.Function
  let compiled = 0
  const inputSchema = Type.Object({ a: words, b: Type.Array(Type.Integer()) })
  // What the draft says of schemas is compiled with the first one.
  new OperationRegistry().registerSpec({ ...spec('/test/first'), inputSchema })
  globalThis.Function = new Proxy(real, {
    construct(target, given) {
      compiled++
      return Reflect.construct(target, given) as object
    },
  })
  try {
    const registry = new OperationRegistry()
    for (let n = 0; n < 80; n++)
      registry.register({ ...spec(`/test/op${n}`), inputSchema, outputSchema: inputSchema }, () => 1)
    expect(compiled).toBe(0)
    const one = registry.find('/test/op7')!
    expect(registry.refuse(one, { a: 'a', b: [1] }, undefined, true)).toBeUndefined()
    expect(registry.refuse(one, { a: 'a', b: [2] }, undefined, true)).toBeUndefined()
    expect(compiled).toBe(1)
  } finally {
    globalThis.Function = real
  }
})

test('CALL-REG-06 schemas of a proven source are not looked at before their first use', () => {
  const registry = new OperationRegistry()
  const bad = { ...spec('/test/bad'), inputSchema: { type: 'strin' } as unknown as TSchema }
  expect(() => registry.registerSpec(bad)).toThrow(TypeError)
  registry.register(bad, () => 1, PROVEN)
  expect(() => registry.refuse(registry.find('/test/bad')!, 'a', undefined, true)).toThrow(/strin/)
  registry.register({ ...spec('/test/good'), inputSchema: words }, () => 1, PROVEN)
  expect(registry.refuse(registry.find('/test/good')!, 'two words', undefined, true)).toBeUndefined()
  expect(registry.refuse(registry.find('/test/good')!, 7, undefined, true)).toMatchObject({ code: 'INVALID_INPUT' })
})

test('CALL-T33 output that does not fit is delivered with one warning, or refused where that is asked for', async () => {
  const bad = { ...spec('/test/bad'), outputSchema: Type.String() }
  const warn = vi.fn()
  const answer = async (outputValidation: 'warn' | 'error' | 'off') => {
    const registry = new OperationRegistry({}, { outputValidation, warn })
    registry.register(bad, () => 5)
    return (await caller(registry)).call('/test/bad')
  }
  expect(await answer('warn')).toBe(5)
  expect(await answer('off')).toBe(5)
  await expect(answer('error')).rejects.toMatchObject({
    code: 'INTERNAL',
    message: 'output validation failed',
    retryable: false,
    details: { errors: [{ path: '', message: expect.any(String) }] },
  })
  expect(warn.mock.calls).toEqual([[expect.stringContaining('/test/bad')]])
})

test('CALL-ERR-02 details of a declared error must fit its schema where bad output is refused', async () => {
  const schema = Type.Object({ left: Type.Integer() })
  const operation = { ...spec('/test/buy'), errorSchemas: [{ code: 'SOLD_OUT', description: 'none left', schema }] }
  const handler = (details: unknown, { requestId }: OperationContext) => {
    const error = new CallError('SOLD_OUT', 'none left', details === 'none' ? {} : { details })
    if (details === 'thrown') throw error
    return ResponseEnvelope.failure(requestId, error)
  }
  const failure = async (outputValidation: 'warn' | 'error', input: unknown) => {
    const registry = new OperationRegistry({}, { outputValidation })
    registry.register(operation, handler)
    return codeOf(await caller(registry), '/test/buy', input)
  }
  expect(await failure('error', { left: 0 })).toBe('SOLD_OUT')
  expect(await failure('error', 'none')).toBe('SOLD_OUT')
  expect(await failure('error', { left: 'few' })).toBe('INTERNAL')
  expect(await failure('error', 'thrown')).toBe('INTERNAL')
  expect(await failure('warn', { left: 'few' })).toBe('SOLD_OUT')
})

test('CALL-REG-07 the first bad value ends a subscription where bad output is refused', async () => {
  const registry = new OperationRegistry({}, { outputValidation: 'error' })
  const closed = vi.fn()
  registry.register({ ...spec('/test/bad', {}, 'subscription'), outputSchema: Type.String() }, async function* () {
    try {
      yield 'a'
      yield 5
      yield 'c'
    } finally {
      closed()
    }
  })
  const link = await caller(registry)
  const got: unknown[] = []
  const consume = async () => {
    for await (const value of link.subscribe('/test/bad')) got.push(value)
  }
  await expect(consume()).rejects.toMatchObject({ code: 'INTERNAL', message: 'output validation failed' })
  expect(got).toEqual(['a'])
  expect(closed).toHaveBeenCalledTimes(1)
})

test('CALL-T34 a subscription needs a handler that streams; otherwise nothing is registered', () => {
  const registry = new OperationRegistry()
  const stream = spec('/test/ticks', {}, 'subscription')
  expect(() => registry.register(stream, async () => 1)).toThrow(TypeError)
  expect(() => registry.register(spec('/test/one'), async function* () {})).toThrow(TypeError)
  expect(registry.list()).toEqual([])

  registry.register(stream, async function* () {})
  const ready = (async function* () {})()
  registry.register(
    spec('/test/marked', {}, 'subscription'),
    streaming(() => ready),
  )
  expect(registry.list().map(({ path }) => path)).toEqual(['/test/marked', '/test/ticks'])
})

test('CALL-SUB-02 a handler that was marked as streaming and does not stream fails the request', async () => {
  const wrong = streaming((() => 5) as unknown as () => AsyncIterable<unknown>)
  const registry = registryWith(spec('/test/wrong', {}, 'subscription'), wrong)
  const link = await caller(registry)
  await expect(link.call('/test/wrong')).rejects.toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('must return an async iterable'),
  })
})

const declared = (code: string) => ({ code, description: '', schema: {} })

test.each<[string, object]>([
  ['an illegal path', { name: '/fs' }],
  ['a path with a node', { name: '/dev1/fs/readFile' }],
  ['a path without its slash', { name: 'fs/readFile' }],
  ['a path of the protocol itself (CALL-DISC-03)', { name: '/services/mine' }],
  ['an operation of the protocol (CALL-DISC-03)', { name: '/services/list' }],
  ['a namespace that is not that of the path', { namespace: 'net' }],
  ['an unknown type', { opType: 'stream' }],
  ['an input schema that is none', { inputSchema: { type: 'text' } }],
  ['an output schema that is none', { outputSchema: { type: 5 } }],
  ['a pattern that is none', { inputSchema: { properties: { a: { pattern: '(' } } } }],
  ['a pattern for keys that is none', { outputSchema: { patternProperties: { '[': {} } } }],
  ['a reference to nothing', { inputSchema: { items: { $ref: '#/$defs/none' } } }],
  ['a schema that refers to elsewhere (CALL-REG-06)', { inputSchema: { $ref: 'https://x.test/s.json' } }],
  ['an error code that is empty', { errorSchemas: [declared('')] }],
  ['an error code twice', { errorSchemas: [declared('A'), declared('A')] }],
  ['an error schema that is none', { errorSchemas: [{ ...declared('A'), schema: { type: 'text' } }] }],
  ['an access check that nobody enforces', { accessControl: { customAuth: 'mine' } }],
  ['a resource action without its type', { accessControl: { resourceAction: 'read' } }],
  ['access that is not stated', { accessControl: undefined }],
  ['access that is null', { accessControl: null }],
  ['access that is a list', { accessControl: ['admin'] }],
  ['a scope that is no list', { accessControl: { requiredScopes: 'admin' } }],
  ['an any-list that is none', { accessControl: { requiredScopesAny: 'admin' } }],
  ['a resource type that is no text', { accessControl: { resourceType: null } }],
])('CALL-REG-03 %s is refused when it is registered, and nothing is stored', (_what, changes) => {
  const registry = new OperationRegistry()
  const bad = { ...spec('/fs/readFile'), ...changes } as OperationSpec
  expect(() => registry.register(bad, () => 1)).toThrow(TypeError)
  expect(() => registry.registerSpec(bad)).toThrow(TypeError)
  expect(registry.list()).toEqual([])
})

test('CALL-REG-03 a path registered again is replaced, and calls in flight keep what they started with', async () => {
  const started = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const registry = registryWith(spec('/test/which'), async () => {
    started.resolve()
    await go.promise
    return 'old'
  })
  const link = await caller(registry)
  const running = link.call('/test/which')
  await started.promise
  registry.register(spec('/test/which'), () => 'new')
  await expect(link.call('/test/which')).resolves.toBe('new')
  go.resolve()
  await expect(running).resolves.toBe('old')
})

test('CALL-REG-02 an internal operation does not exist for links, not even for those who may call it', async () => {
  const hidden = { ...spec('/test/hidden', { requiredScopes: ['admin'] }), visibility: 'internal' as const }
  const registry = registryWith(hidden, () => 1)
  for (const scopes of [['admin'], []]) {
    const link = await caller(registry, scopes)
    await expect(link.call('/test/hidden')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }
})

test('CALL-REG-08 only an envelope of the library is one; what looks like it is data', async () => {
  const lookalike = { requestId: 'x', result: { ok: true, value: 5 } }
  const registry = registryWith(spec('/test/data'), () => lookalike)
  registry.register(spec('/test/value'), () => ResponseEnvelope.success('x', 5))
  registry.register(spec('/test/failure'), () => ResponseEnvelope.failure('x', new CallError('SOLD_OUT', 'none left')))
  const link = await caller(registry)
  await expect(link.call('/test/data')).resolves.toEqual(lookalike)
  await expect(link.call('/test/value')).resolves.toBe(5)
  await expect(link.call('/test/failure')).rejects.toMatchObject({ code: 'SOLD_OUT', message: 'none left' })
})

const thrower =
  (thrown: unknown): Handler =>
  () => {
    throw thrown
  }

const slow = { retryable: true, details: { ms: 5 } }

test.each<[string, unknown, object]>([
  ['a CallError', new CallError('SLOW', 'wait', slow), { code: 'SLOW', message: 'wait', ...slow }],
  ['an Error that names a declared code', new Error('SOLD_OUT: all'), { code: 'SOLD_OUT', message: 'SOLD_OUT: all' }],
  ['an Error that only begins like one', new Error('SOLD_OUTSIDE'), { code: 'INTERNAL', message: 'SOLD_OUTSIDE' }],
  ['something that is no Error', 42, { code: 'INTERNAL', message: '42', details: { raw: '42' } }],
])('CALL-REG-09 %s becomes what its caller gets', async (_what, thrown, expected) => {
  const registry = registryWith({ ...spec('/test/throw'), errorSchemas: [declared('SOLD_OUT')] }, thrower(thrown))
  const link = await caller(registry)
  await expect(link.call('/test/throw')).rejects.toMatchObject({ retryable: false, ...expected })
  expect(link.closed).toBe(false)
})

test('CALL-REG-09 unexpected messages stay inside where that is asked for', async () => {
  const registry = new OperationRegistry({}, { maskInternalErrors: true })
  registry.register(spec('/test/throw'), thrower(new Error('password is 1234')))
  registry.register(spec('/test/other'), thrower('password is 1234'))
  const link = await caller(registry)
  for (const path of ['/test/throw', '/test/other']) {
    const { result } = await link.callEnvelope(path)
    expect(result).toMatchObject({ ok: false, error: { code: 'INTERNAL', message: 'internal error' } })
    expect(JSON.stringify(result)).not.toContain('1234')
  }
})
