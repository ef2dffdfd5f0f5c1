// What is known of runs from the outside: which are abandoned at an opening, what they were started with, what they
// came to.
import {
  type Principal,
  type RunId,
  type RunKey,
  type RunQuery,
  type StoredRun,
  type Ticks,
  unwrap,
} from '@parley/core'
import { Runtime } from '@parley/kernel'
import { openTrail } from '@parley/trail'
import { expect, test } from 'vitest'
import { keyMark } from '../run/run-key.ts'
import { aborted, alice, Fixture, put, refusal } from '../testing/fixture.ts'

const solo = 'version: 1\nname: solo\nagents:\n  one: { command: [scripted, one] }\nlimits: { attempts: 1 }\n'
const peer: Principal = { id: 'alp:SHA256:abc', kind: 'user', scopes: [] }

async function found(fixture: Fixture, query: RunQuery): Promise<readonly RunId[]> {
  return (await fixture.coordinator.records.find(query, () => true)).runs.map(({ run }) => run)
}

const key = (text: string): RunKey => ({ text, reuse: 'always' })

test('a run that its node abandons is ended with the reason, and no turn of it starts; others go on', async () => {
  const turns: string[] = []
  const both = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: input => {
      turns.push(input.prompt)
      if (turns.length > 2) return 'done'
      put(input.folder!, 'half.txt', 'half\n')
      if (turns.length === 2) both.resolve()
      return aborted(input)
    },
  })
  const context = { session: 's', reservation: 'r7' }
  const asked = await fixture.solve(solo, { intent: 'asked', origin: 'alp', principal: peer, context })
  const own = await fixture.solve(solo, { intent: 'own' })
  await both.promise
  const questioned: StoredRun[] = []
  fixture.abandon = stored => {
    questioned.push(stored)
    return stored.origin === 'alp' ? 'Its caller is gone.' : undefined
  }
  await fixture.restart()
  const wanted = [`${asked} alp ${peer.id}`, `${own} test alice`]
  expect(questioned.map(({ run, origin, principal }) => `${run} ${origin} ${principal}`).toSorted()).toEqual(
    wanted.toSorted(),
  )
  expect(questioned.find(({ run }) => run === asked)?.context).toEqual(context)
  expect((await fixture.over(own)).state).toBe('done')
  const ended = { state: 'aborted', reason: 'Its caller is gone.' }
  expect(unwrap(await fixture.coordinator.views.view(asked))).toMatchObject(ended)
  expect(turns.filter(prompt => prompt === 'asked')).toHaveLength(1)
  expect(fixture.leftovers()).toEqual([])
  expect((await fixture.trail.run(asked).verify()).findings).toEqual([])
  const account = unwrap(await fixture.coordinator.records.account(asked))
  expect(account).toMatchObject({
    origin: 'alp',
    context: { reservation: 'r7' },
    usage: {},
    unknownCost: true,
    end: { outcome: 'failed', error: { code: 'abandoned', message: 'Its caller is gone.' } },
  })
  // The name of its agent is free again, and the next opening has nothing to ask.
  questioned.length = 0
  await fixture.restart()
  expect(questioned).toEqual([])
  expect(unwrap(await fixture.coordinator.records.account(asked))).toEqual(account)
})

test('a run that never began its turn has spent nothing, and an abandoned one says so', async () => {
  const fixture = await Fixture.open({ one: () => 'x' })
  const run = await fixture.solve(solo, { origin: 'alp', principal: peer, approved: false })
  await fixture.until(run, ({ gates }) => gates.length > 0)
  fixture.abandon = () => 'Its caller is gone.'
  await fixture.restart()
  const ended = { state: 'aborted', reason: 'Its caller is gone.', gates: [] }
  expect(unwrap(await fixture.coordinator.views.view(run))).toMatchObject(ended)
  expect(unwrap(await fixture.coordinator.records.account(run))).toMatchObject({ usage: {}, unknownCost: false })
})

test('runs of an origin are found with what they stored, the newest first, over restarts and after their end', async () => {
  const fixture = await Fixture.open({
    one: (_, emit) => {
      emit({ type: 'usage', usage: { usd: 0.125, tokensOut: 4 } })
      return 'done'
    },
  })
  const runs: RunId[] = []
  for (const reservation of ['r1', 'r2', 'r3'])
    runs.push(await fixture.solve(solo, { intent: reservation, origin: 'alp', context: { reservation } }))
  const other = await fixture.solve(solo, { intent: 'other' })
  for (const run of [...runs, other]) await fixture.over(run)
  await fixture.restart()
  const { coordinator } = fixture
  expect(await found(fixture, { origin: 'alp' })).toEqual(runs.toReversed())
  expect(await found(fixture, { origin: 'test' })).toEqual([other])
  const { started } = unwrap(await coordinator.records.storedRun(runs[1]!))
  expect(await found(fixture, { origin: 'alp', since: started })).toEqual([runs[2], runs[1]])
  expect(await found(fixture, { origin: 'alp', since: (started + 1e9) as Ticks })).toEqual([])
  const { runs: asks } = await coordinator.records.find({ origin: 'alp' }, () => true)
  for (const { run, context } of asks) {
    if (context.reservation !== 'r2') continue
    expect(unwrap(await coordinator.records.account(run))).toMatchObject({
      usage: { usd: 0.125, tokensOut: 4 },
      unknownCost: false,
      end: { outcome: 'complete', text: 'done' },
    })
  }
  expect(await coordinator.records.storedRun('run_nothing' as RunId)).toMatchObject(refusal('not_found'))
  // The house run is still written to.
  unwrap(await coordinator.users.accept(alice, 'again'))
})

test('what a run at work has used so far is told without an end', async () => {
  const working = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: async (_, emit) => {
      emit({ type: 'usage', usage: { usd: 1 } })
      working.resolve()
      await go.promise
      return 'done'
    },
  })
  const run = await fixture.solve(solo)
  await working.promise
  const account = unwrap(await fixture.coordinator.records.account(run))
  expect(account).toMatchObject({ usage: { usd: 1 }, unknownCost: false })
  expect(account.end).toBeUndefined()
  go.resolve()
  await fixture.over(run)
  expect(unwrap(await fixture.coordinator.records.account(run)).end).toMatchObject({ outcome: 'complete' })
})

test('a run whose start was not recorded whole does not count for its key', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const kept = await fixture.solve(solo, { key: key('k1') })
  await fixture.over(kept)
  await fixture.stop()
  const secret = Buffer.alloc(32, 7)
  const trail = await openTrail(fixture.profile)
  const runtime = await Runtime.open({ trail, users: 'house', secret })
  const id = `run_0000000000${keyMark(secret, 'alice', 'k2')}` as RunId
  const context = { plan: [], project: {}, principal: 'alice', origin: 'test', key: 'k2' }
  unwrap(await unwrap(await runtime.start({ owner: 'alice', context }, id)).stop())
  await runtime.close()
  await trail.close()
  await fixture.start()
  expect(await fixture.coordinator.records.keyed('alice', key('k1'))).toBe(kept)
  expect(await fixture.coordinator.records.keyed('alice', key('k2'))).toBeUndefined()
  expect(await fixture.coordinator.records.keyed('bob', key('k1'))).toBeUndefined()
  const again = await fixture.solve(solo, { key: key('k2') })
  expect(again).not.toBe(id)
  await fixture.over(again)
  expect(await fixture.coordinator.records.keyed('alice', key('k2'))).toBe(again)
})

test('adapters are made for what they are: their run, its origin, and whether they only check', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const run = await fixture.solve(`${solo}plan: [{ id: a, agent: one, prompt: x, check: [sh, -c, 'true'] }]\n`, {
    origin: 'alp',
    environment: { A: 'b' },
  })
  await fixture.over(run)
  expect(fixture.wanted).toMatchObject([
    { run, name: 'one', check: false, origin: 'alp', environment: { A: 'b' }, base: undefined },
    { run, name: 'check:a', check: true, origin: 'alp', agent: { command: ['sh', '-c', 'true'] } },
  ])
})
