// Who may call a worker through the head and which worker answers, what a head tells of its workers and to whom
// (CALL-ROUTE-03, CALL-DISC-01), and the fair share of a worker (CALL-ROUTE-10).
import { expect, test } from 'vitest'
import { callLimits } from '../limits.ts'
import { OperationRegistry } from '../registry.ts'
import {
  askToRegister,
  codeOf,
  heardNothing,
  listed,
  principal,
  receivedNothing,
  register,
  registryWith,
  spec,
  TestHead,
  unspecifiedWorker,
  workerPrincipal,
} from '../testing/head.ts'
import { until } from '../testing/peer.ts'
import type { Envelope } from '../wire/envelope.ts'
import { FairShare } from './share.ts'

/** A worker, as a scripted peer, that offers one operation and has not told its spec; and a client. */
async function untold(head: TestHead) {
  const worker = await unspecifiedWorker(head, '/bank/pay')
  const client = await head.peer()
  client.send('call.requested', 'c1', { name: '/dev1/bank/pay' })
  const question = await worker.next()
  expect(question.payload).toMatchObject({ name: '/services/schema' })
  const answer = () =>
    worker.send('call.responded', question.id, { name: '/bank/pay', op_type: 'mutation', access_control: {} })
  return { worker, client, answer }
}

test('CALL-T71 an operation that its worker withdraws while the head asks for its spec is not called', async () => {
  const { worker, client, answer } = await untold(new TestHead())
  askToRegister(worker, 'reg2', 'dev1', [])
  expect(await worker.next()).toMatchObject({ id: 'reg2', type: 'call.responded' })
  answer()
  expect(await client.next()).toMatchObject({ id: 'c1', payload: { code: 'NOT_FOUND' } })
  await heardNothing(worker)
})

test('CALL-T71 path rules that come while the head asks for a spec hold for the call', async () => {
  const head = new TestHead()
  const { client, answer } = await untold(head)
  head.node.setPathRules([{ pattern: '/*/bank/*', access: { requiredScopes: ['money'] } }])
  answer()
  expect(await client.next()).toMatchObject({ id: 'c1', payload: { code: 'FORBIDDEN' } })
})

test('CALL-T71 a call whose caller is gone while the head asks for the spec never reaches the worker', async () => {
  const head = new TestHead()
  const { worker, client, answer } = await untold(head)
  await client.close()
  await until(() => head.node.links.length === 1)
  answer()
  await heardNothing(worker)
})

test('CALL-T72 two workers offer the same operation, and each is called by its own name', async () => {
  const head = new TestHead()
  for (const alias of ['dev1', 'dev2']) {
    const registry = registryWith(spec('/fs/readFile'), input => `${String(input)} of ${alias}`)
    await head.worker(alias, { registry })
  }
  const client = await head.join()
  expect(await listed(client)).toEqual(expect.arrayContaining(['/dev1/fs/readFile', '/dev2/fs/readFile']))
  for (const alias of ['dev1', 'dev2', 'dev1']) {
    await expect(client.call(`/${alias}/fs/readFile`, 'notes')).resolves.toBe(`notes of ${alias}`)
    expect((await head.node.env.invoke(alias, 'fs/readFile', 'notes')).unwrap()).toBe(`notes of ${alias}`)
  }
})

test('CALL-DISC-02 a path rule for a routed operation holds for its schema too', async () => {
  const rule = { pattern: '/dev1/bash/*', access: { requiredScopes: ['shell'] } }
  const head = new TestHead({ pathRules: [rule] })
  const registry = registryWith(spec('/bash/exec'), () => 'done')
  await head.worker('dev1', { registry })
  const schema = async (scopes: readonly string[]) =>
    (await head.join({ as: principal('client', scopes) })).call('/services/schema', { name: '/dev1/bash/exec' })
  await expect(schema([])).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(schema(['shell'])).resolves.toMatchObject({ name: '/dev1/bash/exec' })
})

test('CALL-T73 of two identities that register one alias at once, the second is refused when the first is in', async () => {
  const head = new TestHead()
  const [one, two] = [await head.peer(workerPrincipal('X')), await head.peer(workerPrincipal('Y'))]
  const questions = []
  for (const peer of [one, two]) {
    askToRegister(peer, 'reg', 'dev1', ['/fs/a'])
    questions.push(await peer.next())
  }
  const told = { name: '/fs/a', op_type: 'query', access_control: {} }
  two.send('call.responded', questions[1]!.id, told)
  expect(await two.next()).toMatchObject({ id: 'reg', payload: { registered: 1 } })
  one.send('call.responded', questions[0]!.id, told)
  expect(await one.next()).toMatchObject({ id: 'reg', payload: { code: 'CONFLICT' } })
  const client = await head.join()
  const answer = client.call('/dev1/fs/a')
  two.send('call.responded', (await two.next()).id, 'two')
  await expect(answer).resolves.toBe('two')
})

/** Whoever shows the token is the boss. */
const identities = {
  byFingerprint: async () => undefined,
  byToken: async (token: string) => (token === 'good' ? principal('boss', ['admin', 'node:register']) : undefined),
}

test('CALL-T74 a routed call, its path rules and its discovery go by the identity of the token', async () => {
  const rule = { pattern: '/dev1/safe/*', access: { requiredScopes: ['admin'] } }
  const head = new TestHead({ identities, pathRules: [rule] })
  const needing = spec('/safe/open', { requiredScopes: ['admin'] })
  const registry = registryWith(needing, (_input, { forwardedFor }) => forwardedFor)
  await head.worker('dev1', { registry, headIs: principal('head', ['admin']) })
  const client = await head.join({ as: principal('caller') })
  const forBoss = { authToken: 'good' }
  await expect(client.call('/dev1/safe/open', null, forBoss)).resolves.toMatchObject({ id: 'boss' })
  for (const options of [{}, { authToken: 'bad' }])
    expect(await codeOf(client, '/dev1/safe/open', null, options)).toBe('FORBIDDEN')
  const shown = await client.call('/services/list', {}, forBoss)
  expect(JSON.stringify(shown)).toContain('/dev1/safe/open')
})

test('CALL-T74 a registration goes by the identity of the token: its scopes count, and the alias is its own', async () => {
  const head = new TestHead({ identities })
  const registry = registryWith(spec('/fs/a'), () => 'a')
  const worker = await head.join({ as: principal('nobody'), registry })
  await expect(register(worker, 'dev1', ['/fs/a'])).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const input = { node: 'dev1', operations: ['/fs/a'] }
  await worker.call('/head/services/register', input, { authToken: 'good' })
  expect(head.node.workers).toEqual(['dev1'])
  // The alias belongs to the boss, wherever it connects from.
  const stranger = await head.join({ as: workerPrincipal('nobody'), registry })
  await expect(register(stranger, 'dev1', ['/fs/a'])).rejects.toMatchObject({ code: 'CONFLICT' })
  const moved = await head.join({ as: workerPrincipal('boss'), registry })
  await expect(register(moved, 'dev1', ['/fs/a'])).resolves.toMatchObject({ registered: 1 })
})

test('CALL-T75 an internal operation of a worker does not exist for callers of the head, whatever it demands', async () => {
  const head = new TestHead()
  const worker = await head.peer(workerPrincipal('w'))
  const operations = [
    { name: '/a/open', op_type: 'query', access_control: {}, visibility: 'internal' },
    { name: '/a/closed', op_type: 'query', access_control: { required_scopes: ['x'] }, visibility: 'internal' },
  ]
  askToRegister(worker, 'reg', 'dev1', operations)
  expect(await worker.next()).toMatchObject({ id: 'reg', payload: { registered: 2 } })
  const client = await head.join()
  for (const path of ['/dev1/a/open', '/dev1/a/closed']) expect(await codeOf(client, path)).toBe('NOT_FOUND')
  await heardNothing(worker)
})

function guarded(): OperationRegistry {
  const registry = registryWith(spec('/bash/exec', { requiredScopes: ['shell'] }, 'mutation'), () => 'done')
  registry.register(spec('/fs/readFile'), () => 'text')
  registry.register(spec('/fs/watch', {}, 'subscription'), async function* () {})
  return registry
}

const READ = { name: '/dev1/fs/readFile', namespace: 'fs', op_type: 'query' }
const WATCH = { name: '/dev1/fs/watch', namespace: 'fs', op_type: 'subscription' }
const EXEC = { name: '/dev1/bash/exec', namespace: 'bash', op_type: 'mutation' }

test('CALL-T61 discovery of a worker shows the original caller what it may call, and the worker hears nothing', async () => {
  const head = new TestHead()
  const received: Envelope[] = []
  // The worker would tell the head everything.
  const headIs = principal('head', ['shell'])
  const worker = await head.worker('dev1', { registry: guarded(), received, headIs })
  await head.worker('dev2', { registry: guarded() })
  const anonymous = await head.join()
  const list = { operations: [READ, WATCH] }
  await expect(anonymous.call('/dev1/services/list', {})).resolves.toEqual(list)
  await expect(anonymous.call('/dev1/services/list', 'text')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  for (const name of ['/bash/exec', '/dev1/bash/exec'])
    await expect(anonymous.call('/dev1/services/schema', { name })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'authentication required',
    })
  for (const name of ['/fs/readFile', 'dev1/fs/readFile', '/dev1/fs/readFile'])
    await expect(anonymous.call('/dev1/services/schema', { name })).resolves.toMatchObject(READ)
  for (const name of ['/dev2/fs/readFile', '/head/services/list', '/fs/nothing', 'no path', '/services/register'])
    expect(await codeOf(anonymous, '/dev1/services/schema', { name }), name).toBe('NOT_FOUND')
  expect(await codeOf(anonymous, '/dev1/services/schema', {})).toBe('INVALID_INPUT')
  const trusted = await head.join({ as: principal('friend', ['shell']) })
  await expect(trusted.call('/dev1/services/list', {})).resolves.toEqual({ operations: [EXEC, READ, WATCH] })
  await expect(trusted.call('/dev1/services/schema', { name: '/bash/exec' })).resolves.toMatchObject(EXEC)
  await receivedNothing(worker, received)
})

test('CALL-ROUTE-03 there is nothing else to discover below a worker, and nothing below one that is not there', async () => {
  const head = new TestHead()
  await head.worker('dev1', { registry: guarded() })
  const client = await head.join({ as: workerPrincipal('w') })
  for (const path of ['/dev1/services/register', '/dev1/services/other', '/dev2/services/list'])
    await expect(client.call(path, {})).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `operation not found: ${path}`,
    })
  await expect(client.call('/services/schema', { name: '/dev1/services/list' })).resolves.toMatchObject({
    name: '/dev1/services/list',
    op_type: 'query',
  })
})

test('CALL-ROUTE-03 path rules hold for discovery of a worker, and for what it shows', async () => {
  const needing = (pattern: string) => ({ pattern, access: { requiredScopes: ['dev'] } })
  const head = new TestHead({ pathRules: [needing('/dev1/*'), needing('/dev2/fs/readFile')] })
  await head.worker('dev1', { registry: guarded() })
  await head.worker('dev2', { registry: guarded() })
  const stranger = await head.join({ as: principal('stranger') })
  await expect(stranger.call('/dev1/services/list', {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(stranger.call('/dev2/services/list', {})).resolves.toEqual({
    operations: [{ ...WATCH, name: '/dev2/fs/watch' }],
  })
})

test('CALL-ROUTE-03 a handler of the head is told of a worker by the head too', async () => {
  const head = new TestHead()
  const received: Envelope[] = []
  const headIs = principal('head', ['shell'])
  const worker = await head.worker('dev1', { registry: guarded(), received, headIs })
  const told = await head.node.env.invoke('dev1', 'services/list', {})
  expect(told.unwrap()).toEqual({ operations: [EXEC, READ, WATCH] })
  const other = await head.node.env.invoke('dev1', 'services/register', {})
  expect(other.result).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } })
  await receivedNothing(worker, received)
})

test('CALL-DISC-01 registration is listed on a head, to those who may register', async () => {
  const head = new TestHead()
  const REGISTER = '/services/register'
  for (const scope of ['node:register', 'node:register:dev1']) {
    const worker = await head.join({ as: principal('worker', [scope]) })
    expect(await listed(worker)).toContain(REGISTER)
    await expect(worker.call('/services/schema', { name: REGISTER })).resolves.toMatchObject({
      name: REGISTER,
      op_type: 'mutation',
      access_control: { required_scopes: ['node:register'] },
    })
  }
  for (const as of [principal('other', ['node:registers', 'node']), undefined]) {
    const client = await head.join(as ? { as } : {})
    expect(await listed(client)).not.toContain(REGISTER)
    await expect(client.call('/services/schema', { name: REGISTER })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  }
  const ruled = new TestHead({ pathRules: [{ pattern: REGISTER, access: { requiredScopes: ['vetted'] } }] })
  expect(await listed(await ruled.join({ as: workerPrincipal('w') }))).not.toContain(REGISTER)
  const plain = new TestHead({ head: false })
  const visitor = await plain.join({ as: workerPrincipal('w') })
  expect(await listed(visitor)).not.toContain(REGISTER)
  await expect(register(visitor, 'dev1', [])).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-T64 a node that is no head does not answer as head, and answers under an alias that it was given', async () => {
  const registry = registryWith(spec('/agent/chat'), () => 'hello')
  const plain = await new TestHead({ registry, head: false }).join()
  for (const path of ['/head/agent/chat', '/head/services/list'])
    await expect(plain.call(path, {})).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `operation not found: ${path}`,
    })
  await expect(plain.call('/agent/chat')).resolves.toBe('hello')
  const named = await new TestHead({ registry, head: false, alias: 'main' }).join()
  await expect(named.call('/main/agent/chat')).resolves.toBe('hello')
  const head = await new TestHead({ registry }).join()
  await expect(head.call('/head/agent/chat')).resolves.toBe('hello')
})

/** Takes as many places as the caller gets. */
function park(share: FairShare, caller: string): (() => void)[] {
  const taken: (() => void)[] = []
  for (let release = share.take(caller); release; release = share.take(caller)) taken.push(release)
  return taken
}

test('CALL-ROUTE-10 a caller gets at most half of what is free when it asks, and at least one', () => {
  const share = new FairShare(100)
  const first = park(share, 'first')
  expect(first).toHaveLength(33)
  expect(park(share, 'second')).toHaveLength(22)
  for (let n = 3; n <= 8; n++) expect(park(share, `caller ${n}`).length).toBeGreaterThan(0)
  let more = 0
  while (park(share, `late ${more}`).length === 1) more++
  // The limit itself holds.
  expect(share.take('last')).toBeUndefined()
  // A place that was given back twice is free once.
  first[0]!()
  first[0]!()
  expect(share.take('last')).toBeDefined()
  expect(share.take('another')).toBeUndefined()
})

test('CALL-ROUTE-10 what a caller gives back it may take again', () => {
  const share = new FairShare(10)
  for (let round = 0; round < 3; round++) {
    const taken = park(share, 'one')
    expect(taken).toHaveLength(3)
    for (const release of taken) release()
  }
})

test.each([
  ['through the head', '/dev1/test/wait', '/dev1/test/echo'],
  ['through a handler of the head', '/agent/wait', '/agent/echo'],
])('CALL-T67 a caller that parks calls at a worker %s leaves room for others', async (_how, wait, echo) => {
  const registry = registryWith(spec('/test/wait'), () => new Promise(() => undefined))
  registry.register(spec('/test/echo'), input => input)
  const atHead = new OperationRegistry()
  for (const op of ['wait', 'echo'])
    atHead.register(spec(`/agent/${op}`), async (input, { env }) =>
      (await env.invoke('dev1', `test/${op}`, input)).unwrap(),
    )
  const head = new TestHead({ registry: atHead })
  const worker = await head.worker('dev1', { registry })
  const greedy = await head.join({ as: principal('greedy') })
  const codes: (string | undefined)[] = []
  for (let n = 0; n < callLimits.inbound; n++) void codeOf(greedy, wait).then(code => codes.push(code))
  await until(() => codes.length + worker.inboundCount === callLimits.inbound)
  const parked = worker.inboundCount
  expect(parked).toBe(Math.ceil(callLimits.workerRequests / 3))
  expect(new Set(codes)).toEqual(new Set(['RESOURCE_EXHAUSTED']))
  // The same caller over another link is the same caller.
  const again = await head.join({ as: principal('greedy') })
  await expect(again.call(echo, 1)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: true })
  const other = await head.join({ as: principal('other') })
  await expect(other.call(echo, 2)).resolves.toBe(2)
  await expect((await head.join()).call(echo, 3)).resolves.toBe(3)
  // What is over counts no more.
  greedy.close()
  await until(() => worker.inboundCount === 0)
  await expect(again.call(echo, 4)).resolves.toBe(4)
})

test('CALL-ROUTE-10 whatever ends a request gives its place back', async () => {
  const registry = registryWith(spec('/test/echo'), input => input)
  registry.register(spec('/test/fail'), () => {
    throw new Error('no')
  })
  registry.register(spec('/test/ticks', {}, 'subscription'), async function* () {
    yield 1
    yield 2
  })
  const atHead = registryWith(spec('/agent/ticks'), async (_input, { env }) => {
    for await (const value of env.subscribe('dev1', 'test/ticks')) return value
  })
  const head = new TestHead({ registry: atHead })
  await head.worker('dev1', { registry })
  const client = await head.join()
  // One more than a caller could leak.
  for (let n = 0; n <= Math.ceil(callLimits.workerRequests / 3); n++) {
    const [value, failure, ticks, ofHandler] = await Promise.all([
      client.call('/dev1/test/echo', n),
      client.callEnvelope('/dev1/test/fail'),
      client.call('/dev1/test/ticks'),
      client.call('/agent/ticks'),
    ])
    if (value !== n || ticks !== 1 || ofHandler !== 1) throw new Error('refused')
    expect(failure.result).toMatchObject({ error: { code: 'INTERNAL' } })
  }
})
