import { createHash } from 'node:crypto'
import { canonicalize, type GateId, type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import { type EventBody, GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import type { AgentHandle } from '../runtime/agent.ts'
import { overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { approveAll, ended, gateOf, only, prepare, TRANSITIONS, triggered } from '../testing/gates.ts'
import { graphOf } from '../testing/tasks.ts'

/** A worker of a gated run: its creation and its directive are approved. */
async function worker(f: Fixture, name: string): Promise<AgentHandle> {
  const directive = { format: 'markdown', content: 'work' }
  const gate = gateOf(
    f,
    await f.root.createWorkspace({ role: 'worker', resources: ['**'], directive }),
    `G${name}`,
  )
  const outcome = f.run.settled(gate)
  await approveAll(f)
  const { result } = unwrap(await outcome)
  const { workspace } = unwrap(result!) as { readonly workspace: WorkspaceId }
  f.name(workspace, name)
  const agent = unwrap(await f.run.worker(workspace)) as AgentHandle
  unwrap(await agent.consume())
  await f.mark()
  return agent
}

function letter(to: WorkspaceId) {
  return { to, type: 'feedback', payload: { format: 'markdown', content: 'text' } }
}

/** The one gate that was opened since the mark, and that nothing else was written. */
async function opened(f: Fixture, before: readonly string[] = []): Promise<EventBody<'gate_triggered'>> {
  const added = await f.added()
  expect(added.map(entry => entry.event_type)).toEqual([...before, 'gate_triggered'])
  return added.at(-1)!.body as EventBody<'gate_triggered'>
}

test('WM-062 each of the six transitions waits at its gate, with everything about it and before any effect', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: 'gated' } })
  const all = { timeout: null, fallback: 'reject', queue_position: 0, addressee: 'ux' }
  const none = { workspace: null, task_ref: null, graph_ref: null }

  const made = unwrap(await f.root.submitGraph([{ name: 'T', description: 'do it' }]))
  const task = await opened(f, ['graph_created', 'task_created'])
  expect(task).toMatchObject({
    ...all,
    ...none,
    gate_type: 'task_approval',
    subject: { kind: 'task', id: made.tasks[0] },
    task_ref: made.tasks[0],
    graph_ref: made.graph,
  })
  expect(unwrap(await f.root.task(made.tasks[0]!)).status).toBe('draft')
  await approveAll(f)
  await f.mark()

  expect(
    refused(await f.root.createWorkspace({ role: 'worker', resources: ['**'], task: made.tasks[0]! })),
  ).toBe('gated')
  const creation = await opened(f)
  const root = { workspace: f.root.workspace, graph_ref: made.graph, task_ref: made.tasks[0] }
  expect(creation).toMatchObject({ ...all, ...root, gate_type: 'workspace_create' })
  expect(creation.subject).toMatchObject({ kind: 'creation', id: `${made.tasks[0]}#1` })
  expect(await f.run.read(run => run.workspaces.size)).toBe(1)
  await approveAll(f)

  const idle = await worker(f, 'U')
  const W = await worker(f, 'W')
  const sent = unwrap(await f.root.send(letter(W.workspace)))
  const delivery = await opened(f, ['envelope_created'])
  expect(delivery).toMatchObject({
    ...all,
    ...none,
    workspace: W.workspace,
    gate_type: 'envelope_delivery',
    subject: { kind: 'envelope', id: sent.envelope },
  })
  expect(sent.gate).toBe(delivery.gate_id)
  expect(unwrap(await W.consume())).toBeUndefined()
  await approveAll(f)
  expect(unwrap(await W.consume())?.id).toBe(sent.envelope)

  const draft = { type: 'artifact', intent: 'show', parent: null, confidence: 'high' } as const
  const checkpoint = unwrap(
    await W.checkpoint({ ...draft, status: 'final', payload: { files_changed: ['f'], content: 'done' } }),
  )
  unwrap(await W.complete())
  await f.mark()
  expect(refused(await f.root.beginIntegration(W.workspace, 'evaluated'))).toBe('gated')
  expect(await opened(f)).toMatchObject({
    ...all,
    ...none,
    workspace: W.workspace,
    gate_type: 'integration',
    subject: { kind: 'integration', id: `${W.workspace}:normal` },
  })
  const [merge] = await f.run.gates()
  expect(merge?.subject).toMatchObject({ source: W.workspace, checkpoint_ref: checkpoint.checkpoint })
  await approveAll(f)

  const [conflict] = unwrap(await f.root.reportConflicts(W.workspace, [overlap]))
  await f.mark()
  const proposed = await f.root.resolveConflict(W.workspace, conflict!, 'coordinator_resolve', 'keep both')
  expect(refused(proposed)).toBe('gated')
  expect(await opened(f)).toMatchObject({
    ...all,
    ...none,
    workspace: W.workspace,
    gate_type: 'conflict_resolution',
    subject: { kind: 'conflict', id: `${conflict}:0` },
  })

  expect(refused(await f.root.abort(W.workspace))).toBe('gated')
  expect(await opened(f)).toMatchObject({
    ...all,
    ...none,
    queue_position: 1,
    workspace: W.workspace,
    gate_type: 'workspace_abort',
    subject: { kind: 'workspace', id: `${W.workspace}:aborted_by_coordinator` },
  })

  // Only these transitions wait: another workspace goes on meanwhile, and so does the one to be aborted.
  unwrap(await idle.checkpoint({ ...draft, status: 'provisional', payload: { content: 'part' } }))
  unwrap(await idle.blocked('waiting'))
  await f.expectAmong([
    ['checkpoint_created', 'U', 'worker'],
    ['workspace_state_changed', 'U', 'protocol', { to_state: 'blocked' }],
  ])
  expect(await f.run.read(run => run.workspaces.get(W.workspace)?.status)).toBe('conflicted')
})

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

test('WM-063 gates are one queue: each falls back at its own time, whichever is answered first and whether it was shown or not', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: only('workspace_abort', { timeout: 100 }) },
  })
  for (const name of ['A', 'B', 'C']) await f.worker(name)
  await f.mark()
  const gates: GateId[] = []
  for (const [index, name] of ['A', 'B', 'C'].entries()) {
    if (index > 0) await f.advance(10)
    gates.push(gateOf(f, await f.root.abort(f.id(name)), `G${name}`))
  }
  const row = (name: string, queue_position: number) =>
    triggered(`G${name}`, 'workspace_abort', name, { queue_position, timeout: 100 })
  await f.expectAmong([row('A', 0), row('B', 1), row('C', 2)])
  expect((await f.run.gates()).map(each => each.queue_position)).toEqual([0, 1, 2])

  unwrap(await f.runtime.user('ux').reject(f.run.id, gates[1]!))
  await f.expectAdded([ended('GB', 'workspace_abort', 'B', 'reject', 'ux')])
  expect((await f.run.gates()).map(each => each.queue_position)).toEqual([0, 1])
  expect(refused(await f.runtime.user('ux').approve(f.run.id, gates[1]!))).toBe(
    'invalid_state(gate_not_pending)',
  )
  await f.expectAdded([])

  // Stamps run a little ahead of the clock, which stands still while a test writes.
  await f.advance(81)
  await f.expectAdded([
    ['gate_timeout', 'A', 'fallback'],
    ended('GA', 'workspace_abort', 'A', 'reject', 'fallback'),
  ])
  await f.advance(10)
  await f.expectAdded([])
  await f.advance(10)
  await f.expectAdded([
    ['gate_timeout', 'C', 'fallback'],
    ended('GC', 'workspace_abort', 'C', 'reject', 'fallback'),
  ])
  for (const gate of gates)
    expect(refused(await f.runtime.user('ux').approve(f.run.id, gate))).toBe(
      'invalid_state(gate_not_pending)',
    )
  await f.expectAdded([])
})

test('W-HWY-06 each addressee has a queue of their own', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const [name, owner] of Object.entries({ A: 'alice', B: 'bob', A2: 'alice' }))
    await f.worker(name, { owner })
  for (const name of ['A', 'B', 'A2']) gateOf(f, await f.root.abort(f.id(name)), `G${name}`)
  expect((await f.run.gates()).map(each => [each.addressee, each.queue_position])).toEqual([
    ['alice', 0],
    ['bob', 0],
    ['alice', 1],
  ])
})

test('WM-070 by default every task of a graph waits for a human, one that is added later as well', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const graph = await graphOf(f, {
    A: {},
    B: { depends_on: ['A'] },
    C: { depends_on: ['B'], priority: 'urgent' },
  })
  await graphOf(f, { B1: { parent_task: graph.id('B') } }, { into: graph.graph })
  const added = (await f.added()).filter(each => each.event_type === 'gate_triggered')
  expect(added.map(entry => f.row(entry))).toMatchObject(
    ['A', 'B', 'C', 'B1'].map((task, queue_position) => [
      'gate_triggered',
      null,
      'protocol',
      { workspace: null, task_ref: task, graph_ref: 'G', queue_position, timeout: 600_000 },
    ]),
  )
  expect((await f.run.gates())[1]?.subject).toEqual({
    id: graph.id('B'),
    graph_ref: graph.graph,
    name: 'B',
    description: 'do B',
    priority: 'normal',
    depends_on: [graph.id('A')],
    parent_task: null,
    status: 'draft',
  })
  await f.mark()
  const creation = await f.root.createWorkspace({ role: 'worker', resources: ['**'], task: graph.id('A') })
  expect(refused(creation)).toBe('rejected(not_dispatchable)')
  await f.expectAdded([['workspace_rejected', 'R', 'protocol']])
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
  for (let size = 0; size < kernelLimits.pendingGates; size += tasks.length)
    unwrap(await f.root.submitGraph(tasks))
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
