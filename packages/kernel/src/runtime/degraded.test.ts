// Appends that fail (W-REC-06 to -09): nothing takes effect, tries are bounded, and what waits goes through in order
// afterwards.
import { type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import { changed, delivered, emitted } from '../testing/tasks.ts'

const FOREVER = { times: Number.POSITIVE_INFINITY }

/** The state of an answer without waiting for it. */
function watch(answer: Promise<Result<unknown>>): { state: string } {
  const watched = { state: 'waiting' }
  void answer.then(result => {
    watched.state = refused(result)
  })
  return watched
}

/** Returns how many waits run on top of the alarm that the run has anyway. */
async function breakTrail(f: Fixture): Promise<() => number> {
  await f.mark()
  f.disks.trail.fail('write', FOREVER)
  const before = f.clock.pending
  return () => f.clock.pending - before
}

/** A store that cannot write takes many turns to find out: waits until something is so. */
async function until(so: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5000 && !so(); turn++) await new Promise(resolve => setImmediate(resolve))
  expect(so()).toBe(true)
}

const work = { format: 'markdown', content: 'work' }
const BLOCKING = changed('W', 'active', 'blocked', 'agent_blocked', 'protocol', 'worker')

test('W-REC-06 a command whose append fails changes nothing and answers trail_unavailable', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.workspace('W2', { directive: work, dispatch: false })
  await breakTrail(f)
  const before = await f.picture()
  f.notices.length = 0
  expect(refused(await worker.blocked('waiting'))).toBe('trail_unavailable')
  f.disks.trail.mend()
  expect(await f.picture()).toEqual(before)
  expect(f.notices).toEqual([])
  await f.expectAdded([])
  await f.restart()
  expect(await f.picture()).toEqual(before)
})

test('W-REC-06 every command of a group that fails is undone, whatever they built on each other', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await breakTrail(f)
  const before = await f.picture()
  const answers = await Promise.all([
    worker.blocked('waiting'),
    worker.started(),
    worker.send(f.mail('R', 'query')),
    worker.writeMemory('key', 1),
    f.root.createWorkspace({ role: 'worker' }),
    f.root.abort(f.id('W')),
  ])
  expect(answers.map(refused)).toEqual(answers.map(() => 'trail_unavailable'))
  f.disks.trail.mend()
  expect(await f.picture()).toEqual(before)
  await f.expectAdded([])
})

test.each([
  ['goes through when the trail is back by the last of them', true],
  ['is refused when the last of them is over, and not before', false],
])('W-REC-07 a failed append is tried again after the configured waits, and %s', async (_end, mended) => {
  const f = await fixture({ commitRetries: [50, 100, 200] })
  const worker = await f.worker('W')
  const waits = await breakTrail(f)
  const answer = watch(worker.blocked('waiting'))
  for (const wait of [50, 100, 200]) {
    await until(() => waits() === 1)
    await f.advance(wait - 1)
    expect([answer.state, waits()]).toEqual(['waiting', 1])
    if (wait === 200 && mended) f.disks.trail.mend()
    await f.advance(1)
  }
  await until(() => answer.state === (mended ? 'ok' : 'trail_unavailable'))
  // From now on a trail that is away is asked once a second whether it is back.
  expect(waits()).toBe(mended ? 0 : 1)
  f.disks.trail.mend()
  await f.expectAdded(
    mended
      ? [emitted('sig1', 'W', 'blocked', 'worker', { reason: 'waiting' }), BLOCKING, delivered('sig1', 'W', 'R')]
      : [],
  )
  expect(await f.state('W')).toBe(mended ? 'blocked' : 'active')
})

test('W-REC-07 the host is told at every attempt why the trail could not be written, and no more once it can', async () => {
  const told: string[] = []
  const f = await fixture({ commitRetries: [50], onUnwritable: ({ code }) => told.push(code) })
  const worker = await f.worker('W')
  expect(told).toEqual([])
  await f.mark()
  f.disks.trail.fail('write', { ...FOREVER, code: 'ENOSPC' })
  const answer = watch(worker.blocked('waiting'))
  await until(() => told.length === 1)
  await f.advance(50)
  await until(() => answer.state === 'trail_unavailable')
  await f.advance(1000)
  await until(() => told.length === 3)
  expect(told).toEqual(['trail_full', 'trail_full', 'trail_full'])
  f.disks.trail.mend()
  await f.advance(1000)
  unwrap(await worker.blocked('second'))
  expect(told).toHaveLength(3)
})

test('W-REC-08 while the trail is away later commands are held in order, aborts first, and go through once it is back', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const other = await f.worker('W2')
  const waits = await breakTrail(f)
  expect(refused(await worker.blocked('first'))).toBe('trail_unavailable')

  const held = [
    watch(worker.blocked('second')),
    watch(worker.started()),
    watch(other.complete()),
    watch(f.root.abort(f.id('W2'))),
  ]
  for (let second = 0; second < 3; second++) {
    await until(() => waits() === 1)
    expect(held.map(({ state }) => state)).toEqual(held.map(() => 'waiting'))
    await f.advance(1000)
  }
  await until(() => waits() === 1)
  f.disks.trail.mend()
  await f.advance(1000)
  await until(() => held.every(({ state }) => state !== 'waiting'))
  expect(held.map(({ state }) => state)).toEqual(held.map(() => 'ok'))

  const added = (await f.added()).map(entry => f.row(entry))
  expect(
    added
      .filter(([type]) => type === 'signal_emitted')
      .map(([, filed, actor, body]) => [filed, actor, body?.type, body?.reason]),
  ).toEqual([
    ['W2', 'system', 'failed', 'aborted_by_coordinator'],
    ['W', 'worker', 'blocked', 'second'],
    ['W', 'worker', 'started', undefined],
    [null, 'worker', 'complete', undefined],
  ])
  expect([await f.state('W'), await f.state('W2')]).toEqual(['active', 'failed'])
  // The run is as good as new: the next failure is again told to its caller.
  f.disks.trail.fail('sync', FOREVER)
  expect(refused(await worker.blocked('third'))).toBe('trail_unavailable')
})

test('W-REC-06 closing a runtime whose trail is away does not wait for it', async () => {
  const f = await fixture({ commitRetries: [50] })
  const worker = await f.worker('W')
  const waits = await breakTrail(f)
  const first = watch(worker.blocked('first'))
  await until(() => waits() === 1)
  await f.runtime.close()
  await f.settle()
  expect(first.state).toBe('trail_unavailable')
  expect(refused(await worker.started())).toBe('trail_unavailable')
  expect(f.clock.pending).toBe(0)
})

test('a command that the trail cannot take is refused alone; what was submitted with it happens exactly once', async () => {
  const f = await withWorker()
  const worker = f.agent('W')
  // More resources than one entry holds: only the trail finds out.
  const resources = Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(4000)}`)
  const answers = await Promise.all([
    worker.blocked('waiting'),
    f.root.createWorkspace({ role: 'worker', resources }),
    worker.started(),
    worker.blocked('again'),
  ])
  expect(answers.map(answer => answer.ok)).toEqual([true, false, true, true])
  const added = (await f.added()).map(entry => f.row(entry))
  expect(added.filter(([type]) => type === 'signal_emitted').map(([, , , body]) => [body?.type, body?.reason])).toEqual(
    [
      ['blocked', 'waiting'],
      ['started', undefined],
      ['blocked', 'again'],
    ],
  )
  expect(added).toHaveLength(9)
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
  const before = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(before)
})

/** The entries since the mark, those about the outage included, by type, workspace and actor. */
async function shape(f: Fixture): Promise<readonly unknown[]> {
  return (await f.addedWithOutages()).map(entry => f.row(entry).slice(0, 3))
}

const BLOCKED = [
  ['signal_emitted', 'W', 'worker'],
  ['workspace_state_changed', 'W', 'protocol'],
  ['signal_delivered', 'R', 'protocol'],
]

test('W-REC-09 of several that ran out all come first', async () => {
  const f = await fixture()
  for (const name of ['A', 'B', 'C']) await f.worker(name, { timeout: 10_000 })
  const other = await f.worker('W')
  await f.worker('X')
  await breakTrail(f)
  expect(refused(await other.blocked('first'))).toBe('trail_unavailable')
  const held = [watch(other.blocked('second')), watch(f.root.abort(f.id('X')))]
  for (let second = 0; second < 12; second++) await f.advance(1000)
  f.disks.trail.mend()
  for (let second = 0; second < 3; second++) await f.advance(1000)
  await until(() => held.every(({ state }) => state === 'ok'))
  const states = (await f.added()).filter(entry => entry.event_type === 'workspace_state_changed')
  expect(states.map(entry => f.nameOf(entry.workspace!))).toEqual(['X', 'A', 'B', 'C', 'W'])
})

test('W-REC-08 a denied read waits for its record, an allowed one does not', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('V')
  await breakTrail(f)
  expect(refused(await worker.blocked('first'))).toBe('trail_unavailable')
  const denied = watch(worker.look(f.id('V')))
  expect(unwrap(await worker.look()).status).toBe('active')
  expect(refused(await worker.readMemory('none'))).toBe('not_found')
  expect(denied.state).toBe('waiting')
  f.disks.trail.mend()
  for (let second = 0; second < 3; second++) await f.advance(1000)
  await until(() => denied.state === 'not_found')
  expect(await shape(f)).toEqual([
    ['system_degraded', null, 'protocol'],
    ['capability_denied', 'W', 'worker'],
  ])
})

test('W-REC-09 a trail that is back is noticed although nobody asks for anything', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const waits = await breakTrail(f)
  expect(refused(await worker.blocked('first'))).toBe('trail_unavailable')
  await until(() => waits() === 1)
  f.disks.trail.mend()
  await f.advance(1000)
  expect(await shape(f)).toEqual([['system_degraded', null, 'protocol']])
  expect(f.notices.map(notice => notice.kind)).toContain('degraded')
  unwrap(await worker.blocked('second'))
  expect(await shape(f)).toEqual(BLOCKED)
  // What was read back is what is live.
  const before = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(before)
})
