import { unwrap } from '@parley/core'
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { completedOn } from '../testing/conflicts.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { ended, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { graphOf, taskOf } from '../testing/tasks.ts'

const NOT_ALLOWED = 'invalid_argument(modification_not_allowed)'

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
    bad: [{ role: 'observer' }, { visibility: ['ws_unknown'] }, { budget: { cost_limit: 0 } }, { priority: 'urgent' }],
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
