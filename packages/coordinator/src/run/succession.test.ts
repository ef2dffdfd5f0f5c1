// Work that changes hands: a person gives it to another agent, a fallback takes over, a node dies in the middle; and
// work that is asked to finish.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentFunction } from '@parley/agents'
import { ParleyError, type TurnInput, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, put, refusal, writes } from '../testing/fixture.ts'
import { outageOf } from '../turn/outage.ts'

const text = (input: TurnInput) => input.context.map(each => `${each.title}\n${each.text}`).join('\n')

/** Never ends by itself. */
function ended({ signal }: TurnInput): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

const TEAM = `version: 1
name: movers
approval: none
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
  other: { command: [scripted, other] }
plan:
  - { id: a, agent: one, prompt: Do it., attempts: 1 }
  - { id: z, agent: other, prompt: Look., needs: [a] }
`

/** The first agent keeps something, leaves something else behind it, and never ends. */
function keeper(
  fixture: () => Fixture,
  kept: PromiseWithResolvers<string>,
  gone: () => void = () => undefined,
): AgentFunction {
  return async input => {
    input.signal.addEventListener('abort', gone)
    put(input.folder!, 'kept', 'by one\n')
    const token = input.token!
    unwrap(await unwrap(fixture().coordinator.verbs(token)).checkpoint('half of it'))
    put(input.folder!, 'stray', 'not kept\n')
    kept.resolve(token)
    return ended(input)
  }
}

test('W-MIG-05 work moves to another agent from its last checkpoint, and the old one has no say any more', async () => {
  const kept = Promise.withResolvers<string>()
  const heard: TurnInput[] = []
  const acts: string[] = []
  const fixture = await Fixture.open({
    one: keeper(
      () => fixture,
      kept,
      () => acts.push('one is gone'),
    ),
    two: input => {
      acts.push('two begins')
      heard.push(input)
      expect(readFileSync(join(input.folder!, 'kept'), 'utf8')).toBe('by one\n')
      expect(existsSync(join(input.folder!, 'stray'))).toBe(false)
      put(input.folder!, 'more', 'by two\n')
      return 'all of it'
    },
    other: () => 'seen',
  })
  const run = await fixture.solve(TEAM)
  const token = await kept.promise
  const move = { principal: alice, task: 'a', to: 'two', reason: 'Too slow' }
  const moved = unwrap(await fixture.coordinator.migrations.migrate(run, move))
  expect(moved).toMatchObject({ from: 'one#1', to: 'two#1' })
  expect(fixture.coordinator.verbs(token)).toMatchObject(refusal('permission_denied'))
  const view = await fixture.over(run)
  const moves = [{ from: 'one#1', to: 'two#1', reason: 'alice: Too slow', outcome: 'completed' }]
  const task = { agent: 'two', attempt: 1, steps: [{ agent: 'two#1', moves }] }
  expect(view).toMatchObject({ state: 'done', tasks: [task, {}] })
  expect(fixture.result(view, 'kept')).toBe('by one\n')
  expect(fixture.result(view, 'more')).toBe('by two\n')
  expect(fixture.result(view, 'stray')).toBeUndefined()
  expect(acts).toEqual(['one is gone', 'two begins'])
  expect(heard[0]!.agent).toBe('two#1')
  expect(heard[0]!.epoch).toBe(2)
  expect(text(heard[0]!)).toContain('one#1 was followed by two#1: alice: Too slow')
  expect(text(heard[0]!)).toContain('- Kept (kept): half of it')
  const body = { new_agent: 'two#1' }
  const rows = await fixture.entries(run, 'migration_started', 'migration_completed', 'migration_failed')
  expect(rows).toMatchObject([
    { event_type: 'migration_started', actor: 'system', body },
    { event_type: 'migration_completed', actor: 'protocol', body },
  ])
})

test('what cannot be moved is refused by name, and nothing changes', async () => {
  const kept = Promise.withResolvers<string>()
  const fixture = await Fixture.open({ one: keeper(() => fixture, kept) })
  const run = await fixture.solve(TEAM)
  await kept.promise
  const move = (task: string, to: string, principal = alice) =>
    fixture.coordinator.migrations.migrate(run, { principal, task, to, reason: 'x' })
  const meant = { code: 'unknown_agent', message: expect.stringContaining("Did you mean 'two'?") }
  expect(await move('a', 'tow')).toMatchObject({ error: meant })
  expect(await move('a', 'one')).toMatchObject(refusal('invalid_argument'))
  expect(await move('b', 'two')).toMatchObject(refusal('not_found'))
  expect(await move('z', 'two')).toMatchObject(refusal('invalid_state'))
  const stranger = { id: 'eve', kind: 'user', scopes: [] } as const
  expect(await move('a', 'two', stranger)).toMatchObject(refusal('permission_denied'))
  expect(await fixture.entries(run, 'migration_started')).toEqual([])
  expect(await fixture.coordinator.views.view(run)).toMatchObject({ value: { tasks: [{ state: 'working' }, {}] } })
})

test('a fallback takes over from an agent whose program is missing, and the next attempt begins with it', async () => {
  let tries = 0
  const fixture = await Fixture.open({
    two: input => {
      tries++
      put(input.folder!, 'made', String(tries))
      return 'done'
    },
  })
  const view = await fixture.finished(`version: 1
name: fallen
approval: none
agents:
  one: { command: [parley-no-such-program] }
  gone: { command: [parley-none-either] }
  two: { command: [scripted, two] }
plan:
  - { id: a, agent: one, fallback: [gone, two], prompt: Do it., check: [grep, -q, '2', made] }
`)
  expect(view).toMatchObject({ state: 'done', tasks: [{ agent: 'two', attempt: 2 }] })
  const moves = view.tasks[0]!.steps[0]!.moves!
  expect(moves.map(({ from, to }) => [from, to])).toEqual([
    ['one#1', 'gone#1'],
    ['gone#1', 'two#1'],
  ])
  expect(moves[0]!.reason).toContain('one#1 cannot work: it cannot be started.')
  expect(view.tasks[0]!.steps.filter(({ kind }) => kind === 'work')[1]?.moves).toBeUndefined()
})

test('a fallback takes over a review from an agent that cannot work, and the work is not turned down for it', async () => {
  const fixture = await Fixture.open({
    one: writes('made', 'by one'),
    // What it judges comes along as it did for the first.
    two: ({ context }) =>
      context.some(({ text }) => text.includes('by one')) ? 'All there.\nACCEPT' : 'REJECT: nothing to see',
  })
  const reviewed = (review: string) => `version: 1
name: reviewed
approval: none
agents:
  one: { command: [scripted, one] }
  gone: { command: [parley-no-such-program] }
  two: { command: [scripted, two] }
plan: [{ id: a, agent: one, prompt: Do it., attempts: 1, review: ${review} }]
`
  const run = await fixture.solve(reviewed('{ by: gone, fallback: [two] }'))
  const { state, tasks } = await fixture.over(run)
  expect([state, tasks[0]!.agent, tasks[0]!.attempt]).toEqual(['done', 'one', 1])
  const steps = tasks[0]!.steps.map(({ kind, moves = [] }) => [kind, ...moves.map(({ to }) => to)])
  expect(steps).toEqual([['work'], ['review', 'two#1']])
  const body = { reason: expect.stringContaining('gone#1 cannot work') }
  expect(await fixture.entries(run, 'migration_started')).toMatchObject([{ body }])
  // Without one the work is turned down for want of a judgement.
  expect(await fixture.finished(reviewed('{ by: gone }'))).toMatchObject({ state: 'failed' })
})

test('a failure of the work itself is not the agent’s: the fallback is not asked', async () => {
  const failed = (code: string, message: string, details = {}) => outageOf(new ParleyError(code, message, { details }))
  expect(failed('exit_nonzero', 'ended with exit code 1', { exitCode: 1, output: 'The tests fail.' })).toBeUndefined()
  expect(failed('timeout', 'took too long')).toBeUndefined()
  expect(failed('agent_error', 'says that it failed: no such file')).toBeUndefined()
  expect(failed('timeout', 'took too long', { outage: { reason: 'quota', status: 429 } })).toContain('quota')
  expect(failed('aborted', 'The turn was ended', { outage: { reason: 'account' } })).toBeUndefined()
  expect(failed('exit_nonzero', 'was ended by SIGSEGV', { exitCode: null, output: '' })).toContain('broke off')
  expect(failed('not_executable', 'x')).toContain('started')
  const fixture = await Fixture.open({
    one: () => {
      throw new Error('the work is wrong')
    },
    two: () => 'never',
  })
  const view = await fixture.finished(`version: 1
name: own-fault
approval: none
agents:
  one: { command: [scripted, one] }
  two: { command: [scripted, two] }
plan: [{ id: a, agent: one, fallback: two, prompt: Do it., attempts: 1 }]
`)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ agent: 'one' }] })
})

test('work is shown as migrating until the processes of the old agent are gone', async () => {
  const fixture = await Fixture.open({ two: writes('more', 'by two'), other: () => 'seen' })
  const stubborn = `trap '' TERM; echo started; while :; do sleep 0.1; done`
  const run = await fixture.solve(TEAM.replace('[scripted, one]', JSON.stringify(['sh', '-c', stubborn])))
  // Not before it takes no notice of being told to end.
  await fixture.until(run, ({ tasks }) => tasks[0]?.activity === 'started')
  const moving = fixture.coordinator.migrations.migrate(run, { principal: alice, task: 'a', to: 'two', reason: 'x' })
  expect(await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'migrating')).toMatchObject({
    tasks: [{ state: 'migrating', note: 'two#1 takes over from one#1: alice: x' }, {}],
  })
  unwrap(await moving)
  expect(await fixture.over(run)).toMatchObject({ state: 'done', tasks: [{ agent: 'two', attempt: 1 }, {}] })
}, 30_000)

test('W-TERM-03 an agent that is asked to finish reads it in its mail, and what it leaves in time is merged', async () => {
  const reading = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const mail: string[] = []
  const fixture = await Fixture.open({
    one: async input => {
      const door = unwrap(fixture.coordinator.verbs(input.token!))
      reading.resolve()
      await go.promise
      for (const { text: said } of unwrap(await door.inbox())) mail.push(said)
      put(input.folder!, 'part', 'what I have\n')
      return 'As far as I came.'
    },
    other: () => 'seen',
  })
  const run = await fixture.solve(TEAM)
  await reading.promise
  const grace = { principal: alice, reason: 'Lunch', task: 'a', grace: 60_000 }
  unwrap(await fixture.coordinator.interventions.abort(run, grace))
  expect(await fixture.coordinator.interventions.abort(run, grace)).toMatchObject(refusal('invalid_state'))
  const told = unwrap(await fixture.coordinator.views.view(run))
  expect(told.tasks[0]).toMatchObject({ state: 'working', terminating: { reason: 'Lunch' } })
  go.resolve()
  const view = await fixture.over(run)
  expect(mail[0]).toContain('you have 60 s in all')
  expect(view).toMatchObject({ state: 'done', tasks: [{ state: 'done' }, {}] })
  expect(fixture.result(view, 'part')).toBe('what I have\n')
})

test('W-TERM-04 a run that is asked to finish keeps what is done in time and ends the rest', async () => {
  const started = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: input => {
      started.resolve()
      return ended(input)
    },
    other: () => 'never',
    two: writes('two', 'done'),
  })
  const run = await fixture.solve(TEAM.replace('plan:', 'plan:\n  - { id: b, agent: two, prompt: Also. }'))
  await started.promise
  await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'done')
  await fixture.abort(run, { reason: 'Enough', grace: 400 })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'aborted', reason: 'alice ended it: Enough' })
  expect(view.tasks.map(({ id, state }) => [id, state])).toEqual([
    ['b', 'done'],
    ['a', 'failed'],
    ['z', 'cancelled'],
  ])
  expect(fixture.result(view, 'two')).toBe('done\n')
})

/** Its agent reads its mail until there is some, and leaves then what it has. */
async function reading(): Promise<Fixture> {
  const fixture = await Fixture.open({
    one: async ({ token, signal, folder }) => {
      const door = unwrap(fixture.coordinator.verbs(token!))
      for (; !signal.aborted; await new Promise(resolve => setTimeout(resolve, 10))) {
        const [mail] = unwrap(await door.inbox())
        if (!mail) continue
        put(folder!, 'part', 'what I have\n')
        return mail.text
      }
      throw signal.reason
    },
    other: () => 'seen',
  })
  return fixture
}

test('W-TERM-01 near the end of its turn an agent is asked to finish, where the team file says so', async () => {
  const fixture = await reading()
  const run = await fixture.solve(TEAM.replace('attempts: 1', 'attempts: 1, timeout: 40s, grace: 39900ms'))
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ state: 'done' }, { state: 'done' }] })
  expect(fixture.result(view, 'part')).toBe('what I have\n')
  const body = { grace_period: 39_900, reason: expect.stringContaining('may take 40 s') }
  expect(await fixture.entries(run, 'graceful_termination_initiated')).toMatchObject([{ body }])
})

test('W-TERM-04 who does not finish by the end of its turn has used up an attempt, and nobody is asked about it', async () => {
  let turns = 0
  const fixture = await Fixture.open({
    one: async input => {
      if (++turns > 1) return 'done'
      put(input.folder!, 'kept', 'half\n')
      unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).checkpoint('half'))
      return ended(input)
    },
    other: () => 'seen',
  })
  const run = await fixture.solve(TEAM.replace('attempts: 1', 'attempts: 2, timeout: 900ms, grace: 300ms'))
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ state: 'done', attempt: 2 }, { state: 'done' }] })
  expect(turns).toBe(2)
  expect(await fixture.entries(run, 'graceful_termination_expired')).toHaveLength(1)
})

test('W-TERM-01 near the end of its time a run begins nothing new, and what is finished by then is its result', async () => {
  const fixture = await reading()
  const run = await fixture.solve(TEAM.replace('plan:', 'limits: { timeout: 60s, grace: 59500ms }\nplan:'))
  const view = await fixture.over(run)
  expect(view).toMatchObject({
    state: 'failed',
    reason: 'The time of the run was nearly over, and not everything had been begun.',
    tasks: [{ state: 'done' }, { state: 'cancelled' }],
  })
  expect(fixture.result(view, 'part')).toBe('what I have\n')
  expect(await fixture.entries(run, 'graceful_termination_initiated')).toHaveLength(1)
  // From the record alone it is told in the same way.
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run))).toMatchObject({ reason: view.reason })
})

test('W-TERM-04 what a run has not finished when its time is over is ended with it', async () => {
  const fixture = await Fixture.open({ one: ended, other: () => 'never' })
  const run = await fixture.solve(TEAM.replace('plan:', 'limits: { timeout: 900ms, grace: 400ms }\nplan:'))
  const view = await fixture.over(run)
  expect(view.tasks.map(({ state }) => state)).toEqual(['failed', 'cancelled'])
  expect(await fixture.entries(run, 'graceful_termination_initiated')).toHaveLength(1)
})
