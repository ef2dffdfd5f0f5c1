// What a head tells of its workers, and to whom (CALL-ROUTE-03, CALL-DISC-01).
import { expect, test } from 'vitest'
import { OperationRegistry } from '../registry.ts'
import { listed, principal, register, spec, TestHead, workerPrincipal } from '../testing/head.ts'
import type { Envelope } from '../wire/envelope.ts'

function guarded(): OperationRegistry {
  const registry = new OperationRegistry()
  registry.register(spec('/bash/exec', { requiredScopes: ['shell'] }, 'mutation'), () => 'done')
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
  received.length = 0
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
    await expect(anonymous.call('/dev1/services/schema', { name }), name).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  await expect(anonymous.call('/dev1/services/schema', {})).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const trusted = await head.join({ as: principal('friend', ['shell']) })
  await expect(trusted.call('/dev1/services/list', {})).resolves.toEqual({ operations: [EXEC, READ, WATCH] })
  await expect(trusted.call('/dev1/services/schema', { name: '/bash/exec' })).resolves.toMatchObject(EXEC)
  await worker.call('/head/services/list', {}, { requestId: 'mark' })
  expect(received.map(({ id }) => id)).toEqual(['mark'])
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
  received.length = 0
  const told = await head.node.env.invoke('dev1', 'services/list', {})
  expect(told.unwrap()).toEqual({ operations: [EXEC, READ, WATCH] })
  const other = await head.node.env.invoke('dev1', 'services/register', {})
  expect(other.result).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } })
  await worker.call('/head/services/list', {}, { requestId: 'mark' })
  expect(received.map(({ id }) => id)).toEqual(['mark'])
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
    await expect(client.call('/services/schema', { name: REGISTER })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  }
  const ruled = new TestHead({
    pathRules: [{ pattern: REGISTER, access: { requiredScopes: ['vetted'] } }],
  })
  expect(await listed(await ruled.join({ as: workerPrincipal('w') }))).not.toContain(REGISTER)
  const plain = new TestHead({ head: false })
  const visitor = await plain.join({ as: workerPrincipal('w') })
  expect(await listed(visitor)).not.toContain(REGISTER)
  await expect(register(visitor, 'dev1', [])).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-T64 a node that is no head does not answer as head, and answers under an alias that it was given', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/agent/chat'), () => 'hello')
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
