// One writer per workspace, precedence, and timestamps (W-CONC-01, -02, -03, -05).
import { unwrap } from '@parley/core'
import type { Entry } from '@parley/trail'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

/** Starts a command and waits until it is on its way to disk, where it stays while the test goes on without giving up its turn. */
async function onItsWay<T>(command: Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  let answered = false
  const watched = command.finally(() => {
    answered = true
  })
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(answered, 'the trail is slow').toBe(false)
  return { answer: watched }
}

const aborted = { reason: 'aborted_by_coordinator' }

test('WP-094 an abort that is enqueued last is processed first; what it overtook is on record without effect', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const slow = await onItsWay(worker.emit({ type: 'started' }))
  const checkpoint = f.agent('W').checkpoint({
    type: 'artifact',
    payload: { content: 'part' },
    intent: 'show',
    status: 'final',
    confidence: 'high',
  })
  const complete = worker.complete()
  const abort = f.root.abort(f.id('W'))

  expect(unwrap(await slow.answer).outcome).toBe('absorbed')
  expect(refused(await abort)).toBe('ok')
  expect(refused(await checkpoint)).toBe('rejected(workspace_not_active)')
  expect(unwrap(await complete).outcome).toBe('absorbed')
  const change = { workspace_id: 'W', from_state: 'active', to_state: 'failed' }
  const cause = { trigger: 'aborted_by_coordinator', initiator: 'coordinator' }
  await f.expectAdded([
    // The command that is being processed is finished first.
    ['signal_emitted', 'W', 'worker', { signal_id: 'sig1', from: 'W', type: 'started' }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
    ['signal_emitted', 'W', 'system', { signal_id: 'sig2', from: 'W', type: 'failed', ...aborted }],
    ['workspace_state_changed', 'W', 'system', { ...change, ...cause, ...aborted }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig2', from: 'W', delivered_to: 'R' }],
    [
      'checkpoint_rejected',
      null,
      'protocol',
      { workspace: 'W', type: 'artifact', reason: 'workspace_not_active' },
    ],
    ['signal_emitted', null, 'worker', { signal_id: 'sig3', from: 'W', type: 'complete' }],
  ])
  expect(unwrap(await f.root.look(f.id('W')))).toMatchObject({ status: 'failed', register: [] })
})

test('WP-094 the classes are abort, then failures of the runtime, then the rest; inside one the first comes first', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.workspace('W3')
  await f.mark()
  const slow = await onItsWay(f.root.emit({ type: 'acknowledged' }))
  const answers = [
    f.agent('W').blocked('waiting'),
    f.root.suspend(f.id('W2'), 'pause'),
    f.run.submit({ type: 'bind_failed', workspace: f.id('W3') }),
    f.root.abort(f.id('W2')),
    f.root.abort(f.id('W')),
    f.agent('W').started(),
  ]
  expect(refused(await slow.answer)).toBe('ok')
  expect((await Promise.all(answers)).map(refused)).toEqual(['ok', 'invalid_state', 'ok', 'ok', 'ok', 'ok'])
  const emitted = (await f.added())
    .filter(entry => entry.event_type === 'signal_emitted')
    .map(entry => f.row(entry))
    .map(([, filed, actor, body]) => [filed, actor, body?.from, body?.type])
  expect(emitted).toEqual([
    ['R', 'system', 'R', 'acknowledged'],
    ['W2', 'system', 'W2', 'failed'],
    ['W', 'system', 'W', 'failed'],
    ['W3', 'protocol', 'W3', 'failed'],
    [null, 'worker', 'W', 'blocked'],
    [null, 'worker', 'W', 'started'],
  ])
})

function stampsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map(({ timestamp }) => timestamp)
}

test('WP-094 a hundred concurrent commands on two workspaces do not interleave, and time never stands still', async () => {
  const f = await fixture()
  const workers = [await f.worker('W'), await f.worker('W2')]
  const other = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await other.coordinator.started())
  await f.mark()
  const answers: Promise<unknown>[] = []
  for (let round = 0; round < 25; round++) {
    for (const worker of workers) {
      answers.push(worker.blocked(`round ${round}`), worker.started())
    }
    answers.push(other.coordinator.emit({ type: 'acknowledged' }))
    // Some are submitted while a group is on its way to disk, the others together.
    if (round % 3 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  const results = (await Promise.all(answers)) as { ok: boolean; value?: { outcome: string } }[]
  expect(results.map(result => result.value?.outcome)).toEqual(
    Array.from({ length: 25 }, () => ['applied', 'applied', 'applied', 'applied', 'recorded']).flat(),
  )

  const added = await f.added()
  expect(added).toHaveLength(300)
  for (const name of ['W', 'W2']) {
    const local = added.filter(entry => entry.workspace === f.id(name)).map(entry => f.row(entry))
    const seen = local.map(([type, , , body]) => [type, body?.type ?? body?.to_state, body?.reason])
    expect(seen).toEqual(
      Array.from({ length: 25 }, (_, round) => [
        ['signal_emitted', 'blocked', `round ${round}`],
        ['workspace_state_changed', 'blocked', undefined],
        ['signal_emitted', 'started', undefined],
        ['workspace_state_changed', 'active', undefined],
      ]).flat(),
    )
    const delivered = added.filter(
      entry =>
        entry.event_type === 'signal_delivered' && (entry.body as { from: string }).from === f.id(name),
    )
    const emitted = added.filter(
      entry => entry.event_type === 'signal_emitted' && entry.workspace === f.id(name),
    )
    const ids = (entries: readonly Entry[]) =>
      entries.map(({ body }) => (body as { signal_id: string }).signal_id)
    expect(ids(delivered)).toEqual(ids(emitted))
  }

  const stamps = stampsOf(await f.run.entries())
  expect(stamps).toEqual([...new Set(stamps)].sort())
  // One clock serves all runs of the runtime: no value is given out twice (W-CLOCK-03).
  const all = [...stamps, ...stampsOf(await other.entries())]
  expect(new Set(all).size).toBe(all.length)
})
