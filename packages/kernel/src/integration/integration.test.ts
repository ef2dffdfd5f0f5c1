// Integration: its normal course (W-INT-01, -02), what ends it from outside (W-INT-15), and who judges in place of a
// delegate that cannot.
import { type TaskId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import { completedOn, overlap } from '../testing/conflicts.ts'
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
  taskOf,
} from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

/** A task and a workspace that has completed it: W, T and its final checkpoint K. */
async function completedWork(f: Fixture): Promise<{ readonly task: TaskId; readonly checkpoint: string }> {
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  const checkpoint = (await taskOf(f, id('T'))).checkpoint_ref!
  f.name(checkpoint, 'K')
  await f.mark()
  return { task: id('T'), checkpoint }
}

const integrate = (signal: string, source: string): Row => emitted(signal, 'R', 'integrate', 'system', { ref: source })

const denied = (by: string, actor: string, target: string): Row =>
  denial(by, actor, 'operation:integrate', 'permission_denied', target)

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
      ...ended('W', 'sig2', reason, [status('T', 'in_progress', 'failed', 'W'), failedTask('T', 'W', 1, reason)]),
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

test('W-INT-02 W-SIG-05 an integration is begun once, by a signal of the coordinator as well', async () => {
  const f = await fixture()
  await completedWork(f)
  unwrap(await f.root.emit({ type: 'integrate', ref: f.id('W') }))
  await f.expectAdded([integrate('sig1', 'W'), started('W', 'K')])
  expect(refused(await f.root.beginIntegration(f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await f.root.accept(f.id('W')))
  expect(refused(await f.root.accept(f.id('W')))).toBe('invalid_state')
})

test('W-INT-01 a workspace is integrated by its own parent and nobody else, and only while it is integrating', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.worker('C', {}, delegate)
  await f.worker('W')
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

test('W-INT-02 an abort ends an open integration before the workspace fails', async () => {
  const f = await fixture()
  await completedWork(f)
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  const reason = 'aborted_by_coordinator'
  unwrap(await f.root.abort(f.id('W')))
  await f.expectAdded([
    aborted('W', reason),
    emitted('sig1', 'W', 'failed', 'system', { reason }),
    decided('W', 'integrating', 'failed', reason),
    ...failedWork(reason),
    delivered('sig1', 'W', 'R'),
  ])
  expect(unwrap(await f.root.look(f.id('W'))).integration).toBeNull()
  // The lock went with it.
  await f.worker('W2')
  await f.bring('W2', 'closed')
})

test.each(['integrating', 'conflicted'])(
  'W-INT-02 a cascade ends the integrations that are open below, each before its workspace fails: %s',
  async state => {
    const f = await fixture()
    const delegate = await f.worker('D', { delegate: true })
    await completedOn(f, { C: ['c'] }, delegate)
    unwrap(await delegate.beginIntegration(f.id('C'), 'evaluated'))
    if (state === 'conflicted') unwrap(await delegate.reportConflicts(f.id('C'), [overlap]))
    await f.mark()
    const reason = 'aborted_by_coordinator'
    unwrap(await f.root.abort(f.id('D')))
    await f.expectAdded([
      emitted('sig1', 'D', 'failed', 'system', { reason }),
      decided('D', 'active', 'failed', reason),
      aborted('C', 'parent_failed', 'protocol', 'D'),
      changed('C', state, 'failed', 'parent_failed', 'protocol', 'protocol'),
      delivered('sig1', 'D', 'R'),
    ])
  },
)

test('W-INT-15 every integration that was started has one end, whatever ended it', async () => {
  const f = await fixture()
  const ends: Record<string, () => Promise<unknown>> = {
    accepted: () => f.root.accept(f.id('accepted')),
    revised: () => f.root.revise(f.id('revised')),
    rejected: () => f.root.reject(f.id('rejected')),
    erred: async () => {
      unwrap(await f.root.beginIntegration(f.id('erred')))
      return f.root.failIntegration(f.id('erred'))
    },
    aborted: async () => {
      unwrap(await f.root.beginIntegration(f.id('aborted')))
      return f.root.abort(f.id('aborted'))
    },
    stopped: async () => {
      unwrap(await f.root.beginIntegration(f.id('stopped')))
      return f.run.stop()
    },
  }
  for (const name of Object.keys(ends)) {
    await f.worker(name)
    await f.bring(name, 'integrating')
  }
  for (const end of Object.values(ends)) await end()
  const entries = await f.run.entries()
  const of = (type: RegExp) =>
    entries.filter(entry => type.test(entry.event_type)).map(entry => f.nameOf(entry.workspace!))
  const all = Object.keys(ends)
  expect(of(/^integration_started$/)).toEqual(all)
  expect(of(/^integration_(completed|aborted)$/)).toEqual(all)
})

/** D, a delegate that has completed while its child C waits to be judged. */
async function waitingBelow(): Promise<Fixture> {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await completedOn(f, { C: ['c'] }, delegate)
  await f.bring('D', 'integrating')
  await f.mark()
  return f
}

test('W-INT-01 nothing is merged into work that is handed in, and nobody else judges it', async () => {
  const f = await waitingBelow()
  await f.worker('E', { delegate: true })
  await f.mark()
  for (const attempt of [
    () => f.root.accept(f.id('C')),
    () => f.root.beginIntegration(f.id('C')),
    () => f.root.failIntegration(f.id('C')),
  ]) {
    expect(refused(await attempt())).toBe('permission_denied')
    await f.expectAdded([denied('R', 'system', 'C')])
  }
  for (const name of ['C', 'E']) {
    expect(refused(await f.agent(name).reject(f.id('C'))), name).toBe('permission_denied')
    await f.expectAdded([denied(name, 'worker', 'C')])
  }
  // One that has completed does nothing more, and that it tried is on record.
  expect(refused(await f.agent('D').reject(f.id('C')))).toBe('invalid_state(permission_denied)')
  await f.expectAdded([denied('D', 'worker', 'C')])
  expect(await f.state('C')).toBe('integrating')
})

test('W-INT-01 an integration that the delegate had begun ends with the judgement', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await completedOn(f, { C: ['c'] }, delegate)
  unwrap(await delegate.beginIntegration(f.id('C')))
  unwrap(await delegate.complete())
  await f.mark()
  unwrap(await f.root.reject(f.id('C')))
  await f.expectAmong([
    ['integration_aborted', 'C', 'system', { source: 'C', target: 'D', reason: 'rejected' }],
    ['workspace_state_changed', 'C', 'system', { to_state: 'failed', trigger: 'rejected' }],
  ])
})
