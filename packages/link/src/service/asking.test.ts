// An ask as a run (ALP-ASK-02): what the port of runs is asked, and what becomes of its answers.
import { ParleyError, type RunEnd, refuse } from '@parley/core'
import { expect, test } from 'vitest'
import { float } from '../json/value.ts'
import { peerPrincipal } from '../peers/principal.ts'
import { until } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { aborted, owner, type Part, ScriptedRuns } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'

const principal = peerPrincipal({ id: 'alice', pubkey: identityOf('alice').id })

const DONE: RunEnd = { outcome: 'complete', text: 'done', usage: { tokensIn: 1, tokensOut: 2, usd: 0.5 } }

/** Runs that say something, wait to be cancelled if they are to, and come to this end. */
async function running({
  waits = false,
  end = DONE,
  breaks,
}: {
  waits?: boolean
  end?: RunEnd
  breaks?: ParleyError
} = {}) {
  const runs = new ScriptedRuns(async function* ({ signal }): AsyncGenerator<Part> {
    yield { text: 't1 ' }
    yield {}
    if (breaks) yield { breaks }
    yield { text: 't3 ' }
    if (waits) await aborted(signal)
    yield { end }
  })
  return { runs, profile: await Profile.start({ runs }) }
}

test("ALP-ASK-02 an ask is a run that the peer's principal starts, once, with its session and what was said before", async () => {
  const { runs, profile } = await running()
  profile.dailyUsd = 5
  const { chunks, said: answer } = await profile.streamed()
  expect(answer).toMatchObject({ ok: true, value: { text: 'done', tokens_in: 1, tokens_out: 2, cost: 0.5 } })
  expect(chunks.map(({ text }) => text).join('')).toBe('t1 t3 ')
  const session = answer.ok ? (answer.value as { session_id: string }).session_id : ''
  expect(runs.requests).toMatchObject([
    {
      principal,
      intent: 'hi',
      origin: 'alp',
      key: { text: `alp:${session}`, reuse: 'always' },
      told: [],
      context: { session, peer: 'alice', reservation: expect.any(String) },
      budget: { usd: 5 },
    },
  ])
})

test('ALP-ASK-08 what was said before is told first, in its order; of a long thread the oldest turns are left out', async () => {
  const { runs, profile } = await running()
  await profile.call('link.ask', { prompt: 'first' })
  await profile.call('link.ask', { prompt: 'second' })
  expect(runs.requests[1]!.told).toEqual([
    { kind: 'memory', title: 'What was said before', text: expect.stringContaining('context only') },
    { kind: 'memory', title: 'alice said', text: 'first' },
    { kind: 'memory', title: 'You answered', text: 'done' },
  ])
  for (const prompt of ['long', 'longer']) await profile.call('link.ask', { prompt: prompt.padEnd(40_000, '.') })
  await profile.call('link.ask', { prompt: 'last' })
  const told = runs.requests.at(-1)!.told!
  expect(told.map(({ title, text }) => [title, text.slice(0, 6)])).toEqual([
    ['What was said before', 'The fo'],
    ['alice said', 'longer'],
    ['You answered', 'done'],
  ])
  // Its agent knows that there was more.
  expect(told[0]!.text).toMatch(/ 3 earlier turns are left out here: together they are too long\.$/)
  expect(runs.requests[1]!.told![0]!.text).not.toContain('left out')
})

test("ALP-CANCEL-01 a cancel is the run's cancel, and the answer says that it was interrupted", async () => {
  const { runs, profile } = await running({ waits: true })
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => runs.watchedFrom.length > 0)
  expect(await profile.call('link.cancel')).toMatchObject({ cancelled: true })
  expect(await asking).toMatchObject({ interrupted: true, text: 'done' })
  expect(runs.cancelled).toEqual([[principal.id, 'The turn was interrupted: its caller cancelled it.']])
})

test.each([
  ['hangs up', principal.id, (profile: Profile, hangUp: AbortController) => hangUp.abort(void profile)],
  ['is unpinned', owner.id, (profile: Profile) => void profile.service.unpin('alice')],
  ['asked a node that stops', 'system', (profile: Profile) => void profile.service.close()],
] as const)('W-TRAIL-02 the turn of a peer that %s is ended in the name of %s', async (_what, by, end) => {
  const { runs, profile } = await running({ waits: true })
  const hangUp = new AbortController()
  const asking = profile.client().call(profile.target(), 'link.ask', { prompt: 'x' }, { signal: hangUp.signal })
  await until(() => runs.watchedFrom.length > 0)
  end(profile, hangUp)
  await asking
  await until(() => runs.cancelled.length > 0)
  expect(runs.cancelled).toEqual([[by, expect.any(String)]])
})

test('ALP-BUD-08 a run with a turn whose cost nobody knows is booked with all that was set aside', async () => {
  const end: RunEnd = { outcome: 'cancelled', usage: {} }
  for (const [cost, told] of [
    [0, end],
    [1, { ...end, unknownCost: true }],
  ] as const) {
    const { profile } = await running({ end: told })
    profile.dailyUsd = 5
    expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ cost: float(cost) })
  }
})

test.each([
  ['x', 'The agent failed.'],
  ['rejected', 'It was not approved.'],
  ['budget_exceeded', 'The turn went over its budget.'],
  ['timeout', 'The turn took longer than it may.'],
])(
  'ALP-ASK-04 a run that failed with %s says so in the answer, and nothing that is for the owner',
  async (code, said) => {
    const error = { code, message: 'root: secret' }
    const { profile } = await running({ end: { outcome: 'failed', error, usage: {} } })
    expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({
      text: `[error] ${said}`,
      interrupted: false,
      failed: true,
    })
  },
)

test('ALP-ASK-04 a run that the node gives up is interrupted, and has not failed', async () => {
  const error = { code: 'abandoned', message: 'The node stops.' }
  const { profile } = await running({ end: { outcome: 'failed', error, usage: {} } })
  const answer = await profile.call('link.ask', { prompt: 'x' })
  expect(answer).toMatchObject({ text: '[cancelled]', interrupted: true })
  expect(answer).not.toHaveProperty('failed')
})

test('ALP-ASK-09 a run that is refused is told so, and a node that is not ready for runs is busy', async () => {
  const { runs, profile } = await running()
  runs.refusal = refuse('overloaded', 'too many runs').error
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32007 } })
  await profile.shut()
  await profile.open({ ready: () => false })
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32007 } })
  expect(runs.requests).toHaveLength(1)
  expect(profile.service.ledger.today().reserved.size).toBe(0)
})

test('ALP-ASK-02 a watch that breaks goes on behind its last page; one that cannot go on is an error', async () => {
  const { runs, profile } = await running({
    breaks: new ParleyError('unavailable', 'the node stops', { retryable: true }),
  })
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text: 'done' })
  expect(runs.watchedFrom).toEqual([undefined, 2])
  const gone = await running({ breaks: new ParleyError('not_found', 'gone') })
  expect(await gone.profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32603 } })
})
