// Ends at awkward moments: nothing hangs, nothing starts afterwards, and everybody hears of it.
import { getEventListeners } from 'node:events'
import { mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentVerbs } from '../contract.ts'
import { aborted, Fixture, hanging, planned, put, refusal, solo, writes } from '../testing/fixture.ts'

const one = solo('one')

test('a run that is ended right after its start ends', async () => {
  const fixture = await Fixture.open({ one: aborted })
  for (let turns = 0; turns < 12; turns++) {
    const run = await fixture.solve(one)
    for (let each = 0; each < turns; each++) await new Promise(resolve => setImmediate(resolve))
    await fixture.abort(run, { reason: 'enough' })
    expect((await fixture.over(run)).state).toBe('aborted')
  }
  expect(fixture.leftovers()).toEqual([])
})

test('no turn is at work after a stop that comes while tasks are being given out', async () => {
  const signals: AbortSignal[] = []
  const fixture = await Fixture.open({
    one: input => {
      signals.push(input.signal)
      return aborted(input)
    },
  })
  const tasks = Array.from({ length: 8 }, (_, index) => `  - { id: t${index}, agent: one, prompt: Work. }`)
  const team = `${one.replace(' }', ', slots: 8 }')}limits: { concurrency: 8 }\nplan:\n${tasks.join('\n')}\n`
  for (const given of [1, 4, 8]) {
    const run = await fixture.solve(team)
    let seen = 0
    for await (const { entries } of fixture.trail.run(run).watch({})) {
      seen += entries.filter(({ event_type }) => event_type === 'task_assigned').length
      if (seen >= given) break
    }
    await fixture.stop()
    expect(signals.filter(({ aborted }) => !aborted)).toEqual([])
    await fixture.start()
    await fixture.abort(run, { reason: 'enough' })
    await fixture.over(run)
  }
  // Whoever was set to work after the stop would have found the trail closed.
  expect(fixture.logged.filter(line => line.startsWith('error'))).toEqual([])
})

test('whoever follows a run hears that the node stops', async () => {
  const fixture = await Fixture.open({ one: aborted })
  const run = await fixture.solve(one, { approved: false })
  await fixture.until(run, ({ gates }) => gates.length > 0)
  const followed = fixture.over(run)
  const heard = expect(followed).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  await new Promise(resolve => setImmediate(resolve))
  await fixture.coordinator.close()
  await heard
})

test('following a run leaves nothing on the signal', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const run = await fixture.solve(one)
  const stop = new AbortController()
  for await (const _view of fixture.coordinator.views.follow(run, stop.signal));
  expect(getEventListeners(stop.signal, 'abort')).toEqual([])
})

test('a run whose project is gone can still be ended', async () => {
  const { script, begun } = hanging()
  const fixture = await Fixture.open({ one: script })
  const run = await fixture.solve(one)
  await begun
  rmSync(fixture.project, { recursive: true })
  await fixture.abort(run, { reason: 'gone' })
  expect((await fixture.over(run)).state).toBe('aborted')
  expect(fixture.logged.join('\n')).toContain('not cleaned up')
})

test('a plan that nobody approves in time is ended by its limit, and says so', async () => {
  const fixture = await Fixture.open({ one: aborted })
  const view = await fixture.finished(`${one}limits: { timeout: 300ms }\n`, { approved: false })
  expect(view).toMatchObject({ state: 'aborted', reason: 'It took longer than its limit.' })
})

test('an agent with one place does not keep another agent from working', async () => {
  const first = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: async () => {
      await first.promise
      return 'one'
    },
    two: () => {
      first.resolve()
      return 'two'
    },
  })
  const view = await fixture.finished(`
version: 1
name: places
limits: { concurrency: 2 }
agents:
  one: { command: [scripted, one], slots: 1 }
  two: { command: [scripted, two] }
plan:
  - { id: a, agent: one, prompt: Work. }
  - { id: b, agent: one, prompt: Work. }
  - { id: c, agent: one, prompt: Work. }
  - { id: d, agent: two, prompt: Work. }
`)
  expect(view.state).toBe('done')
})

test('one name never sits in two workspaces, after a restart neither', async () => {
  const names: string[][] = [[], []]
  let round = 0
  const fixture = await Fixture.open({
    one: input => {
      names[round]!.push(input.agent)
      return aborted(input)
    },
  })
  const team = `${one}plan:\n${['a', 'b'].map(id => `  - { id: ${id}, agent: one, prompt: Work. }`).join('\n')}\n`
  const runs = [await fixture.solve(team), await fixture.solve(team)]
  for (const run of runs) await fixture.until(run, ({ tasks }) => tasks.every(({ state }) => state === 'working'))
  await fixture.stop()
  round = 1
  await fixture.start()
  for (const run of runs) await fixture.until(run, ({ usage }) => usage.turns === 2)
  expect(new Set(names[1]).size).toBe(4)
})

test('after a question the next attempt hears the reviewer, not the question', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    writer: async input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      if (told.length === 1) unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).block('Which?'))
      put(input.folder!, 'a.txt', `${told.length}\n`)
      return 'done'
    },
    reviewer: () => (told.length < 3 ? 'REVISE: it must rhyme' : 'ACCEPT'),
  })
  const run = await fixture.solve(
    planned('{ id: poem, agent: writer, prompt: Write., attempts: 3, review: { by: reviewer } }'),
  )
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.reply(run, { answer: 'envelope', text: 'Blue.' })
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(told[2]).toContain('it must rhyme')
  expect(view.tasks[0]!.steps.map(({ kind, outcome, attempt }) => [kind, outcome, attempt])).toEqual([
    ['work', 'revise', 1],
    ['review', 'revise', 1],
    ['work', 'complete', 2],
    ['review', 'accepted', 2],
  ])
})

test('a door that an agent has kept is shut when its turn is over', async () => {
  let door: AgentVerbs | undefined
  const fixture = await Fixture.open({
    one: input => {
      door = unwrap(fixture.coordinator.verbs(input.token!))
      return 'done'
    },
  })
  await fixture.finished(one)
  for (const late of [door!.block('late'), door!.checkpoint('late'), door!.inbox()])
    expect(await late).toMatchObject(refusal('permission_denied'))
})

test('work that a person ends while it is judged says who ended it and why, not what has passed', async () => {
  const { script, begun } = hanging()
  const fixture = await Fixture.open({ one: writes('made'), critic: script })
  const run = await fixture.solve(
    planned('{ id: a, agent: one, prompt: x, check: [echo, fine], review: { by: critic } }'),
  )
  await begun
  await fixture.abort(run, { reason: 'Not needed' })
  const { tasks } = await fixture.over(run)
  expect(tasks[0]).toMatchObject({ state: 'failed', note: 'alice ended it: Not needed' })
})

test('a run has ended, and its result is known, although its folder cannot be put in order', async () => {
  const fixture = await Fixture.open({
    one: input => {
      const mark = join(fixture.profile, 'runs', input.run, 'open')
      rmSync(mark)
      mkdirSync(mark)
      return writes('made')(input)
    },
  })
  const view = await fixture.finished(one)
  expect(view).toMatchObject({ state: 'done', result: { branch: expect.any(String) } })
  const said = () => fixture.logged.some(line => line.includes('is not in order yet'))
  await expect.poll(said, { timeout: 20_000 }).toBe(true)
  rmdirSync(join(fixture.profile, 'runs', view.run, 'open'))
})
