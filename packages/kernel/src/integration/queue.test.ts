import { type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelDefaults } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { completed, decided, emitted, started } from '../testing/tasks.ts'

/** Workers with something to integrate; their checkpoints are K<name>. */
async function ready(f: Fixture, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await f.worker(name)
    f.name(unwrap(await f.final(name, [`${name}.txt`])).checkpoint, `K${name}`)
    unwrap(await f.agent(name).complete())
  }
  await f.mark()
}

/** A command whose answer can be looked at before it has come. */
function asked(answer: Promise<Result<unknown>>): {
  readonly answer: Promise<Result<unknown>>
  state: string
} {
  const watched = { answer, state: 'waiting' }
  void answer.then(result => {
    watched.state = refused(result)
  })
  return watched
}

const begun = (signal: string, source: string): readonly Row[] => [
  emitted(signal, 'R', 'integrate', 'system', { ref: source }),
  started(source, `K${source}`),
]

const closed = (source: string): readonly Row[] => [
  completed(source),
  decided(source, 'integrating', 'closed', 'integration_succeeded'),
]

async function merged(f: Fixture): Promise<readonly string[]> {
  return unwrap(await f.root.look()).merges.map(({ source }) => f.nameOf(source))
}

test('W-INT-08 integrations that wait go on in the order in which they were asked for, before any that is asked later', async () => {
  const f = await fixture()
  await ready(f, ['A', 'B', 'C', 'D'])
  unwrap(await f.root.beginIntegration(f.id('A')))
  const b = asked(f.root.accept(f.id('B')))
  await f.settle()
  const c = asked(f.root.accept(f.id('C')))
  await f.settle()
  await f.mark()
  // D is asked for together with the end of A: the lock is free at that moment, and B has waited longer.
  const answers = await Promise.all([f.root.accept(f.id('A')), f.root.accept(f.id('D')), b.answer, c.answer])
  expect(answers.map(refused)).toEqual(['ok', 'ok', 'ok', 'ok'])
  await f.expectAdded([
    ...closed('A'),
    ...['B', 'C', 'D'].flatMap((name, at) => [...begun(`sig${at + 1}`, name), ...closed(name)]),
  ])
  expect(await merged(f)).toEqual(['A', 'B', 'C', 'D'])
})

test('W-INT-08 a judgement waits for the lock as well, and targets do not wait for each other', async () => {
  const f = await fixture()
  await ready(f, ['A', 'B'])
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.workspace('C', { directive: { format: 'markdown', content: 'part' } }, delegate)
  await f.settle()
  f.name(unwrap(await f.final('C')).checkpoint, 'KC')
  unwrap(await child.complete())
  unwrap(await f.root.beginIntegration(f.id('A')))
  const judged = asked(f.root.reject(f.id('B')))
  unwrap(await delegate.accept(child.workspace))
  await f.settle()
  expect(judged.state).toBe('waiting')
  expect([await f.state('B'), await f.state('C')]).toEqual(['integrating', 'closed'])
  unwrap(await f.root.failIntegration(f.id('A')))
  unwrap(await judged.answer)
  expect([await f.state('A'), await f.state('B')]).toEqual(['failed', 'failed'])
})

test('W-INT-08 an integration that waited learns that its source is gone', async () => {
  const f = await fixture()
  await ready(f, ['A', 'B'])
  unwrap(await f.root.beginIntegration(f.id('A')))
  const waiting = asked(f.root.beginIntegration(f.id('B')))
  unwrap(await f.root.abort(f.id('B')))
  await f.settle()
  await f.mark()
  unwrap(await f.root.accept(f.id('A')))
  expect(refused(await waiting.answer)).toBe('invalid_state')
  await f.expectAdded([...closed('A')])
})

test('W-INT-08 an integration does not wait for one that never became durable', async () => {
  const f = await fixture()
  await ready(f, ['A', 'B'])
  f.disks.trail.fail('write', { times: 1_000_000 })
  const first = f.root.beginIntegration(f.id('A'))
  const second = asked(f.root.beginIntegration(f.id('B')))
  expect(refused(await first)).toBe('trail_unavailable')
  f.disks.trail.mend()
  await f.advance(kernelDefaults.degradedRetry)
  unwrap(await second.answer)
  await f.expectAdded([...begun('sig1', 'B')])
  expect(unwrap(await f.root.look(f.id('A'))).integration).toBeNull()
})

test.each(['stop', 'fail'] as const)(
  'W-LIFE-13 an integration that waits when the run ends (%s) is refused as too late',
  async end => {
    const f = await fixture()
    await ready(f, ['A', 'B'])
    unwrap(await f.root.beginIntegration(f.id('A')))
    const waiting = asked(f.root.beginIntegration(f.id('B')))
    await f.settle()
    expect(waiting.state).toBe('waiting')
    if (end === 'stop') unwrap(await f.run.stop())
    else unwrap(await f.root.failed('no'))
    expect(refused(await waiting.answer)).toBe('invalid_state')
    const entries = (await f.run.entries()).map(entry => [entry.event_type, entry.workspace])
    expect(entries.at(-1)).toEqual(['workspace_state_changed', f.root.workspace])
  },
)

test('W-LIFE-13 an integration that is asked for while the last entry is on its way to disk is too late', async () => {
  const f = await fixture()
  await ready(f, ['A'])
  const stopped = f.run.stop()
  // The stop is decided in the next microtask; the disk takes longer.
  await Promise.resolve()
  await Promise.resolve()
  const late = f.root.accept(f.id('A'))
  unwrap(await stopped)
  expect(refused(await late)).toBe('invalid_state')
  expect((await f.added()).map(entry => entry.event_type)).not.toContain('integration_started')
})

test('W-INT-08 the lock is held across a restart', async () => {
  const f = await fixture()
  await ready(f, ['A', 'B'])
  unwrap(await f.root.beginIntegration(f.id('A')))
  await f.restart()
  await f.mark()
  const waiting = asked(f.root.accept(f.id('B')))
  await f.settle()
  expect(waiting.state).toBe('waiting')
  unwrap(await f.root.accept(f.id('A')))
  unwrap(await waiting.answer)
  await f.expectAdded([...closed('A'), ...begun('sig1', 'B'), ...closed('B')])
})
