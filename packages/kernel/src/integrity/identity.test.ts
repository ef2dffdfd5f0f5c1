// Who speaks for a workspace (W-SEC-03, -04, -08): identities are bound at creation, and a claim that does not hold is
// on record.
import { unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import type { IdentityRequest } from './identity.ts'

const secret = new Uint8Array(32).fill(42)

const failed = (entity: string, context: string, reason: string, source: string): Row => [
  'authentication_failed',
  null,
  'protocol',
  { entity, context, reason, source },
]

test('W-SEC-03 a foreign `from` on an envelope is a matter of structure, also where there are proofs', async () => {
  const f = await fixture({ secret })
  const one = await f.worker('W1')
  await f.worker('W2')
  await f.mark()
  const draft = f.mail('R', 'query', { from: f.id('W2') })
  expect(refused(await one.send(draft))).toBe('rejected(invalid_structure)')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['envelope_rejected'])
})

test('W-SEC-03 whoever proves to be the bound agent gets the handle of its workspace, also after a restart', async () => {
  const identify = ({ role, context }: IdentityRequest) => `${String(context.agent ?? role)}#1`
  const f = await fixture({ secret, identify })
  await f.worker('W', { context: { agent: 'coder' } })
  await f.restart()
  const worker = unwrap(await f.run.attach(f.id('W'), 'coder#1'))
  expect(worker).toMatchObject({ workspace: f.id('W'), role: 'worker' })
  await f.mark()
  expect(refused(await f.run.attach(f.id('W'), 'coordinator#1'))).toBe('permission_denied(invalid_credential)')
  expect(refused(await f.run.attach(f.id('W'), 'nobody'))).toBe('permission_denied(unknown_identity)')
  expect(refused(await f.run.attach(f.id('W'), `${'x'.repeat(5000)}\ud800`))).toBe(
    'permission_denied(unknown_identity)',
  )
  await f.expectAmong([
    failed('coordinator#1', 'agent_attach', 'invalid_credential', 'W'),
    failed('nobody', 'agent_attach', 'unknown_identity', 'W'),
    ['authentication_failed', null, 'protocol'],
  ])
  expect(refused(await f.run.attach('nowhere' as WorkspaceId, 'coder#1'))).toBe('not_found')
  await f.expectAdded([])
})

test('W-SEC-06 a claim on a run that has ended is recorded in the house', async () => {
  const f = await fixture({ secret })
  await f.worker('W')
  unwrap(await f.root.abort(f.id('W')))
  unwrap(await f.run.close())
  expect(refused(await f.run.attach(f.id('W'), 'mallory'))).toBe('permission_denied(unknown_identity)')
  const house = unwrap(await f.runtime.open(f.runtime.house.run))
  const last = (await house.entries()).at(-1)
  expect(last).toMatchObject({
    event_type: 'authentication_failed',
    body: { entity: 'mallory', source: f.id('W') },
  })
  // Its agent still reads what it did.
  const worker = unwrap(await f.run.attach(f.id('W'), `agent:${f.id('W')}`))
  expect(unwrap(await worker.look()).status).toBe('failed')
})

test('W-WS-06 every workspace says who its agent is; nobody but the runtime supplies it', async () => {
  const asked: IdentityRequest[] = []
  const f = await fixture({
    identify: request => {
      asked.push(request)
      return `${request.role}#${asked.length}`
    },
  })
  await f.worker('W', { context: { agent: 'coder' } })
  const created = (await f.run.entries()).filter(entry => entry.event_type === 'workspace_created')
  expect(created.map(entry => (entry.body as { agent?: string }).agent)).toEqual(['coordinator#2', 'worker#3'])
  // The house was asked for first.
  expect(asked.slice(1)).toEqual([
    { run: f.run.id, workspace: f.id('R'), role: 'coordinator', task: null, context: {} },
    { run: f.run.id, workspace: f.id('W'), role: 'worker', task: null, context: { agent: 'coder' } },
  ])
  await f.mark()
  const draft = { role: 'worker', agent: 'mallory' } as never
  expect(refused(await f.root.createWorkspace(draft))).toBe('rejected(invalid_parameters)')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['workspace_rejected'])
})

test('W-SEC-03 one identity never sits in two live workspaces, and is free again when the first has ended', async () => {
  const f = await fixture({ identify: ({ role }) => `${role}#1` })
  const first = await f.worker('W')
  await f.mark()
  const second = await f.root.createWorkspace({ role: 'worker' })
  expect(refused(second)).toBe('rejected(identity_in_use)')
  expect(second).toMatchObject({ error: { details: { workspace: first.workspace } } })
  await f.expectAdded([failed('worker#1', 'workspace_creation', 'identity_in_use', 'R')])
  expect(unwrap(await f.root.look()).children).toEqual([first.workspace])
  await f.restart()
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_in_use)')
  unwrap(await f.root.abort(first.workspace))
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_in_use)')
  // Another run is another matter.
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  const root = other.coordinator as AgentHandle
  unwrap(await root.started())
  expect(refused(await root.createWorkspace({ role: 'worker' }))).toBe('ok')
})

test('a host that assigns no usable agent is refused, and nothing is created', async () => {
  let answer: () => unknown = () => 'coordinator'
  const f = await fixture({ identify: () => answer() as string })
  await f.mark()
  const bad = [() => '', () => undefined, () => 'x'.repeat(257), () => '\ud800']
  for (const one of bad) {
    answer = one
    expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_invalid)')
  }
  answer = () => {
    throw new Error('no agent is free')
  }
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('rejected(identity_invalid)')
  expect(refused(await f.runtime.start({ owner: 'ux' }))).toBe('rejected(identity_invalid)')
  await f.expectAdded([])
  answer = () => 'worker'
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
})
