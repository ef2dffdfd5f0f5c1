// RunPort on a real trail: what its comments promise, from start to end, and over restarts.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  limits,
  ok,
  type Principal,
  type RunEnd,
  type RunId,
  type RunKey,
  type RunPage,
  type RunRequest,
  refuse,
  unwrap,
} from '@parley/core'
import { expect, test } from 'vitest'
import type { RunSetup } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import { readTeam } from '../team/testing/teams.ts'
import { aborted, alice, Fixture, hanging, planned, put, refusal } from '../testing/fixture.ts'
import { coordinatorRunPort } from './run-port.ts'

const peer: Principal = { id: 'alp:SHA256:abc', kind: 'user', name: 'home', scopes: [] }
const stranger: Principal = { id: 'alp:SHA256:xyz', kind: 'user', scopes: [] }

const solo = (more = '') =>
  `version: 1\nname: solo\nagents:\n  one: { command: [scripted, one] }\nlimits: { attempts: 1 }\n${more}`

type PortOptions = Parameters<typeof coordinatorRunPort>[0]

function portOf(fixture: Fixture, given: Partial<RunSetup> = {}, yaml = solo(), more: Partial<PortOptions> = {}) {
  const { coordinator, trail } = fixture
  const ready = { team: unwrap(readTeam(yaml)), project: fixture.project, approved: true, ...given }
  const setup = async () => ok(ready)
  return coordinatorRunPort({ coordinator, trail, setup, costUnknown: () => false, ...more })
}

/** A port whose node has no team for anybody. */
const refusing = (fixture: Fixture, code: string) =>
  portOf(fixture, {}, solo(), { setup: async () => refuse(code, 'Not now.') })

const request = (intent: string, principal = peer) => ({ principal, intent, origin: 'alp' }) as const

/** What a run of the peer comes to. */
async function outcome(port: ReturnType<typeof portOf>, more: Partial<RunRequest> = {}) {
  const { run } = unwrap(await port.start({ ...request('Do it.'), ...more }))
  return { run, ...(await collect(port.watch(run, { principal: peer }))) }
}

const keyOf = (text: string, reuse: RunKey['reuse'] = 'always'): RunKey => ({ text, reuse })

async function collect(pages: AsyncIterable<RunPage>): Promise<{ pages: RunPage[]; end: RunEnd; text: string }> {
  const all: RunPage[] = []
  for await (const page of pages) all.push(page)
  const text = all.map(page => page.text ?? '').join('')
  return { pages: all, end: all.at(-1)!.end!, text }
}

test('a run is watched from its first entry to its end, which has the whole answer and what it used', async () => {
  const answer = `begin ${'🜁'.repeat(50_000)} end`
  const fixture = await Fixture.open({
    one: (_, emit) => {
      emit({ type: 'text', text: 'I look.' })
      emit({ type: 'thinking', text: 'hm' })
      emit({ type: 'text', text: 'I ', part: true })
      emit({ type: 'text', text: 'write.', part: true })
      emit({ type: 'text', text: 'Done.' })
      emit({ type: 'usage', usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 } })
      return answer
    },
  })
  const context = { session: 's1', reservation: 'r1' }
  const { run, pages, end, text } = await outcome(portOf(fixture), { context })
  expect(end).toEqual({ outcome: 'complete', text: answer, usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 } })
  expect(text).toBe('I look.\nI write.\nDone.\n')
  const entries = await fixture.entries(run)
  const events = pages.flatMap(page => page.events)
  expect(events.map(({ seq }) => seq)).toEqual(entries.map(({ seq }) => seq))
  const { id, timestamp, body } = entries[0]!
  expect(events[0]).toEqual({ seq: 1, id, timestamp, type: 'workspace_created', body })
  expect(pages.filter(page => page.end)).toHaveLength(1)
  expect(pages.at(-1)!.cursor).toBe(entries.at(-1)!.seq)
  // Views show its end, and say so.
  const { tasks } = unwrap(await fixture.coordinator.views.view(run))
  expect(tasks[0]!.steps[0]!.text).toMatch(/^\[… 83,706 characters before this line are left out\.\]\n/)
  const stored = { principal: peer.id, origin: 'alp', context }
  expect(unwrap(await fixture.coordinator.records.storedRun(run))).toMatchObject(stored)
})

test('a watch goes on behind a cursor, also in another process and behind the end', async () => {
  const fixture = await Fixture.open({ one: () => 'said' })
  const { run, ...first } = await outcome(portOf(fixture))
  await fixture.restart()
  const again = portOf(fixture)
  const all = first.pages.flatMap(page => page.events)
  const rest = await collect(again.watch(run, { principal: peer, after: 3 }))
  expect(rest.pages.flatMap(page => page.events)).toEqual(all.filter(({ seq }) => seq > 3))
  expect(rest.end).toEqual(first.end)
  const cursor = first.pages.at(-1)!.cursor
  expect((await collect(again.watch(run, { principal: peer, after: cursor }))).pages).toEqual([
    { events: [], cursor, end: first.end },
  ])
})

test('what reviews and checks say is not for watching; the answer is what no other task builds on', async () => {
  const fixture = await Fixture.open({
    one: ({ prompt }, emit) => {
      emit({ type: 'text', text: `working: ${prompt}` })
      return `result of ${prompt}`
    },
    judge: (_, emit) => {
      emit({ type: 'text', text: 'judging' })
      return 'ACCEPT'
    },
  })
  const yaml = planned(
    '{ id: base, agent: one, prompt: base, review: { by: judge } }',
    '{ id: left, agent: one, prompt: left, needs: [base], check: [sh, -c, echo checking] }',
    '{ id: right, agent: one, prompt: right, needs: [base] }',
  )
  const { end, text } = await outcome(portOf(fixture, {}, yaml))
  expect(end).toEqual({ outcome: 'complete', text: 'result of left\n\nresult of right', usage: {} })
  expect(text.trim().split(/\n+/).toSorted()).toEqual(['working: base', 'working: left', 'working: right'])
})

test('only whoever started a run, and an owner, sees it or ends it', async () => {
  const fixture = await Fixture.open({ one: aborted })
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  const port = portOf(fixture)
  const { run } = unwrap(await port.start(request('Do it.')))
  await fixture.until(run, view => view.tasks[0]?.state === 'working')
  const missing = { code: 'not_found', message: `There is no run ${run}.` }
  await expect(collect(port.watch(run, { principal: stranger }))).rejects.toMatchObject(missing)
  expect(await port.cancel(run, { principal: stranger, reason: 'no' })).toMatchObject({ ok: false, error: missing })
  const nowhere = 'run_01' as RunId
  await expect(collect(port.watch(nowhere, { principal: alice }))).rejects.toMatchObject({ code: 'not_found' })
  expect(await port.cancel(nowhere, { principal: alice, reason: 'no' })).toMatchObject(refusal('not_found'))
  const owner = collect(port.watch(run, { principal: alice }))
  unwrap(await port.cancel(run, { principal: alice, reason: 'enough' }))
  expect((await owner).end.outcome).toBe('cancelled')
})

test('ALP-CANCEL-01 a cancelled run ends its turn, and its end says what that had used; to cancel again changes nothing', async () => {
  const { script, begun } = hanging()
  const used = { tokensIn: 7, tokensOut: 3, usd: 0.5 }
  const fixture = await Fixture.open({
    one: (input, emit) => {
      emit({ type: 'usage', usage: used })
      return script(input)
    },
  })
  const port = portOf(fixture)
  const { run } = unwrap(await port.start(request('Do it.')))
  const watching = collect(port.watch(run, { principal: peer }))
  await begun
  unwrap(await port.cancel(run, { principal: peer, reason: 'The caller hung up.' }))
  const { end } = await watching
  expect(end).toMatchObject({ outcome: 'cancelled', usage: used })
  expect(end.error?.message).toContain('The caller hung up.')
  expect(end.text).toBeUndefined()
  expect(unwrap(await fixture.coordinator.records.account(run))).toMatchObject({ usage: used, unknownCost: false, end })
  unwrap(await port.cancel(run, { principal: peer, reason: 'again' }))
  expect((await collect(port.watch(run, { principal: peer }))).end).toEqual(end)
})

test('a principal and a key give one run, whoever asks how often, also after a restart', async () => {
  let turns = 0
  const fixture = await Fixture.open({
    one: () => {
      turns++
      return 'once'
    },
  })
  const port = portOf(fixture)
  const keyed = { ...request('Do it.'), key: keyOf('alp:session-1') }
  const started = await Promise.all([port.start(keyed), port.start(keyed), port.start(keyed)])
  const [{ run }] = started.map(each => unwrap(each)) as [{ run: RunId }]
  expect(new Set(started.map(each => unwrap(each).run))).toEqual(new Set([run]))
  await fixture.over(run)
  expect(unwrap(await port.start({ ...keyed, intent: 'Something else.' })).run).toBe(run)
  await fixture.restart()
  const full = refusing(fixture, 'budget_exceeded')
  expect(unwrap(await full.start(keyed)).run).toBe(run)
  expect(await full.start({ ...keyed, key: keyOf('alp:session-2') })).toMatchObject(refusal('budget_exceeded'))
  const other = unwrap(await portOf(fixture).start({ ...keyed, principal: stranger })).run
  expect(other).not.toBe(run)
  await fixture.over(other)
  expect(turns).toBe(2)
})

test('a key that is used again unless its run failed gives another run after a failure, and none after a success', async () => {
  let turns = 0
  const fixture = await Fixture.open({
    one: () => {
      if (++turns === 1) throw new Error('no model')
      return 'at last'
    },
  })
  const port = portOf(fixture)
  const keyed = { ...request('Do it.'), key: keyOf('ct:1', 'unless_failed') }
  const failed = unwrap(await port.start(keyed)).run
  expect(unwrap(await port.start(keyed)).run).toBe(failed)
  await fixture.over(failed)
  expect(unwrap(await port.start({ ...keyed, key: keyOf('ct:1') })).run).toBe(failed)
  const again = unwrap(await port.start(keyed)).run
  expect(again).not.toBe(failed)
  await fixture.over(again)
  for (const reuse of ['always', 'unless_failed'] as const)
    expect(unwrap(await port.start({ ...keyed, key: keyOf('ct:1', reuse) })).run).toBe(again)
  expect(turns).toBe(2)
})

test('starts under keys are no loop: however many have the same intent, no breaker opens for them', async () => {
  const fixture = await Fixture.open()
  const port = portOf(fixture, { approved: false })
  for (let at = 0; at <= coordinatorLimits.sameRuns; at++)
    unwrap(await port.start({ ...request('Do it.'), key: keyOf(`k${at}`) }))
  expect(await port.start(request('Do it.'))).toMatchObject({ error: { code: 'breaker_open' } })
})

test('a principal finds the runs that it started, an owner those of all, page by page and the newest first', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const port = portOf(fixture)
  const started: RunId[] = []
  for (const [at, principal] of [peer, stranger, peer, peer].entries())
    started.push(unwrap(await port.start({ ...request(`${at}`, principal), context: { at } })).run)
  const [first, foreign, second, third] = started
  const page = await port.find({ principal: peer, origin: 'alp', limit: 2 })
  expect(page.runs.map(({ run, context }) => [run, context.at])).toEqual([
    [third, 3],
    [second, 2],
  ])
  const rest = await port.find({ principal: peer, after: page.cursor!, limit: 2 })
  expect(rest).toMatchObject({ runs: [{ run: first }] })
  expect(rest.cursor).toBeUndefined()
  expect((await port.find({ principal: alice })).runs.map(({ run }) => run)).toEqual(started.toReversed())
  expect((await port.find({ principal: alice, origin: 'cli' })).runs).toEqual([])
  expect(foreign).toBeDefined()
  for (const run of started) await fixture.over(run)
})

test('a large context is stored whole, and starts are found again where the index of the trail was lost', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const context = { session: 's', text: 'x'.repeat(100_000) }
  const { run } = unwrap(await portOf(fixture).start({ ...request('Do it.'), context }))
  await fixture.over(run)
  await fixture.stop()
  const index = join(fixture.profile, 'trail.index.db')
  expect(existsSync(index)).toBe(true)
  rmSync(index)
  await fixture.start()
  const { runs } = await portOf(fixture).find({ principal: peer, origin: 'alp' })
  expect(runs).toMatchObject([{ run, principal: peer.id, context }])
})

test('a gate and a question are answered through the port as in the inbox, by those who may', async () => {
  const fixture = await Fixture.open({ one: () => 'yes' })
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  const port = portOf(fixture, { approved: false })
  const { run } = unwrap(await port.start(request('May I?')))
  const { gates } = await fixture.until(run, view => view.gates.length > 0)
  const [gate] = gates
  const approve = { decision: 'approve' } as const
  const reply = { answer: 'envelope', text: 'Go on.' } as const
  const answer = (principal: Principal, given: typeof approve | typeof reply) =>
    port.answer(gate!.id, { principal, answer: given })
  expect(await answer(peer, approve)).toMatchObject(refusal('permission_denied'))
  expect(await answer(alice, reply)).toMatchObject(refusal('invalid_state'))
  expect(unwrap(await answer(alice, approve)).run).toBe(run)
  expect((await collect(port.watch(run, { principal: peer }))).end.outcome).toBe('complete')
  expect(await answer(alice, approve)).toMatchObject(refusal('not_found'))
})

test('the end of a run says where a turn was cut off before it told its cost', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const port = portOf(fixture, {}, solo(), { costUnknown: () => true })
  expect((await outcome(port)).end).toMatchObject({ unknownCost: true })
})

test("the request's budget and time limit hold where they are narrower than the team's", async () => {
  const fixture = await Fixture.open({ one: ({ budget }) => JSON.stringify(budget) })
  const wide = solo().replace('attempts: 1', 'attempts: 1, timeout: 1h, budget: { tokens: 100, cost: 5 }')
  const limitsOf = async (run: RunId) => {
    const [first] = unwrap(await fixture.trail.run(run).query({ limit: 1 })).entries
    const { context } = first!.body as unknown as { context: never }
    const object = await fixture.trail.run(run).object(context)
    return (object!.value as { team: { limits: object } }).team.limits
  }
  const port = portOf(fixture, {}, wide)
  const { run, end } = await outcome(port, { budget: { tokens: 1000, usd: 2 }, timeoutMs: 5_000 })
  expect(end.text).toBe('{"tokens":100,"usd":2}')
  expect(await limitsOf(run)).toMatchObject({ timeoutMs: 5_000, budget: { token_limit: 100, cost_limit: 2 } })
  // A grace that is longer than what is left of the time would let nobody begin.
  const patient = portOf(fixture, {}, wide.replace('timeout: 1h', 'timeout: 1h, grace: 10s'))
  for (const [timeoutMs, graceMs] of [
    [5_000, undefined],
    [50_000, 10_000],
  ] as const) {
    const started = unwrap(await patient.start({ ...request('Do it.'), timeoutMs }))
    const { graceMs: kept, ...limits } = (await limitsOf(started.run)) as { graceMs?: number }
    expect({ ...limits, kept }).toMatchObject({ timeoutMs, kept: graceMs })
    await fixture.over(started.run)
  }
  const bad = [
    [{ budget: { usd: 0 } }, 'budget_exceeded'],
    [{ budget: { tokens: -1 } }, 'invalid_argument'],
    [{ budget: { usd: Number.NaN } }, 'invalid_argument'],
    [{ timeoutMs: 0 }, 'invalid_argument'],
  ] as const
  for (const [limits, code] of bad)
    expect(await port.start({ ...request('Do it.'), ...limits })).toMatchObject(refusal(code))
})

test('a run that goes over its budget fails, and says what it had used', async () => {
  const fixture = await Fixture.open({
    one: ({ signal }, emit) => {
      emit({ type: 'usage', usage: { usd: 3 } })
      return signal.aborted ? '' : 'too dear'
    },
  })
  const { end } = await outcome(portOf(fixture), { budget: { usd: 1 } })
  expect(end).toMatchObject({ outcome: 'failed', error: { code: 'budget_exceeded' }, usage: { usd: 3 } })
})

test('a run whose time is up is ended, and says so', async () => {
  const fixture = await Fixture.open({ one: aborted })
  const error = { code: 'timeout', message: 'It took longer than its limit.' }
  expect((await outcome(portOf(fixture), { timeoutMs: 50 })).end).toMatchObject({ outcome: 'failed', error })
})

test('a run that fails says why', async () => {
  const fixture = await Fixture.open({
    one: () => {
      throw new Error('no model')
    },
  })
  const error = { code: 'task_failed', message: expect.stringContaining('no model') }
  expect((await outcome(portOf(fixture))).end).toMatchObject({ outcome: 'failed', error })
})

test('a watch ends when its node stops, and goes on with the next', async () => {
  const { script, begun } = hanging()
  let turns = 0
  const fixture = await Fixture.open({ one: input => (++turns > 1 ? 'at last' : script(input)) })
  const port = portOf(fixture)
  const { run } = unwrap(await port.start(request('Do it.')))
  const before: RunPage[] = []
  const watching = (async () => {
    for await (const page of port.watch(run, { principal: peer })) before.push(page)
  })()
  await begun
  await fixture.until(run, view => view.tasks[0]?.state === 'working')
  const error = { code: 'unavailable', retryable: true }
  const broken = expect(watching).rejects.toMatchObject(error)
  await fixture.stop()
  await broken
  expect(await port.start(request('Another.'))).toMatchObject({ ok: false, error })
  await fixture.start()
  const after = await collect(portOf(fixture).watch(run, { principal: peer, after: before.at(-1)!.cursor }))
  const seqs = [...before, ...after.pages].flatMap(page => page.events.map(({ seq }) => seq))
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(after.end).toMatchObject({ outcome: 'complete', text: 'at last' })
})

test('leaving a watch, or its signal, ends it and nothing else', async () => {
  const go = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: async (_, emit) => {
      emit({ type: 'text', text: 'x' })
      await go.promise
      return 'done'
    },
  })
  const port = portOf(fixture)
  const { run } = unwrap(await port.start(request('Do it.')))
  for await (const page of port.watch(run, { principal: peer })) if (page.text) break
  const stop = new AbortController()
  const pages: RunPage[] = []
  for await (const page of port.watch(run, { principal: peer, signal: stop.signal })) {
    pages.push(page)
    stop.abort()
  }
  expect(pages).toHaveLength(1)
  go.resolve()
  expect((await collect(port.watch(run, { principal: peer }))).end.outcome).toBe('complete')
})

test('ALP-ASK-08 what the request tells first is told before everything else, also after a restart', async () => {
  const told: (readonly string[])[] = []
  const { script, begun } = hanging()
  const fixture = await Fixture.open({
    one: input => {
      told.push(input.context.map(({ title }) => title))
      return told.length > 1 ? 'yes' : script(input)
    },
  })
  const port = portOf(fixture)
  const parts = [
    { kind: 'memory', title: 'home said', text: 'Hello.' },
    { kind: 'memory', title: 'You answered', text: 'Hello too.' },
  ]
  const { run } = unwrap(await port.start({ ...request('And now?'), told: parts }))
  await begun
  await fixture.restart()
  await fixture.over(run)
  for (const titles of told) expect(titles).toEqual(['home said', 'You answered', 'Where you work'])
  expect(told).toHaveLength(2)
})

test('a run that the node did not approve waits for its owner; its starter cannot approve it', async () => {
  const fixture = await Fixture.open({ one: () => 'yes' })
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  const port = portOf(fixture, { approved: false })
  const { run } = unwrap(await port.start(request('May I?')))
  await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(await fixture.coordinator.gates.respond(run, { decision: 'approve', principal: peer })).toMatchObject(
    refusal('permission_denied'),
  )
  const watching = collect(port.watch(run, { principal: peer }))
  await fixture.respond(run, { decision: 'approve' })
  expect((await watching).end.outcome).toBe('complete')
  const refused = unwrap(await port.start(request('And this?'))).run
  await fixture.until(refused, ({ gates }) => gates.length > 0)
  await fixture.respond(refused, { decision: 'reject', reason: 'No.' })
  expect((await collect(port.watch(refused, { principal: peer }))).end).toMatchObject({
    outcome: 'failed',
    error: { code: 'rejected', message: 'The plan was not approved by alice: No.' },
  })
})

test('a peer gets no more than its own wish takes, and nothing when that is taken away', async () => {
  const fixture = await Fixture.open({ one: () => 'yes' })
  unwrap(await fixture.coordinator.users.accept(alice, 'test'))
  const port = portOf(fixture)
  const { run } = unwrap(await port.start(request('Do it.')))
  await fixture.over(run)
  expect(await fixture.entries(run, 'gate_triggered')).toEqual([])
  const users = await fixture.coordinator.users.list()
  expect(users.find(({ user }) => user === peer.id)).toMatchObject({ capabilities: ['inject_directive'] })
  const take = { act: 'revoke', capability: 'inject_directive', principal: alice } as const
  unwrap(await fixture.coordinator.users.change(peer.id, take))
  expect(await port.start(request('Do it.'))).toMatchObject(refusal('permission_denied'))
})

test('how a run began and how far its record reaches is told to those who may see it', async () => {
  const fixture = await Fixture.open({ one: () => Promise.reject(new Error('no')) })
  const port = portOf(fixture)
  const { run, end } = await outcome(port, { context: { session: 's' } })
  const stored = unwrap(await port.stored(run, { principal: peer }))
  expect(stored).toMatchObject({ run, principal: peer.id, origin: 'alp', context: { session: 's' } })
  expect(stored.head).toBe((await fixture.entries(run)).at(-1)!.seq)
  expect(await port.stored(run, { principal: stranger })).toMatchObject(refusal('not_found'))
  // The code of what its turn failed of.
  expect(end.error).toMatchObject({ code: 'task_failed', cause: 'internal' })
})

test('what is too much to be told or stored is refused, and a refusal of the team as it is', async () => {
  const fixture = await Fixture.open({ one: () => 'yes' })
  const port = portOf(fixture)
  const part = { kind: 'memory', title: 't', text: 'x' }
  const bad = [
    { told: Array.from({ length: 65 }, () => part) },
    { told: [{ ...part, text: 'x'.repeat(262_144) }] },
    { context: { much: 'x'.repeat(limits.runFactsBytes) } },
    { context: { odd: () => 1 } },
    { key: keyOf('') },
    { key: keyOf('k'.repeat(257)) },
    { intent: ' ' },
  ]
  for (const more of bad)
    expect(await port.start({ ...request('Do it.'), ...more }), JSON.stringify(more).slice(0, 60)).toMatchObject(
      refusal('invalid_argument'),
    )
  expect(await fixture.coordinator.runs.list()).toEqual([])
  expect(await refusing(fixture, 'unknown_team').start(request('Do it.'))).toMatchObject(refusal('unknown_team'))
})

test('ALP-ASK-02 a run in an empty folder that may change nothing gives its answer and leaves the folder empty', async () => {
  const fixture = await Fixture.open({
    one: ({ folder }) => {
      put(folder!, 'note.txt', 'mine\n')
      return 'answered'
    },
  })
  const record = join(fixture.folder, 'record')
  mkdirSync(record, { mode: 0o700 })
  const yaml = solo("plan: [{ id: answer, agent: one, prompt: '{intent}', paths: [] }]\n")
  const { run, end } = await outcome(portOf(fixture, { project: record }, yaml))
  expect(end).toMatchObject({ outcome: 'complete', text: 'answered' })
  expect(readdirSync(record)).toEqual([])
  // Nothing is kept of so many of them but what is on the trail.
  const view = unwrap(await fixture.coordinator.views.view(run))
  expect(view.tasks[0]!.refused).toEqual(['note.txt'])
  expect(view.result).toBeUndefined()
  expect(readdirSync(join(fixture.profile, 'runs'))).toEqual([])
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run))).toEqual(view)
})
