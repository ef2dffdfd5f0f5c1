import { createHash } from 'node:crypto'
import { canonicalize, type ObjectId, unwrap } from '@parley/core'
import { type EventBody, GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { gateOf, only, prepare, TRANSITIONS } from '../testing/gates.ts'
import { graphOf } from '../testing/tasks.ts'

test.each(GATE_TYPES)(
  'W-HWY-04 the whole subject of a %s gate survives a restart, pinned by its digest',
  async type => {
    const f = await fixture({ run: { owner: 'ux', highway: only(type) } })
    await prepare(f, type)
    await TRANSITIONS[type](f)
    const [before] = await f.run.gates()
    const { subject } = (await f.added()).find(each => each.event_type === 'gate_triggered')!
      .body as EventBody<'gate_triggered'>
    expect(before!.subject).toBeDefined()
    expect(subject.digest).toBe(createHash('sha256').update(canonicalize(before!.subject)).digest('hex'))
    expect(JSON.stringify(await f.run.entries())).not.toContain('keep both')
    await f.restart()
    expect(await f.run.gates()).toEqual([before])
    expect(unwrap(await f.run.gate(before!.id))).toEqual(before)
    const stored = unwrap(await f.run.object(before!.id as string as ObjectId))
    expect(stored?.kind).toBe('gate')
  },
)

test('W-HWY-06 each addressee has a queue of their own', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const [name, owner] of Object.entries({ A: 'alice', B: 'bob', A2: 'alice' })) await f.worker(name, { owner })
  for (const name of ['A', 'B', 'A2']) gateOf(f, await f.root.abort(f.id(name)), `G${name}`)
  expect((await f.run.gates()).map(each => [each.addressee, each.queue_position])).toEqual([
    ['alice', 0],
    ['bob', 0],
    ['alice', 1],
  ])
})

test('W-HWY-06 what fell to the coordinator stands in nobody’s queue', async () => {
  const highway = only('workspace_abort', { timeout: 100, fallback: 'escalate_to_coordinator' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  for (const name of ['A', 'B']) await f.worker(name)
  gateOf(f, await f.root.abort(f.id('A')), 'GA')
  await f.advance(101)
  await f.mark()
  gateOf(f, await f.root.abort(f.id('B')), 'GB')
  await f.expectAmong([['gate_triggered', 'B', 'protocol', { gate_id: 'GB', queue_position: 0 }]])
})

test('W-TASK-05 with this gate off, or without a highway, the fallback approves at once', async () => {
  for (const highway of ['off', { gates: { task_approval: false } }] as const) {
    const f = await fixture({ run: { owner: 'ux', highway } })
    await graphOf(f, { T: {} })
    await f.expectAdded([
      ['graph_created', 'R', 'system'],
      ['task_created', 'R', 'system'],
      ['task_approved', 'R', 'fallback', { task_id: 'T', approval_source: 'timeout-auto-approve' }],
      ['task_status_changed', 'R', 'fallback'],
    ])
  }
})

test('W-HWY-03 asking again for what waits opens no second gate', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  await f.worker('W')
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.mark()
  expect(gateOf(f, await f.root.abort(f.id('W')))).toBe(gate)
  await f.expectAdded([])
})

test('W-HWY-03 later envelopes of a channel wait behind one at its gate, other channels go on, injected mail is not gated', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('envelope_delivery') } })
  await f.workspace('W')
  await f.workspace('W2')
  const first = unwrap(await f.root.send(f.mail('W', 'feedback')))
  const second = unwrap(await f.root.send(f.mail('W', 'feedback')))
  const other = unwrap(await f.root.send(f.mail('W2', 'feedback')))
  const ux = f.runtime.user('ux')
  unwrap(await ux.approve(f.run.id, second.gate!))
  unwrap(await ux.approve(f.run.id, other.gate!))
  await f.settle()
  expect(await f.run.read(run => run.envelopes.get(second.envelope)?.status)).toBe('validated')
  expect(await f.run.read(run => run.envelopes.get(other.envelope)?.status)).toBe('acknowledged')
  await f.mark()
  unwrap(await ux.approve(f.run.id, first.gate!))
  f.name(first.envelope, 'E1')
  f.name(second.envelope, 'E2')
  await f.expectAmong([
    ['gate_resolved', 'W', 'ux'],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E1' }],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E2' }],
  ])
  const injected = unwrap(await ux.inject(f.run.id, f.mail('W', 'feedback')))
  expect(injected.gate).toBeUndefined()
  await f.settle()
  expect(await f.run.read(run => run.envelopes.get(injected.envelope)?.status)).toBe('acknowledged')
})

test('while as many gates wait as may, nothing that could open another is begun; an answer makes room', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const tasks = Array.from({ length: kernelLimits.submittedTasks }, () => ({
    name: 'T',
    description: 'do it',
  }))
  for (let size = 0; size < kernelLimits.pendingGates; size += tasks.length) unwrap(await f.root.submitGraph(tasks))
  await f.mark()
  const one = [{ name: 'T', description: 'do it' }]
  expect(refused(await f.root.submitGraph(one))).toBe('limit_reached')
  await f.expectAdded([])
  // What this run does not gate goes on.
  await f.worker('W')
  unwrap(await f.root.abort(f.id('W')))
  const [gate] = await f.run.read(run => [...run.gates.keys()])
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate!))
  unwrap(await f.root.submitGraph(one))
})
