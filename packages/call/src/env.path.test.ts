// Where an operation runs is a matter of assembly (CALL-ENV-03, -05, -06): the same code gets the same results from a
// registry in its own process and from one behind a socket. Aborts that go along with a call are in context.test.ts.
import { ManualClock, Type } from '@parley/core'
import { expect, test } from 'vitest'
import { type BoundEnv, EnvAssembly } from './env.ts'
import { CallError } from './error.ts'
import { callDefaults } from './limits.ts'
import { OperationRegistry } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { collect, registryWith, spec, TestHead } from './testing/head.ts'
import { peered, turn, until } from './testing/peer.ts'
import type { Envelope } from './wire/envelope.ts'

/** What happens inside the operations of `fs`, in order. */
class Log {
  readonly lines: string[] = []

  note(line: string): void {
    this.lines.push(line)
  }

  async until(line: string): Promise<void> {
    while (!this.lines.includes(line)) await turn()
  }
}

function fileSystem(log: Log): OperationRegistry {
  const Path = Type.Object({ path: Type.String() })
  const registry = registryWith({ ...spec('/fs/readFile'), inputSchema: Path }, input => {
    log.note('readFile')
    const { path } = input as { path: string }
    if (path === 'gone') throw new CallError('GONE', `no ${path}`, { retryable: true, details: { path } })
    return { path, lines: [1, null, 'x'] }
  })
  registry.register(
    {
      ...spec('/fs/search'),
      inputSchema: Type.Object(
        { when: Type.Optional(Type.String()), words: Type.Array(Type.Union([Type.String(), Type.Null()])) },
        { additionalProperties: false },
      ),
    },
    input => input,
  )
  registry.register(spec('/fs/nothing'), () => undefined)
  registry.register(spec('/fs/later'), async () => undefined)
  registry.register(spec('/fs/envelope'), () => ResponseEnvelope.success('x', undefined))
  // As of a query builder: not a promise, but whoever awaits it gets the rows.
  registry.register(spec('/fs/rows'), () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    then: (resolve: (rows: unknown) => void) => resolve(['row']),
  }))
  registry.register(spec('/fs/broken'), () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    then: (_resolve: unknown, reject: (reason: unknown) => void) => reject(new Error('no rows')),
  }))
  registry.register(spec('/fs/hang'), (_input, { signal }) => {
    signal.addEventListener('abort', () => log.note('hang was told'))
    log.note('hang')
    return new Promise(() => undefined)
  })
  registry.register({ ...spec('/fs/watch', {}, 'subscription'), inputSchema: Path }, async function* () {
    log.note('watch')
    yield 1
    yield undefined
    yield { two: 2 }
  })
  registry.register(spec('/fs/endless', {}, 'subscription'), async function* (_input, { signal }) {
    try {
      for (;;) {
        yield 1
        await turn()
      }
    } finally {
      log.note(`endless ended${signal.aborted ? ', told' : ''}`)
    }
  })
  registry.register(spec('/fs/torn', {}, 'subscription'), async function* () {
    yield 1
    throw new Error('torn')
  })
  registry.register(spec('/fs/drip', {}, 'subscription'), async function* (_input, { signal }) {
    signal.addEventListener('abort', () => log.note('drip was told'))
    yield 1
    await new Promise(() => undefined)
  })
  return registry
}

/** A failure as plain data; that of a deadline may be told by either side. */
function failure(thrown: unknown) {
  const { code, message, retryable, details } = thrown as CallError
  return { code, retryable, ...(code !== 'TIMEOUT' && { message, details }) }
}

const answer = async (response: Promise<ResponseEnvelope>) => {
  const { result } = await response
  return result.ok ? { value: result.value } : failure(result.error)
}

const stream = async (values: AsyncIterable<unknown>, seen: unknown[] = []) => {
  try {
    for await (const value of values) seen.push(value)
    return { seen }
  } catch (thrown) {
    return { seen, ...failure(thrown) }
  }
}

/** What a caller gets who knows nothing of where `fs` is. */
async function experiences(env: BoundEnv, clock: ManualClock, log: Log): Promise<Record<string, unknown>> {
  const now = () => clock.now() / 1000
  const seen: Record<string, unknown> = {}
  const read = { path: 'a' }
  seen.read = await answer(env.invoke('fs', 'readFile', read))
  seen.failed = await answer(env.invoke('fs', 'readFile', { path: 'gone' }))
  seen.wrongInput = await answer(env.invoke('fs', 'readFile', { path: 5 }))
  seen.noInput = await answer(env.invoke('fs', 'readFile'))
  seen.undefinedMember = await answer(env.invoke('fs', 'search', { other: undefined, words: ['a', undefined] }))
  seen.otherMember = await answer(env.invoke('fs', 'search', { other: 1, words: [] }))
  const date = await answer(env.invoke('fs', 'search', { when: new Date(0), words: [] }))
  // Refused where it is first looked at: by its type here, as what is no JSON there.
  seen.date = { ...date, message: undefined, details: undefined }
  seen.missing = await answer(env.invoke('fs', 'writeFile'))
  seen.noPath = await answer(env.invoke('fs', 'write file'))
  for (const op of ['nothing', 'later', 'envelope', 'rows', 'broken'])
    seen[op] = await answer(env.invoke('fs', op, undefined))
  seen.watch = await stream(env.subscribe('fs', 'watch', read))
  seen.torn = await stream(env.subscribe('fs', 'torn'))
  seen.missingStream = await stream(env.subscribe('fs', 'listen'))
  seen.wrongStreamInput = await stream(env.subscribe('fs', 'watch', { path: 5 }))
  const before = log.lines.length
  seen.invokedStream = await answer(env.invoke('fs', 'watch', read))
  seen.subscribedQuery = await stream(env.subscribe('fs', 'readFile', read))
  // What is of the wrong type is not even begun.
  seen.begunByCrossing = log.lines.slice(before)
  for await (const value of env.subscribe('fs', 'endless')) if (value === 1) break
  await log.until('endless ended, told')
  const once = env.subscribe('fs', 'watch', read)
  const [first] = [once[Symbol.asyncIterator]()]
  expect(() => once[Symbol.asyncIterator]()).toThrow('one consumer')
  await first.return?.()
  for (const deadline of [now() - 1, Number.NaN]) {
    seen[`invoked at ${deadline > 0}`] = await answer(env.invoke('fs', 'readFile', read, { deadline }))
    seen[`subscribed at ${deadline > 0}`] = await stream(env.subscribe('fs', 'watch', read, { deadline }))
  }
  const hanging = answer(env.invoke('fs', 'hang', null, { deadline: now() + 500 }))
  await log.until('hang')
  clock.advance(499)
  seen.beforeDeadline = await Promise.race([hanging, turn()])
  clock.advance(1)
  seen.deadline = await hanging
  await log.until('hang was told')
  const drops: unknown[] = []
  const dripping = stream(env.subscribe('fs', 'drip', null, { deadline: now() + 500 }), drops)
  await until(() => drops.length === 1)
  clock.advance(500)
  seen.streamDeadline = await dripping
  await log.until('drip was told')
  log.lines.length = 0
  const endless = answer(env.invoke('fs', 'hang'))
  await log.until('hang')
  clock.advance(callDefaults.timeout)
  seen.byDefault = await endless
  return seen
}

test('CALL-T51 CALL-T62 a namespace moves from a registry to another node by assembly alone: results and errors stay the same (of the three paths of CALL-T51, these two are compared)', async () => {
  const logs = [new Log(), new Log()] as const
  const near = new ManualClock()
  const here = new EnvAssembly({ bindings: { fs: local(fileSystem(logs[0])) }, clock: near }).root
  const far = new ManualClock()
  const link = await new TestHead({ registry: fileSystem(logs[1]), clock: far }).join()
  const there = new EnvAssembly({ bindings: { fs: remote(link) }, clock: far }).root
  const seen = await experiences(here, near, logs[0])
  expect(await experiences(there, far, logs[1])).toEqual(seen)
  expect(seen).toMatchObject({
    read: { value: { path: 'a', lines: [1, null, 'x'] } },
    failed: { code: 'GONE', retryable: true, details: { path: 'gone' } },
    wrongInput: {
      code: 'INVALID_INPUT',
      message: expect.stringMatching(/: path: expected /),
      retryable: false,
      details: { errors: [{ path: '/path' }] },
    },
    undefinedMember: { value: { words: ['a', null] } },
    otherMember: { code: 'INVALID_INPUT', details: { errors: [expect.anything()] } },
    date: { code: 'INVALID_INPUT', retryable: false },
    missing: { code: 'NOT_FOUND', retryable: false, message: 'operation not found: /fs/writeFile' },
    noPath: { code: 'INVALID_INPUT', retryable: false },
    nothing: { value: null },
    later: { value: null },
    envelope: { value: null },
    rows: { value: ['row'] },
    broken: { code: 'INTERNAL', message: 'no rows' },
    watch: { seen: [1, null, { two: 2 }] },
    torn: { seen: [1], code: 'INTERNAL', message: 'torn' },
    missingStream: { seen: [], code: 'NOT_FOUND' },
    invokedStream: { code: 'INVALID_OPERATION_TYPE', retryable: false, message: '/fs/watch is a subscription' },
    begunByCrossing: [],
    subscribedQuery: { seen: [], code: 'INVALID_OPERATION_TYPE', retryable: false },
    'invoked at true': { code: 'TIMEOUT' },
    'subscribed at true': { seen: [], code: 'TIMEOUT' },
    'invoked at false': { code: 'INVALID_INPUT' },
    'subscribed at false': { seen: [], code: 'INVALID_INPUT' },
    beforeDeadline: undefined,
    deadline: { code: 'TIMEOUT', retryable: true },
    streamDeadline: { seen: [1], code: 'TIMEOUT', retryable: true },
    byDefault: { code: 'TIMEOUT', retryable: true },
  })
})

test('CALL-ENV-05 a type is not asked for where a worker told it', async () => {
  const registry = registryWith(spec('/fs/read'), () => 'text')
  registry.register(spec('/fs/watch', {}, 'subscription'), async function* () {
    yield 1
  })
  const head = new TestHead()
  const received: Envelope[] = []
  await head.worker('dev1', { registry, received })
  const before = received.length
  const { env: own } = head.node
  expect((await own.invoke('dev1', 'fs/read')).unwrap()).toBe('text')
  expect(await collect(own.subscribe('dev1', 'fs/watch'))).toEqual([1])
  expect((await own.invoke('dev1', 'fs/watch')).result).toMatchObject({ error: { code: 'INVALID_OPERATION_TYPE' } })
  await expect(collect(own.subscribe('dev1', 'fs/read'))).rejects.toMatchObject({ code: 'INVALID_OPERATION_TYPE' })
  const asked = received.slice(before).map(({ payload }) => (payload as { name: string }).name)
  expect(asked).toEqual(['/fs/read', '/fs/watch'])
})

test.each([
  ['tells its types', 'call.responded', { name: '/fs/read', op_type: 'query', access_control: {} }],
  ['does not', 'call.error', { code: 'NOT_FOUND', message: '' }],
])('CALL-ENV-05 a peer that %s is called all the same, and asked once', async (_what, type, payload) => {
  const { link, peer } = peered()
  const env = new EnvAssembly({ bindings: { fs: remote(link) } }).root
  const names: string[] = []
  const serveNext = async () => {
    const request = await peer.next()
    const { name } = request.payload as { name: string }
    names.push(name)
    if (name === '/services/schema') peer.send(type, request.id, payload)
    else peer.send('call.responded', request.id, 7)
  }
  for (const requests of [2, 1]) {
    const reading = env.invoke('fs', 'read')
    for (let n = 0; n < requests; n++) await serveNext()
    expect((await reading).unwrap()).toBe(7)
  }
  expect(names).toEqual(['/services/schema', '/fs/read', '/fs/read'])
})

test('CALL-ENV-03 a key is a node where operations are service/op, and a namespace elsewhere', async () => {
  const registry = registryWith(spec('/text/upper'), input => String(input).toUpperCase())
  const head = new TestHead({ registry })
  await head.worker('dev1', { registry })
  const link = await head.join()
  for (const [env, namespace, op] of [
    [{ fallback: local(registry) }, 'text', 'upper'],
    [{ bindings: { text: remote(link) } }, 'text', 'upper'],
    [{ bindings: { far: remote(link) } }, 'far', 'text/upper'],
    [{ bindings: { dev1: remote(link, { viaHead: true }) } }, 'dev1', 'text/upper'],
    [{ bindings: { text: remote(link, { viaHead: true }) } }, 'text', 'upper'],
  ] as const)
    expect((await new EnvAssembly(env).root.invoke(namespace, op, 'abc')).unwrap()).toBe('ABC')
})

test('CALL-ENV-03 what cannot be a path is INVALID_INPUT wherever it would lead', async () => {
  const registry = new OperationRegistry()
  const head = new TestHead({ registry })
  await head.worker('dev1', { registry })
  const link = await head.join()
  const far = new EnvAssembly({ bindings: { dev1: remote(link, { viaHead: true }), v: remote(link) } }).root
  for (const [env, namespace, op] of [
    [head.node.env, 'dev1', 'v/a b'],
    [head.node.env, 'dev1', 'services/a b'],
    [head.node.env, 'nobody', 'v/a b'],
    [head.node.env, 'head', 'v/a b'],
    [head.node.env, 'v', 'a b'],
    [far, 'dev1', 'v/a b'],
    [far, 'v', 'a b'],
  ] as const) {
    const message = `'/${namespace}/${op}' is no operation path`
    const error = { code: 'INVALID_INPUT', message }
    expect(await answer(env.invoke(namespace, op))).toMatchObject(error)
    expect(await stream(env.subscribe(namespace, op))).toMatchObject(error)
  }
})

test("CALL-ENV-03 a head's own alias as key means its own operation, whatever else is bound", async () => {
  const registry = registryWith(spec('/agent/chat'), () => 'hello')
  registry.register({ ...spec('/agent/think'), visibility: 'internal' }, () => 'hm')
  registry.register(spec('/agent/talk', {}, 'subscription'), async function* () {
    yield 'hello'
  })
  registry.register(spec('/head/count'), () => 1)
  const elsewhere = { invoke: () => Promise.reject(new Error()), subscribe: () => collectNothing() }
  for (const [alias, options] of [
    ['head', { head: true }],
    ['main', { head: true, alias: 'main' }],
    ['main', { head: false, alias: 'main' }],
  ] as const) {
    const { node } = new TestHead({ registry, ...options, env: { bindings: { agent: elsewhere } } })
    expect((await node.env.invoke(alias, 'agent/chat')).unwrap()).toBe('hello')
    expect((await node.env.invoke(alias, 'agent/think')).unwrap()).toBe('hm')
    expect(await collect(node.env.subscribe(alias, 'agent/talk'))).toEqual(['hello'])
    expect((await node.env.invoke(alias, 'services/list')).unwrap()).toMatchObject({
      operations: expect.arrayContaining([expect.objectContaining({ name: '/agent/chat' })]),
    })
    expect((await node.env.invoke(alias, 'agent/sing')).result).toMatchObject({ error: { code: 'NOT_FOUND' } })
    expect((await node.env.invoke(alias, 'a/b/c')).result).toMatchObject({ error: { code: 'INVALID_INPUT' } })
  }
  const plain = new TestHead({ registry, head: false }).node
  expect((await plain.env.invoke('head', 'agent/chat')).result).toMatchObject({ error: { code: 'NOT_FOUND' } })
  expect((await plain.env.invoke('head', 'count')).unwrap()).toBe(1)
  const narrow = new TestHead({ registry, env: { allowedNamespaces: ['head'] } }).node
  expect((await narrow.env.invoke('head', 'agent/chat')).result).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

async function* collectNothing(): AsyncGenerator<never> {}

test('CALL-ENV-06 in strict mode values of a local stream go through JSON as results do', async () => {
  const value = { kept: 1, left: undefined }
  const registry = registryWith(spec('/fs/watch', {}, 'subscription'), async function* () {
    yield value
    yield new Map()
  })
  const env = new EnvAssembly({ bindings: { fs: local(registry, { strict: true }) } }).root
  const { seen, ...error } = await stream(env.subscribe('fs', 'watch'))
  expect(error).toMatchObject({ code: 'INTERNAL' })
  expect(seen).toStrictEqual([{ kept: 1 }])
})

test('CALL-ENV-03 a local call that moved to a slow node is not held up by what it has to ask', async () => {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const env = new EnvAssembly({ bindings: { fs: remote(link) }, clock }).root
  const reading = answer(env.invoke('fs', 'read', null, { deadline: clock.now() / 1000 + 500 }))
  const watching = stream(env.subscribe('fs', 'watch', null, { deadline: clock.now() / 1000 + 500 }))
  await until(() => peer.received.length === 2)
  clock.advance(500)
  expect(await reading).toMatchObject({ code: 'TIMEOUT', retryable: true })
  expect(await watching).toMatchObject({ seen: [], code: 'TIMEOUT' })
})
