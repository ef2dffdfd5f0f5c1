// Runs that end as they begin, because what comes of them is known already.
import { type Principal, type RunPage, unwrap } from '@parley/core'
import { Runtime } from '@parley/kernel'
import { openTrail } from '@parley/trail'
import { expect, test } from 'vitest'
import { NO_TEAM } from '../team/team.ts'
import { alice, Fixture, refusal } from '../testing/fixture.ts'
import type { KnownEnd, RunFacts } from './facts.ts'
import { intentMail } from './known-end.ts'
import { coordinatorRunPort } from './run-port.ts'

const ANSWER: KnownEnd = { outcome: 'complete', text: 'It is 42.' }
const FAILURE: KnownEnd = { outcome: 'failed', code: 'no_artifact', message: 'Nothing that is known fits.' }

const request = { principal: alice, intent: 'What is it?', origin: 'alx', context: { session: 's1' } }

function portOf(f: Fixture, ends: KnownEnd) {
  const setup = async () => ({ ok: true, value: { ends } }) as const
  return coordinatorRunPort({ coordinator: f.coordinator, trail: f.trail, setup, costUnknown: () => false })
}

async function watched(f: Fixture, ends: KnownEnd, principal: Principal = alice) {
  const port = portOf(f, ends)
  const { run } = unwrap(await port.start({ ...request, principal }))
  const pages: RunPage[] = []
  for await (const page of port.watch(run, { principal })) pages.push(page)
  return { run, types: pages.flatMap(({ events }) => events.map(({ type }) => type)), end: pages.at(-1)?.end }
}

test('a known answer is a run of its root, the intent and its end', async () => {
  const f = await Fixture.open()
  const { run, types, end } = await watched(f, ANSWER)
  expect(end).toEqual({ outcome: 'complete', text: 'It is 42.', usage: {} })
  expect(types).toEqual([
    'workspace_created',
    'port_right_created',
    'signal_emitted',
    'signal_emitted',
    'workspace_state_changed',
    'human_injection',
    'envelope_created',
    'envelope_delivered',
    'signal_emitted',
    'workspace_state_changed',
    'workspace_state_changed',
  ])
  const view = unwrap(await f.coordinator.views.view(run))
  expect(view).toMatchObject({ state: 'done', intent: 'What is it?', project: '', tasks: [] })
  expect(await f.coordinator.runs.list()).toMatchObject([{ run, state: 'done' }])
  expect(unwrap(await f.coordinator.records.storedRun(run))).toMatchObject({
    context: { session: 's1' },
    origin: 'alx',
  })
})

test('a known failure says its code to the program and its reason to people', async () => {
  const f = await Fixture.open()
  const { run, end } = await watched(f, FAILURE)
  expect(end).toEqual({
    outcome: 'failed',
    error: { code: 'no_artifact', message: 'Nothing that is known fits.' },
    usage: {},
  })
  const view = unwrap(await f.coordinator.views.view(run))
  expect(view).toMatchObject({ state: 'failed', reason: 'Nothing that is known fits.' })
})

test('the end is on record when the start is answered, and a key has one run', async () => {
  const f = await Fixture.open()
  const keyed = { ...request, key: { text: 'once', reuse: 'always' } } as const
  const [one, two] = await Promise.all([1, 2].map(() => portOf(f, ANSWER).start(keyed)))
  const { run } = unwrap(one!)
  expect(unwrap(two!)).toEqual({ run })
  const last = (await f.entries(run, 'workspace_state_changed')).at(-1)
  expect(last?.body).toMatchObject({ to_state: 'closed' })
  await f.restart()
  expect(unwrap(await portOf(f, FAILURE).start(keyed))).toEqual({ run })
  expect(await f.coordinator.runs.list()).toHaveLength(1)
})

test.each([ANSWER, FAILURE])('who watches it at once and who reads the record later are told the same', async ends => {
  const f = await Fixture.open()
  const port = portOf(f, ends)
  const { run } = unwrap(await port.start(request))
  const told = async () => {
    const pages: RunPage[] = []
    for await (const page of port.watch(run, { principal: alice })) pages.push(page)
    return { events: pages.flatMap(({ events }) => events), end: pages.at(-1)?.end, cursor: pages.at(-1)?.cursor }
  }
  expect(f.coordinator.records.written(run)).toBeDefined()
  const atOnce = await told()
  expect(atOnce.end?.outcome).toBe(ends.outcome)
  // What was in memory is gone with the first answer.
  expect(f.coordinator.records.written(run)).toBeUndefined()
  expect(await told()).toEqual(atOnce)
})

test('more runs of a principal end at once than may be at work', async () => {
  const f = await Fixture.open({}, { runs: 2 })
  const port = portOf(f, ANSWER)
  const started = await Promise.all(Array.from({ length: 20 }, () => port.start(request)))
  expect(new Set(started.map(each => unwrap(each).run)).size).toBe(20)
})

test.each([
  ['an answer that is too long', { outcome: 'complete', text: 'x'.repeat(262_145) }],
  ['a failure without a code', { outcome: 'failed', code: '', message: 'why' }],
  ['a failure without a reason', { outcome: 'failed', code: 'c', message: ' ' }],
] as const)('%s is refused, and nothing begins', async (_, ends) => {
  const f = await Fixture.open()
  expect(await portOf(f, ends).start(request)).toMatchObject(refusal('invalid_argument'))
  expect(await f.coordinator.runs.list()).toEqual([])
})

const STAGES = ['its root', 'its intent', 'the reading of its intent'] as const

test.each(STAGES.flatMap(stage => [ANSWER, FAILURE].map(ends => [stage, ends] as const)))(
  'a run that was cut off behind %s ends the same way when the node starts again',
  async (stage, ends) => {
    const f = await Fixture.open()
    await portOf(f, ANSWER).start(request)
    await f.stop()
    const trail = await openTrail(f.profile)
    const runtime = await Runtime.open({ trail, users: 'house', secret: Buffer.alloc(32, 7) })
    const facts: RunFacts = {
      intent: 'What is it?',
      team: NO_TEAM,
      plan: [],
      principal: 'alice',
      origin: 'alx',
      approval: 'given',
      questions: { timeout: null, fallback: 'abort' },
      ends,
    }
    const draft = { owner: 'alice', highway: { gates: { task_approval: false } }, context: { ...facts } } as const
    const wish = stage === 'its root' ? undefined : { user: 'alice', mail: intentMail(facts.intent) }
    const run = unwrap(await runtime.start(draft, undefined, wish))
    if (stage === 'the reading of its intent') unwrap(await run.coordinator.consume())
    await runtime.close()
    await trail.close()
    await f.start()
    const end = unwrap(await f.coordinator.records.account(run.id)).end
    expect(end).toMatchObject(ends.outcome === 'complete' ? ends : { outcome: 'failed', error: { code: ends.code } })
    const intents = await f.entries(run.id, 'human_injection')
    expect(intents).toHaveLength(1)
    await f.restart()
    expect(await f.entries(run.id, 'human_injection')).toHaveLength(1)
  },
)
