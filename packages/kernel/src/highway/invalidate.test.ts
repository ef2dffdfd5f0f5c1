import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture } from '../testing/fixture.ts'
import { approveAll, ended, gateOf, only, waiting } from '../testing/gates.ts'
import { graphOf, status } from '../testing/tasks.ts'

const INVALID = { reason: 'subject_invalidated' }

test('W-HWY-12 each type ends when its subject cannot proceed, and not before', async () => {
  const gates = {
    task_approval: true,
    workspace_create: true,
    envelope_delivery: true,
    integration: true,
    conflict_resolution: true,
    workspace_abort: true,
  }
  const f = await fixture({ run: { owner: 'ux', highway: { gates, gate_defaults: { timeout: null } } } })
  const ux = f.runtime.user('ux')
  const invalidated = async (name: string, under: string | null, act: () => Promise<unknown>) => {
    await f.mark()
    await act()
    const added = (await f.added()).map(entry => f.row(entry))
    expect(added.filter(([type]) => type === 'gate_resolved')).toMatchObject([
      ['gate_resolved', under, 'protocol', { gate_id: name, action: 'reject', ...INVALID }],
    ])
    expect(await f.run.read(run => run.gates.size)).toBe(0)
  }

  // A task that is cancelled.
  const graph = await graphOf(f, { T: {}, S: {} })
  await waiting(f)
  unwrap(await ux.approve(f.run.id, (await waiting(f))[1]!))
  await invalidated('G1', null, async () => unwrap(await f.root.cancelTask(graph.id('T'))))

  // A creation whose task is cancelled, and one whose parent fails.
  gateOf(f, await f.root.createWorkspace({ role: 'worker', resources: ['**'], task: graph.id('S') }), 'G2')
  await invalidated('G2', 'R', async () => unwrap(await f.root.cancelTask(graph.id('S'))))
  const D = await made(f, 'D', { delegate: true })
  gateOf(f, await f.root.createWorkspace({ role: 'worker', parent: D.workspace }), 'G3')
  await invalidated('G3', null, async () => unwrap(await ux.abort(f.run.id, D.workspace)))

  // A letter whose receiver is sealed; the envelope is undeliverable.
  const W = await made(f, 'W')
  unwrap(await f.agent('W').started())
  gateOf(f, await f.root.send(f.mail('W', 'feedback')), 'G4')
  await f.mark()
  unwrap(await W.blocked('still here'))
  expect(await f.run.read(run => run.gates.size)).toBe(1)
  unwrap(await W.started())
  unwrap(await f.final('W'))
  await f.mark()
  unwrap(await W.complete())
  const sealed = (await f.added()).map(entry => f.row(entry))
  expect(sealed.at(-1)).toEqual(ended('G4', 'envelope_delivery', 'W', 'reject', 'protocol', INVALID))
  expect(sealed.map(([type]) => type)).toContain('envelope_undeliverable')

  // A conflict of a workspace that fails, and an abort of one that is gone.
  unwrap(await ux.approve(f.run.id, gateOf(f, await f.root.beginIntegration(W.workspace, 'evaluated'), 'G5')))
  const [conflict] = unwrap(await f.root.reportConflicts(W.workspace, [overlap]))
  gateOf(f, await f.root.resolveConflict(W.workspace, conflict!, 'coordinator_resolve', 'both'), 'G6')
  await invalidated('G6', null, async () => unwrap(await ux.abort(f.run.id, W.workspace)))
  const V = await made(f, 'V')
  gateOf(f, await f.root.abort(V.workspace), 'G7')
  await invalidated('G7', null, async () => unwrap(await V.failed('broken')))
})

test('W-HWY-12 a member that fails while its batch abort waits is skipped, and the summary follows', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const name of ['A', 'B']) await f.worker(name, { group: 'g' })
  unwrap(await f.root.batchAbort('g'))
  const [first, second] = await waiting(f)
  unwrap(await f.runtime.user('ux').approve(f.run.id, second!))
  await f.mark()
  unwrap(await f.agent('A').failed('broken'))
  await f.expectAmong([
    ended('G1', 'workspace_abort', null, 'reject', 'protocol', INVALID),
    ['batch_abort', 'R', 'system', { group_id: 'g', affected_workspaces: ['B'], skipped_workspaces: ['A'] }],
  ])
  expect(first).toBeDefined()
})

test('W-HWY-12 a run that closes, and one whose root fails, end their gates before the last entry', async () => {
  for (const end of ['close', 'fail'] as const) {
    const f = await fixture({ run: { owner: 'ux', highway: {} } })
    await graphOf(f, { T: {} })
    await waiting(f)
    await f.mark()
    if (end === 'close') unwrap(await f.run.close())
    else unwrap(await f.root.failed('broken'))
    const added = (await f.added()).map(entry => f.row(entry))
    expect(added.at(-2)).toEqual(ended('G1', 'task_approval', null, 'reject', 'protocol', INVALID))
    expect(added.at(-1)?.slice(0, 2)).toEqual(['workspace_state_changed', 'R'])
  }
})

test('W-TASK-13 cancelling a draft takes its gate with it', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const graph = await graphOf(f, { T: {} })
  await waiting(f)
  await f.mark()
  unwrap(await f.root.cancelTask(graph.id('T')))
  await f.expectAdded([
    status('T', 'draft', 'cancelled', null, 'system'),
    ended('G1', 'task_approval', null, 'reject', 'protocol', INVALID),
  ])
})

/** A worker or delegate of a run in which everything is gated. */
async function made(f: Fixture, name: string, draft: object = {}) {
  const directive = { format: 'markdown', content: 'work' }
  gateOf(f, await f.root.createWorkspace({ role: 'worker', resources: ['**'], directive, ...draft }), `made ${name}`)
  await approveAll(f)
  const agent = await f.adopt(name, await f.run.read(run => [...run.workspaces.keys()].at(-1)!))
  unwrap(await agent.consume())
  return agent
}
