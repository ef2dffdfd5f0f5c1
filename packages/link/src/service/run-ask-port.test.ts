// An ask as a run (ALP-ASK-02): the port of runs is a small one of the test's own, which keeps what it was asked.
import {
  type IdentityProvider,
  ok,
  ParleyError,
  type Result,
  type RunEnd,
  type RunEvent,
  type RunId,
  type RunPage,
  type RunPort,
  type RunRequest,
  refuse,
} from '@parley/core'
import { expect, test } from 'vitest'
import { fingerprintOf } from '../identity/fingerprint.ts'
import { float } from '../json/value.ts'
import { until } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { identityOf } from '../testing/vectors.ts'
import { runAskPort } from './run-ask-port.ts'

const fingerprint = fingerprintOf(identityOf('alice').id)!
const principal = { id: `alp:${fingerprint}`, kind: 'peer', scopes: [] } as const

class Runs implements RunPort {
  readonly requests: RunRequest[] = []
  readonly watchedFrom: (number | undefined)[] = []
  readonly cancelled: string[] = []
  refusal: ParleyError | undefined
  end: RunEnd = { outcome: 'complete', text: 'done', usage: { tokensIn: 1, tokensOut: 2, usd: 0.5 } }
  waits = false
  breaks: ParleyError | undefined

  async start(request: RunRequest): Promise<Result<{ readonly run: RunId }>> {
    this.requests.push(request)
    return this.refusal ? { ok: false, error: this.refusal } : ok({ run: 'run-1' as RunId })
  }

  async *watch(_: RunId, options: { readonly after?: number }): AsyncGenerator<RunPage> {
    this.watchedFrom.push(options.after)
    const event = (seq: number) => ({ seq, type: 'other', body: {} }) as unknown as RunEvent
    if (options.after === undefined) {
      yield { events: [event(1)], cursor: 1, text: 't1 ' }
      yield { events: [event(2)], cursor: 2 }
    }
    if (this.breaks && this.watchedFrom.length === 1) throw this.breaks
    if (this.breaks && !this.breaks.retryable) throw this.breaks
    if (this.waits) await until(() => this.cancelled.length > 0)
    const outcome = this.cancelled.length > 0 ? 'cancelled' : this.end.outcome
    yield { events: [event(3)], cursor: 3, text: 't3 ', end: { ...this.end, outcome } }
  }

  async cancel(_: RunId, { reason }: { readonly reason: string }): Promise<Result<void>> {
    this.cancelled.push(reason)
    return ok(undefined)
  }
}

const identities: IdentityProvider = {
  byFingerprint: async each => (each === fingerprint ? principal : undefined),
  byToken: async () => undefined,
}

async function running(known: IdentityProvider = identities) {
  const runs = new Runs()
  const unknown = new Set<RunId>()
  const unknownCost = (run: RunId) => unknown.has(run)
  const ask = runAskPort({ runs, identities: known, team: 'house', unknownCost })
  const profile = await Profile.start({ ask })
  return { runs, profile, unknown }
}

test("ALP-ASK-02 an ask is a run that the peer's principal starts, once, with its session and what was said before", async () => {
  const { runs, profile } = await running()
  profile.dailyUsd = 5
  const texts: unknown[] = []
  const answer = await profile
    .client()
    .call(
      profile.target(),
      'link.ask',
      { prompt: 'hi', stream: true },
      { onChunk: chunk => void texts.push(chunk) },
    )
  expect(answer).toMatchObject({ ok: true, value: { text: 'done', tokens_in: 1, tokens_out: 2, cost: 0.5 } })
  expect(texts.map(chunk => (chunk as { text: string }).text).join('')).toBe('t1 t3 ')
  const session = answer.ok ? (answer.value as { session_id: string }).session_id : ''
  expect(runs.requests).toMatchObject([
    {
      principal: { id: `alp:${fingerprint}` },
      intent: 'hi',
      origin: 'alp',
      team: 'house',
      idempotencyKey: `alp:${session}`,
      told: [],
      context: { session, peer: 'alice', reservation: expect.any(String) },
      budget: { usd: 1 },
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
  for (const prompt of ['long', 'longer'])
    await profile.call('link.ask', { prompt: prompt.padEnd(40_000, '.') })
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
  const { runs, profile } = await running()
  runs.waits = true
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => runs.watchedFrom.length > 0)
  expect(await profile.call('link.cancel')).toMatchObject({ cancelled: true })
  expect(await asking).toMatchObject({ interrupted: true, text: 'done' })
  expect(runs.cancelled).toEqual(['The turn was interrupted: its caller cancelled it.'])
})

test('ALP-BUD-08 a run with a turn whose cost nobody knows is booked with all that was set aside', async () => {
  const { runs, profile, unknown } = await running()
  profile.dailyUsd = 5
  runs.end = { outcome: 'cancelled', usage: {} }
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ cost: float(0) })
  unknown.add('run-1' as RunId)
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ cost: float(1) })
})

test('ALP-ASK-04 a run that failed says why in the answer', async () => {
  const { runs, profile } = await running()
  runs.end = { outcome: 'failed', error: { code: 'x', message: 'no model' }, usage: {} }
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({
    text: '[error] no model',
    interrupted: false,
  })
})

test('ALP-ASK-09 a run that is refused is told so, and a peer that no directory knows starts nothing', async () => {
  const { runs, profile } = await running()
  runs.refusal = refuse('overloaded', 'too many runs').error
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32007 } })
  const unknown = await running({ ...identities, byFingerprint: async () => undefined })
  expect(await unknown.profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32001 } })
  expect(unknown.runs.requests).toEqual([])
})

test('ALP-ASK-02 a watch that breaks goes on behind its last page; one that cannot go on is an error', async () => {
  const { runs, profile } = await running()
  runs.breaks = new ParleyError('unavailable', 'the node stops', { retryable: true })
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text: 'done' })
  expect(runs.watchedFrom).toEqual([undefined, 2])
  runs.breaks = new ParleyError('not_found', 'gone')
  runs.watchedFrom.length = 0
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32603 } })
})
