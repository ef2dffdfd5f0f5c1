// One writer per workspace, precedence, and timestamps (W-CONC-01, -02, -03, -05).
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

/**
 * Starts a command and waits until it is on its way to disk, where it stays while the test goes on without giving up
 * its turn.
 */
async function onItsWay<T>(command: Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  let answered = false
  const watched = command.finally(() => {
    answered = true
  })
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(answered, 'the trail is slow').toBe(false)
  return { answer: watched }
}

test('W-CONC-03 the classes are abort, then failures of the runtime, then the rest; inside one the first comes first', async () => {
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
