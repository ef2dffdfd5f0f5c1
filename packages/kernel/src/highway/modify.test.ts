import { randomBytes } from 'node:crypto'
import { type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { recordViolation } from '../envelope/proof.ts'
import type { AgentHandle } from '../runtime/agent.ts'
import { completedOn } from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { ended, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { graphOf, taskOf } from '../testing/tasks.ts'

const NOT_ALLOWED = 'invalid_argument(modification_not_allowed)'

test('WM-065 a human changes a task and a letter at their gates; a budget beyond the parent and a dependency stay as they are', async () => {
  const f = await fixture({
    run: {
      owner: 'ux',
      highway: {
        gates: { workspace_create: true, envelope_delivery: true },
        gate_defaults: { timeout: null },
      },
    },
    secret: randomBytes(32),
  })
  const ux = f.runtime.user('ux')
  const graph = await graphOf(f, { T: { priority: 'normal' } })
  const [task] = await waiting(f)
  await f.mark()
  expect(refused(await ux.modify(f.run.id, task!, { depends_on: [] }))).toBe(NOT_ALLOWED)
  await f.expectAdded([])
  unwrap(await ux.modify(f.run.id, task!, { priority: 'urgent' }))
  await f.expectAdded([
    ended('G1', 'task_approval', null, 'modify', 'ux', { modifications: { priority: 'urgent' } }),
    ['task_approved', 'R', 'ux', { task_id: 'T', approval_source: 'human' }],
    ['task_status_changed', 'R', 'ux'],
  ])
  expect((await taskOf(f, graph.id('T'))).priority).toBe('urgent')

  const budget = { compute_budget: { token_limit: 100 } }
  const lead = gateOf(
    f,
    await f.root.createWorkspace({
      role: 'worker',
      delegate: true,
      budget,
      directive: { format: 'markdown', content: 'lead' },
    }),
    'GL',
  )
  const { result } = unwrap(await ux.approve(f.run.id, lead))
  await f.settle()
  const { workspace } = unwrap(result!) as { readonly workspace: WorkspaceId }
  f.name(workspace, 'D')
  const [letter] = await f.run.gates()
  const D = unwrap(await f.run.worker(workspace)) as AgentHandle
  const payload = { format: 'markdown', content: 'lead them well' }
  await f.mark()
  f.name(letter!.id, 'GE')
  unwrap(await ux.modify(f.run.id, letter!.id, { payload }))
  const added = (await f.added()).map(entry => f.row(entry))
  expect(added[0]).toMatchObject(
    ended('GE', 'envelope_delivery', 'D', 'modify', 'ux', {
      modifications: { payload: { kind: 'envelope' } },
    }),
  )
  expect(added[1]?.slice(0, 3)).toEqual(['envelope_delivered', 'D', 'protocol'])
  expect(JSON.stringify(added)).not.toContain('lead them well')
  const read = unwrap(await D.consume())!
  expect(read).toMatchObject({ id: letter!.subject_id, payload })
  expect(recordViolation(f.runtime.proofs!, read.id, read)).toBeUndefined()
  expect(unwrap(await D.readEnvelope(read.id)).payload).toMatchObject(payload)
  const original = unwrap(await f.run.object(read.id as string as ObjectId))?.value as EnvelopeRecord
  expect(original.payload.content).toBe('lead')

  const child = gateOf(
    f,
    await D.createWorkspace({ role: 'worker', budget: { compute_budget: { token_limit: 50 } } }),
    'GC',
  )
  await f.mark()
  const beyond = { budget: { compute_budget: { token_limit: 101 } } }
  expect(refused(await ux.modify(f.run.id, child, beyond))).toBe(NOT_ALLOWED)
  await f.expectAdded([])
  expect((await f.run.gates()).map(({ id }) => id)).toEqual([child])
  unwrap(
    await ux.modify(f.run.id, child, {
      budget: { compute_budget: { token_limit: 80 } },
      priority: 'critical',
    }),
  )
  await f.expectAmong([
    ['gate_resolved', 'D', 'ux', { action: 'modify' }],
    [
      'workspace_created',
      'ws1',
      'worker',
      { budget: { compute_budget: { token_limit: 80 } }, priority: 'critical' },
    ],
  ])
})

test('W-TASK-01 name, description and estimate of a draft change at its gate, and survive a restart', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const graph = await graphOf(f, { T: { resource_estimate: { tokens: 1 } } })
  const [gate] = await waiting(f)
  const changes = {
    name: 'T2',
    description: 'do it better',
    resource_estimate: { tokens: 5, wall_time: 10, cost: 0.5 },
  }
  unwrap(await f.runtime.user('ux').modify(f.run.id, gate!, changes))
  const seen = await taskOf(f, graph.id('T'))
  expect(seen).toMatchObject({ ...changes, status: 'pending' })
  // W-TASK-20: the words stay off the trail.
  expect(JSON.stringify(await f.run.entries())).not.toContain('do it better')
  await f.restart()
  expect(await taskOf(f, graph.id('T'))).toEqual(seen)
})

/** For each type: what may be changed, and what may not. */
const CHANGES: { readonly [Type in GateType]: { readonly good: object; readonly bad: readonly object[] } } = {
  task_approval: {
    good: { name: 'other' },
    bad: [
      { graph_ref: 'x' },
      { depends_on: [] },
      { id: 'x' },
      { timestamp: 'x' },
      { name: '' },
      { priority: 'critical' },
      { resource_estimate: { wall_time: 1.5 } },
    ],
  },
  workspace_create: {
    good: { priority: 'background' },
    bad: [
      { role: 'observer' },
      { visibility: ['ws_unknown'] },
      { budget: { cost_limit: 0 } },
      { priority: 'urgent' },
    ],
  },
  envelope_delivery: {
    good: { payload: { format: 'json', content: '{}' } },
    bad: [{ payload: { content: 'x' } }, { to: 'x' }, { priority: 'urgent' }],
  },
  integration: { good: { strategy: 'layered' }, bad: [{ strategy: 'magic' }, { source: 'x' }] },
  conflict_resolution: {
    good: { resolution: 'keep mine' },
    bad: [{ strategy: 'escalate' }, { strategy: 'guess' }, { resolution: '' }],
  },
  workspace_abort: { good: { reason: 'it is stuck' }, bad: [{ reason: '' }, { workspace: 'x' }] },
}

test.each(GATE_TYPES)(
  'W-HWY-08 a %s gate takes only its own changes; all else leaves it waiting, without an entry',
  async type => {
    const f = await fixture({ run: { owner: 'ux', highway: only(type) } })
    await prepare(f, type)
    await TRANSITIONS[type](f)
    const [gate] = await waiting(f)
    await f.mark()
    const ux = f.runtime.user('ux')
    const { good, bad } = CHANGES[type]
    for (const change of [{}, { nothing: 1 }, ...bad, ...bad.map(each => ({ ...good, ...each }))])
      expect([change, refused(await ux.modify(f.run.id, gate!, change))]).toEqual([change, NOT_ALLOWED])
    await f.expectAdded([])
    expect(await waiting(f)).toEqual([gate])
    unwrap(await ux.modify(f.run.id, gate!, good))
    const [first] = await f.added()
    expect(first).toMatchObject({ event_type: 'gate_resolved', body: { action: 'modify' } })
    expect(await waiting(f)).toEqual([])
  },
)

test('W-HWY-08 a changed strategy is the one that is used; a changed reason leaves the code of an abort as it is', async () => {
  const f = await fixture({
    run: {
      owner: 'ux',
      highway: { gates: { task_approval: false, integration: true, workspace_abort: true } },
    },
  })
  await completedOn(f, { I: ['f'] })
  await f.worker('W')
  const ux = f.runtime.user('ux')
  const merge = gateOf(f, await f.root.beginIntegration(f.id('I')), 'GI')
  const abort = gateOf(f, await f.root.abort(f.id('W')), 'GW')
  await f.mark()
  unwrap(await ux.modify(f.run.id, merge, { strategy: 'evaluated' }))
  unwrap(await ux.modify(f.run.id, abort, { reason: 'it is stuck' }))
  await f.expectAmong([
    ended('GI', 'integration', 'I', 'modify', 'ux', { modifications: { strategy: 'evaluated' } }),
    ['integration_started', 'I', 'system', { strategy: 'evaluated' }],
    ended('GW', 'workspace_abort', 'W', 'modify', 'ux', { modifications: { reason: 'it is stuck' } }),
    ['workspace_state_changed', 'W', 'system', { trigger: 'aborted_by_coordinator' }],
  ])
})
