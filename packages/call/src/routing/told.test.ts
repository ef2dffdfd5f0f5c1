// What a head makes of what a worker tells of its operations (CALL-ROUTE-05), however oddly it tells it.
import type { Principal } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { EnvAssembly } from '../env.ts'
import { CallError } from '../error.ts'
import { Link } from '../link/link.ts'
import type { Dispatcher } from '../link/link-options.ts'
import { collect, listed, principal, TestHead, workerPrincipal } from '../testing/head.ts'
import { clientOf, Outage } from '../testing/outage.ts'
import { connectTcp } from '../transport/sockets.ts'
import { remote } from './remote.ts'

const PAY = '/bank/pay'
const STATED = { name: PAY, op_type: 'query', access_control: { required_scopes: ['money'] } }
const rich = principal('rich', ['money'])

/** A worker of another make: `told` is its answer to `/services/schema`, and it answers every call. */
class Teller implements Dispatcher {
  told: unknown
  readonly calls: string[] = []

  async register(head: TestHead, operations: readonly unknown[] = [PAY]): Promise<void> {
    const link = await this.#join(head)
    await link.call('/head/services/register', { node: 'dev1', operations })
  }

  dispatch({ target }: Parameters<Dispatcher['dispatch']>[0], inbound: Parameters<Dispatcher['dispatch']>[1]) {
    if (target.path === '/services/schema') {
      if (this.told === undefined) inbound.fail(new CallError('NOT_FOUND', 'no discovery here'))
      else inbound.respond(this.told)
      return
    }
    this.calls.push(target.path)
    if (target.op === 'pay') inbound.respond('paid')
    else for (const value of [1, 2, 3]) inbound.value(value)
    inbound.complete()
  }

  async #join(head: TestHead): Promise<Link> {
    const transport = await connectTcp({ port: await head.listen(workerPrincipal('w')) })
    const link = new Link({ transport, dispatcher: this })
    onTestFinished(() => link.close())
    return link
  }
}

async function tell(head: TestHead, told: unknown): Promise<Teller> {
  const worker = new Teller()
  worker.told = told
  await worker.register(head)
  return worker
}

/** What comes of a call through the head. */
async function outcome(head: TestHead, as?: Principal, path = `/dev1${PAY}`): Promise<readonly [unknown, boolean]> {
  const link = await head.join(as ? { as } : {})
  const { result } = await link.callEnvelope(path)
  const shown = (await listed(link)).includes(path)
  link.close()
  return [result.ok ? result.value : `${result.error.code}: ${result.error.message}`, shown]
}

test.each<[string, object]>([
  ['nothing that is odd', {}],
  ['the type in capitals', { op_type: 'Query' }],
  ['no type', { op_type: undefined }],
  ['a type that nobody knows', { op_type: 'strange' }],
  ['the node in its name', { name: `/dev1${PAY}` }],
  ['a dotted name', { name: 'bank.pay' }],
  ['no name', { name: undefined }],
  ['a name that is none', { name: 5 }],
  ['schemas that are none', { input_schema: 7, error_schemas: 'x', tags: 1, visibility: 3 }],
])('CALL-ROUTE-05 access that a worker states is enforced, whatever else it tells: %s', async (_what, odd) => {
  for (const allowUnspecified of [false, true]) {
    const head = new TestHead({ allowUnspecified })
    const worker = await tell(head, { ...STATED, ...odd })
    expect(await outcome(head)).toEqual(['FORBIDDEN: authentication required', false])
    expect(await outcome(head, principal('poor'))).toEqual(['FORBIDDEN: access denied', false])
    expect(worker.calls).toEqual([])
    expect(await outcome(head, rich)).toEqual(['paid', true])
    expect(worker.calls).toEqual([PAY])
  }
})

const UNCLEAR = `FORBIDDEN: who may call /dev1${PAY} is not known: `
const OBJECT = 'access control must be an object; {} lets everybody in'

test.each<[object, string]>([
  [{ access_control: null }, OBJECT],
  [{ access_control: [] }, OBJECT],
  [{ access_control: 5 }, OBJECT],
  [{ access_control: { required_scopes: [], custom_auth: 'x' } }, "access control has no member 'custom_auth'"],
  [{ access_control: { customAuth: null } }, "access control has no member 'customAuth'"],
  [{ access_control: { requiredScope: ['money'] } }, "access control has no member 'requiredScope'"],
  [{ access_control: { required_scopes: null } }, 'access control must name scopes as a list of texts'],
  [{ access_control: { required_scopes: 'money' } }, 'access control must name scopes as a list of texts'],
  [{ access_control: { required_scopes: [{ toString: 1 }] } }, 'access control must name scopes as a list of texts'],
  [{ access_control: { resource_type: {} } }, 'access control must name resource type and action as texts'],
  [{ access_control: { resource_action: 'read' } }, 'access control names a resource action without a resource type'],
  [{ access_control: { required_scopes: [], requiredScopes: ['a'] } }, 'access control is told in two spellings'],
  [{ accessControl: {} }, 'access control is told in two spellings'],
  [{ name: '/bank/rob' }, 'its worker tells of /bank/rob instead'],
])('CALL-T70 access that is stated and not understood stays closed, whatever the head allows: %j', async (odd, why) => {
  const head = new TestHead({ allowUnspecified: true })
  const worker = await tell(head, { ...STATED, ...odd })
  expect(await outcome(head, rich)).toEqual([UNCLEAR + why, false])
  const client = await head.join({ as: rich })
  await expect(client.call('/services/schema', { name: `/dev1${PAY}` })).rejects.toMatchObject({
    message: expect.stringContaining(why),
  })
  expect(worker.calls).toEqual([])
})

test.each<[unknown, string]>([
  [undefined, 'its worker has not told its spec'],
  ['text', 'its worker has not told its spec'],
  [{ name: PAY, op_type: 'query' }, 'its spec has no access_control'],
])('CALL-ROUTE-05 allowUnspecified opens what a worker tells no access of: %j', async (told, why) => {
  const open = new TestHead({ allowUnspecified: true })
  await tell(open, told)
  expect(await outcome(open)).toEqual(['paid', true])
  const closed = new TestHead()
  const worker = await tell(closed, told)
  expect(await outcome(closed, rich)).toEqual([UNCLEAR + why, false])
  expect(worker.calls).toEqual([])
})

test('CALL-ROUTE-05 access that a worker states late is enforced from the first call on, whatever the head allows', async () => {
  const head = new TestHead({ allowUnspecified: true })
  const worker = await tell(head, undefined)
  worker.told = STATED
  const outcomes = await Promise.all([outcome(head), outcome(head)])
  expect(outcomes.map(([answer]) => answer)).toEqual(Array(2).fill('FORBIDDEN: authentication required'))
  expect(worker.calls).toEqual([])
})

test('CALL-ROUTE-05 access that a registration states is not taken back by a spec that is silent on it', async () => {
  const head = new TestHead({ allowUnspecified: true })
  const worker = new Teller()
  worker.told = { name: PAY, op_type: 'query' }
  await worker.register(head, [{ name: PAY, access_control: { customAuth: 'mine' } }])
  expect(await outcome(head)).toEqual([`${UNCLEAR}access control has no member 'customAuth'`, false])
  worker.told = { name: '/bank/vault', op_type: 'query' }
  await worker.register(head, [{ name: '/bank/vault', visibility: 'internal' }])
  expect(await outcome(head, rich, '/dev1/bank/vault')).toEqual([
    'NOT_FOUND: operation not found: /dev1/bank/vault',
    false,
  ])
  expect(worker.calls).toEqual([])
})

test.each(['internal', 'Internal'])(
  'CALL-T75 an operation that is %s does not exist for others, however odd the rest of its spec is',
  async visibility => {
    const head = new TestHead({ allowUnspecified: true, listAll: true })
    const worker = await tell(head, { name: PAY, op_type: 'Odd', visibility })
    expect(await outcome(head, rich)).toEqual([`NOT_FOUND: operation not found: /dev1${PAY}`, false])
    const client = await head.join()
    const schema = client.call('/services/schema', { name: `/dev1${PAY}` })
    await expect(schema).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(worker.calls).toEqual([])
  },
)

test('CALL-DISC-02 an operation that turns out to be internal is not described', async () => {
  const head = new TestHead()
  const worker = await tell(head, undefined)
  worker.told = { ...STATED, visibility: 'internal' }
  const client = await head.join({ as: rich })
  const schema = client.call('/services/schema', { name: `/dev1${PAY}` })
  await expect(schema).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

/** How the head and a plain link see an operation of this type. */
async function seen(op_type: unknown, op: string) {
  const name = `/bank/${op}`
  const head = new TestHead()
  const worker = new Teller()
  worker.told = { name, op_type, access_control: {} }
  await worker.register(head, [name])
  const client = await head.join()
  const { operations } = await client.call<{ operations: { name: string; op_type: string }[] }>('/services/list', {})
  const type = operations.find(each => each.name === `/dev1${name}`)?.op_type
  const { op_type: described } = await client.call<{ op_type?: string }>('/services/schema', { name: `/dev1${name}` })
  const [plain] = head.node.links
  const direct = new EnvAssembly({ bindings: { bank: remote(plain!) } }).root
  const answers = []
  // The link first, which then has to ask for itself.
  for (const invoked of [() => direct.invoke('bank', op), () => head.node.env.invoke('dev1', `bank/${op}`)]) {
    const { result } = await invoked()
    answers.push(result.ok ? result.value : result.error.code)
  }
  return { type, described, answers, streamed: await collect(client.subscribe(`/dev1${name}`)) }
}

test('CALL-REG-02 a type is known in any case, to the head and over a plain link alike', async () => {
  for (const told of ['query', 'Query', 'MUTATION']) {
    const type = told.toLowerCase()
    const answers = ['paid', 'paid']
    expect(await seen(told, 'pay')).toEqual({ type, described: type, answers, streamed: ['paid'] })
  }
  const answers = ['INVALID_OPERATION_TYPE', 'INVALID_OPERATION_TYPE']
  const type = 'subscription'
  expect(await seen('Subscription', 'watch')).toEqual({ type, described: type, answers, streamed: [1, 2, 3] })
})

test('CALL-DISC-01 an operation without a type that is known is listed as a mutation, and streams if it does', async () => {
  for (const told of [undefined, 'strange'])
    expect(await seen(told, 'watch')).toEqual({
      type: 'mutation',
      described: undefined,
      answers: [1, 1],
      streamed: [1, 2, 3],
    })
})

test('CALL-REG-02 a client describes an operation whose type is told in capitals or not at all', async () => {
  const worker = new Teller()
  const server = await Outage.start('unix')
  server.accept = transport => void new Link({ transport, dispatcher: worker, clock: server.clock })
  const { client } = clientOf({ dial: server.dial, clock: server.clock })
  const accessControl = { requiredScopes: ['money'] }
  worker.told = { ...STATED, op_type: 'Query' }
  expect(await client.describe('bank', 'pay')).toMatchObject({ name: PAY, opType: 'query', accessControl })
  worker.told = { access_control: STATED.access_control }
  expect(await client.describe('bank', 'pay')).toMatchObject({ name: PAY, opType: 'mutation', accessControl })
  worker.told = { ...STATED, access_control: 5 }
  await expect(client.describe('bank', 'pay')).rejects.toThrow(`the spec of ${PAY} cannot be understood: ${OBJECT}`)
})
