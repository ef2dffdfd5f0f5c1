// Who may call a worker through the head, and which worker answers.
import { expect, test } from 'vitest'
import { OperationRegistry } from '../registry.ts'
import {
  askToRegister,
  listed,
  principal,
  register,
  spec,
  TestHead,
  unspecifiedWorker,
  workerPrincipal,
} from '../testing/head.ts'

/** A worker, as a scripted peer, that offers one operation and has not told its spec; and a client. */
async function untold(head: TestHead) {
  const worker = await unspecifiedWorker(head, '/bank/pay')
  const client = await head.peer()
  client.send('call.requested', 'c1', { name: '/dev1/bank/pay' })
  const question = await worker.next()
  expect(question.payload).toMatchObject({ name: '/services/schema' })
  const answer = () =>
    worker.send('call.responded', question.id, {
      name: '/bank/pay',
      op_type: 'mutation',
      access_control: {},
    })
  return { worker, client, answer }
}

test('CALL-T71 an operation that its worker withdraws while the head asks for its spec is not called', async () => {
  const { worker, client, answer } = await untold(new TestHead())
  const input = { node: 'dev1', operations: [] }
  worker.send('call.requested', 'reg2', { name: '/head/services/register', input })
  expect(await worker.next()).toMatchObject({ id: 'reg2', type: 'call.responded' })
  answer()
  expect(await client.next()).toMatchObject({ id: 'c1', payload: { code: 'NOT_FOUND' } })
  worker.send('call.requested', 'mark', { name: '/services/list' })
  expect(await worker.next()).toMatchObject({ id: 'mark' })
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
  while (head.node.links.length > 1) await new Promise(resolve => setImmediate(resolve))
  answer()
  worker.send('call.requested', 'mark', { name: '/services/list' })
  expect(await worker.next()).toMatchObject({ id: 'mark' })
})

test('CALL-T72 two workers offer the same operation, and each is called by its own name', async () => {
  const head = new TestHead()
  for (const alias of ['dev1', 'dev2']) {
    const registry = new OperationRegistry()
    registry.register(spec('/fs/readFile'), input => `${String(input)} of ${alias}`)
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
  const registry = new OperationRegistry()
  registry.register(spec('/bash/exec'), () => 'done')
  await head.worker('dev1', { registry })
  const schema = async (scopes: readonly string[]) =>
    (await head.join({ as: principal('client', scopes) })).call('/services/schema', {
      name: '/dev1/bash/exec',
    })
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
  const registry = new OperationRegistry()
  registry.register(spec('/safe/open', { requiredScopes: ['admin'] }), (_input, { forwardedFor }) => forwardedFor)
  await head.worker('dev1', { registry, headIs: principal('head', ['admin']) })
  const client = await head.join({ as: principal('caller') })
  const forBoss = { authToken: 'good' }
  await expect(client.call('/dev1/safe/open', null, forBoss)).resolves.toMatchObject({ id: 'boss' })
  for (const options of [{}, { authToken: 'bad' }])
    await expect(client.call('/dev1/safe/open', null, options)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const shown = await client.call('/services/list', {}, forBoss)
  expect(JSON.stringify(shown)).toContain('/dev1/safe/open')
})

test('CALL-T74 a registration goes by the identity of the token: its scopes count, and the alias is its own', async () => {
  const head = new TestHead({ identities })
  const registry = new OperationRegistry()
  registry.register(spec('/fs/a'), () => 'a')
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
    {
      name: '/a/closed',
      op_type: 'query',
      access_control: { required_scopes: ['x'] },
      visibility: 'internal',
    },
  ]
  askToRegister(worker, 'reg', 'dev1', operations)
  expect(await worker.next()).toMatchObject({ id: 'reg', payload: { registered: 2 } })
  const client = await head.join()
  for (const path of ['/dev1/a/open', '/dev1/a/closed'])
    await expect(client.call(path)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  worker.send('call.requested', 'mark', { name: '/services/list' })
  expect(await worker.next()).toMatchObject({ id: 'mark' })
})
