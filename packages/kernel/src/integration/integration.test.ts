import { type TaskId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import { TRANSITIONS } from '../lifecycle/states.ts'
import { referenceTaxonomy } from '../taxonomy/reference.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import {
  aborted,
  bound,
  changed,
  completed,
  decided,
  delivered,
  emitted,
  failedTask,
  finished,
  graphOf,
  started,
  status,
  statusOf,
  taskOf,
} from '../testing/tasks.ts'

/** A task and a workspace that has completed it: W, T and its final checkpoint K. */
async function completedWork(f: Fixture): Promise<{ readonly task: TaskId; readonly checkpoint: string }> {
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  const checkpoint = (await taskOf(f, id('T'))).checkpoint_ref!
  f.name(checkpoint, 'K')
  await f.mark()
  return { task: id('T'), checkpoint }
}

const integrate = (signal: string, source: string): Row =>
  emitted(signal, 'R', 'integrate', 'system', { ref: source })

const denied = (caller: string, actor: string, target: string): Row => [
  'capability_denied',
  caller,
  actor,
  {
    user_id: null,
    capability: 'operation:integrate',
    action: 'integrate',
    target,
    reason: 'permission_denied',
  },
]

/** A revise, reject or merge error, from where the integration is open. */
function ended(source: string, signal: string, reason: string, task: readonly Row[]): readonly Row[] {
  return [
    aborted(source, reason),
    emitted(signal, source, 'failed', 'system', { reason }),
    decided(source, 'integrating', 'failed', reason),
    ...task,
    delivered(signal, source, 'R'),
  ]
}

const failedWork = (reason: string): readonly Row[] => [
  status('T', 'completed', 'failed', 'W'),
  failedTask('T', 'W', 1, reason),
]

test('WP-010 completed work is merged by the parent, its workspace closes and its task is integrated', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { T: {} })
  const worker = await bound(f, 'W', id('T'))
  unwrap(await worker.started())
  const { checkpoint } = unwrap(await f.final('W'))
  f.name(checkpoint, 'K')
  await f.mark()
  unwrap(await worker.complete())
  await f.expectAdded([
    emitted('sig1', 'W', 'complete', 'worker'),
    changed('W', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    status('T', 'in_progress', 'completed', 'W'),
    ['task_completed', 'R', 'protocol', { task_id: 'T', workspace_id: 'W', checkpoint_id: 'K' }],
    delivered('sig1', 'W', 'R'),
  ])
  unwrap(await f.root.accept(worker.workspace))
  await f.expectAdded([
    integrate('sig2', 'W'),
    started('W', 'K'),
    completed('W'),
    decided('W', 'integrating', 'closed', 'integration_succeeded'),
    status('T', 'completed', 'integrated', 'W'),
  ])
  expect(await taskOf(f, id('T'))).toMatchObject({
    status: 'integrated',
    workspace_ref: null,
    workspace_history: [worker.workspace],
    checkpoint_ref: checkpoint,
  })
  expect(unwrap(await f.root.look()).merges).toEqual([
    { source: worker.workspace, checkpoint, strategy: 'direct' },
  ])
})

test('WP-020 work that must be revised fails for good, and the task goes on in a new workspace', async () => {
  const f = await fixture()
  const { task } = await completedWork(f)
  unwrap(await f.root.revise(f.id('W')))
  await f.expectAdded([
    integrate('sig1', 'W'),
    started('W', 'K'),
    ...ended('W', 'sig2', 'revision_required', failedWork('revision_required')),
  ])
  unwrap(await f.root.retryTask(task))
  await f.workspace('W2', { task })
  await f.expectAmong([
    status('T', 'failed', 'pending', null, 'system'),
    ['workspace_created', 'W2', 'system', { task_ref: 'T' }],
    ['task_assigned', 'R', 'system', { task_id: 'T', workspace_id: 'W2', attempt_number: 2 }],
    status('T', 'pending', 'assigned', 'W2', 'system'),
  ])
  await f.mark()
  const again = [
    f.root.resume(f.id('W')),
    f.root.accept(f.id('W')),
    f.root.revise(f.id('W')),
    f.root.beginIntegration(f.id('W')),
  ]
  expect((await Promise.all(again)).map(refused)).toEqual(again.map(() => 'invalid_state'))
  await f.expectAdded([])
  expect([await f.state('W'), await statusOf(f, task)]).toEqual(['failed', 'assigned'])
})

test('WP-054 the newest final checkpoint is the deliverable, whatever its confidence and whatever follows it', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { T1: {}, T2: {} })
  const one = await bound(f, 'W1', id('T1'))
  const two = await bound(f, 'W2', id('T2'))
  const final = unwrap(await f.checkpoint('W1', { status: 'final', confidence: 'low' }))
  f.name(final.checkpoint, 'K1')
  unwrap(await f.checkpoint('W1', { confidence: 'high' }))
  unwrap(await f.checkpoint('W2'))
  await f.mark()
  unwrap(await one.complete())
  unwrap(await two.complete())
  await f.expectAdded([
    emitted('sig1', 'W1', 'complete', 'worker'),
    changed('W1', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    status('T1', 'assigned', 'in_progress', 'W1'),
    status('T1', 'in_progress', 'completed', 'W1'),
    ['task_completed', 'R', 'protocol', { task_id: 'T1', workspace_id: 'W1', checkpoint_id: 'K1' }],
    delivered('sig1', 'W1', 'R'),
    emitted('sig2', 'W2', 'complete', 'worker'),
    changed('W2', 'active', 'integrating', 'agent_complete', 'protocol', 'worker'),
    status('T2', 'assigned', 'in_progress', 'W2'),
    delivered('sig2', 'W2', 'R'),
  ])

  expect(refused(await f.root.beginIntegration(f.id('W2')))).toBe('invalid_state(no_final_checkpoint)')
  expect(refused(await f.root.accept(f.id('W2')))).toBe('invalid_state(no_final_checkpoint)')
  await f.expectAdded([])
  expect([await f.state('W2'), await statusOf(f, id('T2'))]).toEqual(['integrating', 'in_progress'])

  unwrap(await f.root.accept(f.id('W1')))
  await f.expectAdded([
    integrate('sig3', 'W1'),
    started('W1', 'K1'),
    completed('W1'),
    decided('W1', 'integrating', 'closed', 'integration_succeeded'),
    status('T1', 'completed', 'integrated', 'W1'),
  ])
  expect((await taskOf(f, id('T1'))).checkpoint_ref).toBe(final.checkpoint)
})

test('WM-081 the coordinator reads a review, begins, accepts; the workspace itself cannot integrate', async () => {
  const f = await fixture({ run: { taxonomy: referenceTaxonomy } })
  const { checkpoint } = await completedWork(f)
  await f.worker('V', { role: 'reviewer', visibility: [f.id('W')] })
  expect(unwrap(await f.agent('V').readCheckpoint(checkpoint as never)).status).toBe('final')
  const review = unwrap(await f.checkpoint('V', { type: 'review', status: 'final', confidence: 'high' }))
  expect(unwrap(await f.root.readCheckpoint(review.checkpoint)).confidence).toBe('high')
  await f.mark()

  expect(refused(await f.agent('W').beginIntegration(f.id('W')))).toBe('permission_denied')
  expect(refused(await f.agent('W').accept(f.id('W')))).toBe('permission_denied')
  expect(refused(await f.agent('V').failIntegration(f.id('W')))).toBe('permission_denied')
  await f.expectAdded([denied('W', 'worker', 'W'), denied('W', 'worker', 'W'), denied('V', 'reviewer', 'W')])

  unwrap(await f.root.beginIntegration(f.id('W'), 'direct'))
  await f.expectAdded([integrate('sig1', 'W'), started('W', 'K')])
  expect(unwrap(await f.root.look(f.id('W')))).toMatchObject({
    status: 'integrating',
    integration: { target: f.root.workspace, checkpoint_ref: checkpoint },
  })
  unwrap(await f.root.accept(f.id('W')))
  await f.expectAdded([
    completed('W'),
    decided('W', 'integrating', 'closed', 'integration_succeeded'),
    status('T', 'completed', 'integrated', 'W'),
  ])
})

test('WM-082 revise and reject fail what they judge, and work without a final checkpoint cannot be begun', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { A: {}, B: {}, C: {} })
  for (const [workspace, task] of [
    ['W1', 'A'],
    ['W2', 'B'],
  ] as const)
    await finished(f, workspace, id(task))
  const third = await bound(f, 'W3', id('C'))
  unwrap(await third.complete())
  await f.mark()
  unwrap(await f.root.beginIntegration(f.id('W1')))
  unwrap(await f.root.revise(f.id('W1')))
  unwrap(await f.root.beginIntegration(f.id('W2')))
  unwrap(await f.root.reject(f.id('W2')))
  await f.expectAdded([
    integrate('sig1', 'W1'),
    started('W1', 'cp1'),
    ...ended('W1', 'sig2', 'revision_required', [
      status('A', 'completed', 'failed', 'W1'),
      failedTask('A', 'W1', 1, 'revision_required'),
    ]),
    integrate('sig3', 'W2'),
    started('W2', 'cp2'),
    ...ended('W2', 'sig4', 'rejected', [
      status('B', 'completed', 'failed', 'W2'),
      failedTask('B', 'W2', 1, 'rejected'),
    ]),
  ])
  expect(refused(await f.root.beginIntegration(f.id('W3')))).toBe('invalid_state(no_final_checkpoint)')
  await f.expectAdded([])
  expect(await f.state('W3')).toBe('integrating')
  // Nothing leads back, neither for an operation nor for the agent.
  expect(Object.keys(TRANSITIONS.integrating)).toEqual(['closed', 'conflicted', 'failed'])
  expect(unwrap(await third.started()).outcome).toBe('absorbed')
  expect(refused(await f.root.resume(f.id('W3')))).toBe('invalid_state')
  expect(await f.state('W3')).toBe('integrating')
})

test.each([
  ['revise', 'revision_required'],
  ['reject', 'rejected'],
] as const)(
  'W-INT-02 %s without begin and without a final checkpoint opens and ends the integration in one go',
  async (decision, reason) => {
    const f = await fixture()
    const { id } = await graphOf(f, { T: {} })
    const worker = await bound(f, 'W', id('T'))
    unwrap(await worker.complete())
    await f.mark()
    unwrap(await f.root[decision](worker.workspace))
    await f.expectAdded([
      integrate('sig1', 'W'),
      started('W', null),
      ...ended('W', 'sig2', reason, [
        status('T', 'in_progress', 'failed', 'W'),
        failedTask('T', 'W', 1, reason),
      ]),
    ])
  },
)

test('W-INT-15 a merge that cannot be made fails the workspace with integration_error', async () => {
  const f = await fixture()
  await completedWork(f)
  expect(refused(await f.root.failIntegration(f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  unwrap(await f.root.failIntegration(f.id('W')))
  await f.expectAdded([...ended('W', 'sig1', 'integration_error', failedWork('integration_error'))])
  expect(unwrap(await f.root.look()).merges).toEqual([])
})

test('W-INT-02 an integration is begun once', async () => {
  const f = await fixture()
  await completedWork(f)
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  expect(refused(await f.root.beginIntegration(f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await f.root.accept(f.id('W')))
  expect(refused(await f.root.accept(f.id('W')))).toBe('invalid_state')
})

test('W-SIG-05 an integrate signal of the coordinator begins the integration that it names', async () => {
  const f = await fixture()
  await completedWork(f)
  unwrap(await f.root.emit({ type: 'integrate', ref: f.id('W') }))
  await f.expectAdded([integrate('sig1', 'W'), started('W', 'K')])
})

test('W-INT-01 a workspace is integrated by its own parent and nobody else, and only while it is integrating', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.workspace('C', { directive: { format: 'markdown', content: 'part' } }, delegate)
  await f.worker('W')
  await f.settle()
  unwrap(await f.final('C'))
  await f.mark()
  expect(refused(await delegate.accept(child.workspace))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await child.complete())
  // A grandchild: created by the root below a delegate of the delegate.
  await f.workspace('D2', { delegate: true, parent: f.id('D') })
  unwrap(await delegate.directive(f.id('D2'), { format: 'markdown', content: 'part' }))
  await f.settle()
  await f.workspace('G', {}, f.agent('D2'))
  await f.mark()
  expect(refused(await delegate.accept(f.id('G')))).toBe('permission_denied')
  expect(refused(await f.root.accept(child.workspace))).toBe('permission_denied')
  expect(refused(await f.agent('W').revise(child.workspace))).toBe('permission_denied')
  expect(refused(await delegate.accept(f.id('W')))).toBe('permission_denied')
  expect(refused(await f.root.accept(f.root.workspace))).toBe('invalid_state')
  expect(refused(await f.root.accept('ws_unknown' as WorkspaceId))).toBe('not_found')
  await f.expectAdded([
    denied('D', 'worker', 'G'),
    denied('R', 'system', 'C'),
    denied('W', 'worker', 'C'),
    denied('D', 'worker', 'W'),
  ])

  unwrap(await delegate.accept(child.workspace))
  await f.expectAdded([
    emitted('sig1', 'D', 'integrate', 'worker', { ref: 'C' }),
    started('C', 'cp1', 'D', 'worker'),
    delivered('sig1', 'D', 'R'),
    completed('C', 'D', 'worker'),
    changed('C', 'integrating', 'closed', 'integration_succeeded', 'worker', 'worker'),
  ])
})

test('W-INT-06 an observation is accepted as an empty merge that closes the observer', async () => {
  const f = await fixture()
  await f.observer('O')
  const { checkpoint } = unwrap(await f.final('O', []))
  f.name(checkpoint, 'K')
  unwrap(await f.agent('O').complete())
  await f.mark()
  unwrap(await f.root.accept(f.id('O')))
  await f.expectAdded([
    integrate('sig1', 'O'),
    started('O', 'K'),
    completed('O'),
    decided('O', 'integrating', 'closed', 'integration_succeeded'),
  ])
  expect(await f.state('O')).toBe('closed')
})

test.each([
  ['a strategy that nobody knows', 'blind', 'invalid_argument(invalid_strategy)'],
  ['no text at all', 1 as never, 'invalid_argument(invalid_strategy)'],
])('W-INT-06 %s is refused without an entry', async (_what, strategy, answer) => {
  const f = await fixture()
  await completedWork(f)
  expect(refused(await f.root.beginIntegration(f.id('W'), strategy))).toBe(answer)
  expect(refused(await f.root.accept(f.id('W'), strategy))).toBe(answer)
  expect(refused(await f.root.decideIntegration(f.id('W'), 'maybe' as never))).toBe(
    'invalid_argument(invalid_decision)',
  )
  await f.expectAdded([])
  expect(await f.state('W')).toBe('integrating')
})
