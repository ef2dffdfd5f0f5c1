import { type TaskId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
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
