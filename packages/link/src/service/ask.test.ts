// link.ask (ALP-ASK), over real sockets and real files; the turn itself is a script.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError, SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { fingerprintsOf } from '../identity/identity.ts'
import { float, type WireObject, type WireValue } from '../json/value.ts'
import { wireText } from '../json/write.ts'
import { linkDefaults } from '../limits.ts'
import { Caller } from '../testing/caller.ts'
import { failure, Ground, idle, until } from '../testing/ground.ts'
import { Profile, type ProfileOptions } from '../testing/profile.ts'
import { aborted, end, endless, type Script, ScriptedRuns, saying } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'
import { CARRIERS } from '../transport/channel.ts'

const HELD_UP = 'the node is held up by its machine; ask again later'
const INVALID = { error: { code: -32602, message: 'invalid-params', data: { detail: expect.any(String) } } }
const broken = { outcome: 'failed', error: { code: 'task_failed', message: 'it broke' } } as const

function scripted(script: Script, options: ProfileOptions = {}): Promise<Profile> {
  return Profile.start({ ...options, runs: new ScriptedRuns(script) })
}

test('ALP-ASK-01 a prompt is needed, and trimmed; stream and budget are not', async () => {
  const profile = await Profile.start()
  for (const prompt of [undefined, '', ' \n\u0085\u001c', 5, null, ['x']])
    expect(await profile.call('link.ask', prompt === undefined ? {} : { prompt })).toMatchObject(INVALID)
  expect(profile.runs.requests).toEqual([])
  await profile.call('link.ask', { prompt: ' \u0085hi\ufeff ' })
  await profile.call('link.ask', { prompt: 'x', stream: null, budget: null })
  expect(profile.runs.requests.map(({ intent }) => intent)).toEqual(['hi\ufeff', 'x'])
})

test('ALP-ASK-01 a stream that is neither true nor false, and a budget that is none, are invalid; nothing runs', async () => {
  const profile = await Profile.start()
  const amounts: WireObject[] = [{ usd: -1 }, { usd: '0.5' }, { usd: true }, { tokens: -1 }, { tokens: 1.5 }]
  const budgets: WireValue[] = ['x', [], 5, ...amounts, { tokens: float(100) }, { usd: 1, tokens: 'x' }]
  const streams: WireObject[] = [{ stream: 'yes' }, { stream: 1 }]
  for (const params of [...streams, ...budgets.map(budget => ({ budget }))])
    expect(await profile.call('link.ask', { prompt: 'x', ...params }), wireText(params)).toMatchObject(INVALID)
  expect(profile.runs.requests).toEqual([])
  expect(existsSync(profile.paths.ledger)).toBe(false)
})

test('ALP-ASK-01 a budget of nothing is a limit that every turn would pass', async () => {
  const profile = await Profile.start()
  for (const budget of [{ usd: 0 }, { usd: float(0) }, { tokens: 0 }, { usd: 5, tokens: 0 }] as WireObject[])
    expect(await profile.call('link.ask', { prompt: 'x', budget }), wireText(budget)).toMatchObject({
      error: { code: -32005, message: 'budget-exceeded', data: { cap_kind: 'usd' } },
    })
  expect(profile.runs.requests).toEqual([])
})

test('ALP-ASK-01 the budget of a call only lowers what the turn may spend', async () => {
  const profile = await Profile.start()
  const budgets = async () => {
    for (const budget of [{ usd: 0.5, tokens: 100 }, { usd: 50 }, { usd: null }, {}])
      await profile.call('link.ask', { prompt: 'x', budget })
    return profile.runs.requests.splice(0).map(({ budget }) => budget)
  }
  expect(await budgets()).toEqual([{ usd: 0.5, tokens: 100 }, { usd: 50 }, {}, {}])
  profile.dailyUsd = 2.5
  expect(await budgets()).toEqual([{ usd: 0.5, tokens: 100 }, { usd: 1.25 }, { usd: 1 }, { usd: 0.75 }])
  // What is set aside for a turn is no limit of it: it may spend what is left of the day.
  profile.dailyUsd = 10
  expect((await budgets()).slice(2)).toEqual([{ usd: 7.5 }, { usd: 7.25 }])
})

test("ALP-ASK-02 the turn is the profile's own: the run is told who asks, what, and what was said before", async () => {
  const profile = await Profile.start()
  await profile.call('link.ask', { prompt: 'who are you?' })
  const [request] = profile.runs.requests
  const { id } = identityOf('alice')
  expect(request).toMatchObject({
    principal: { id: `alp:${fingerprintsOf(id)?.fingerprint}`, kind: 'user', name: 'alice', scopes: [] },
    intent: 'who are you?',
    told: [],
  })
  expect(profile.runs.cancelled).toEqual([])
})

test('ALP-ASK-03 the answer has its members in order, the cost as a float that matches the ledger, a fresh session', async () => {
  const profile = await scripted(saying(end('Hello', { usage: { tokensIn: 12, tokensOut: 3, usd: 2 } })))
  const said = await profile.client().call(profile.target(), 'link.ask', { prompt: 'x' })
  const text = said.ok ? wireText(said.value) : ''
  expect(text).toMatch(
    /^\{"text":"Hello","tokens_in":12,"tokens_out":3,"cost":2\.0,"session_id":"[0-9a-f]{12}","interrupted":false\}$/,
  )
  const again = await profile.client().call(profile.target(), 'link.ask', { prompt: 'x' })
  expect(again.ok && wireText(again.value)).not.toBe(text)
  expect(JSON.parse(readFileSync(profile.paths.ledger, 'utf8')).by_peer).toEqual({ alice: { tokens: 30, usd: 4 } })
})

test.each([
  ['segments with a blank line between', { text: 'one\n\ntwo\n' }, 'one\n\ntwo'],
  ['an error behind what was said', { text: 'one', ...broken }, 'one\n\n[error] The agent failed.'],
  ['an error alone', broken, '[error] The agent failed.'],
  ['nothing', {}, ''],
  ['interrupted with nothing', { text: ' \n', outcome: 'cancelled' }, '[cancelled]'],
  ['interrupted with something', { text: 'half', outcome: 'cancelled' }, 'half'],
  ['half a character', { text: 'a\ud83d' }, 'a\ufffd'],
] as const)('ALP-ASK-04 the text of %s', async (_, more, text) => {
  const profile = await scripted(saying({ text: 'not part of it' }, end('', more)))
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text })
})

test('ALP-ASK-04 an answer says that its turn failed, and that it did not where its text only looks so', async () => {
  const profile = await scripted(saying(end('one', broken)))
  const asked = () => profile.call('link.ask', { prompt: 'x' })
  expect(await asked()).toMatchObject({ text: 'one\n\n[error] The agent failed.', interrupted: false, failed: true })
  profile.runs.script = saying(end('The log says:\n\n[error] no such file'))
  expect(await asked()).toMatchObject({ failed: false })
})

test('ALP-ASK-05 one turn at a time: another ask is refused at once, whoever asks and however; then the next is taken', async () => {
  const profile = await scripted(endless, { pinned: { alice: {}, carol: {} } })
  const first = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  for (const [as, stream] of [
    ['alice', false],
    ['carol', true],
    ['carol', false],
  ] as const)
    expect(await profile.call('link.ask', { prompt: 'y', stream }, { as })).toMatchObject({
      error: { code: -32007, message: 'target-busy', data: { detail: expect.any(String) } },
    })
  // A prompt is looked at first; other calls are not touched.
  expect(await profile.call('link.ask', { prompt: '' })).toMatchObject({ error: { code: -32602 } })
  expect(await profile.call('link.ping')).toMatchObject({ version: 1 })
  expect(profile.runs.requests).toHaveLength(1)
  expect(await profile.call('link.cancel')).toMatchObject({ cancelled: true })
  expect(await first).toMatchObject({ text: '[cancelled]', interrupted: true, tokens_in: 3 })
  profile.runs.script = saying(end('free'))
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text: 'free' })
})

test('ALP-ASK-05 asks on one connection do not wait for each other, and a cancel behind an ask is read while it runs', async () => {
  const profile = await scripted(endless)
  const caller = await Caller.of(profile)
  caller.say(caller.request({ prompt: 'one' }, 'link.ask'))
  await until(() => profile.service.running !== undefined)
  expect(await caller.ask({ prompt: 'two' }, 'link.ask')).toMatchObject({
    error: { code: -32007, message: 'target-busy' },
  })
  caller.say(caller.request({}, 'link.cancel'))
  const answers = [await caller.hear(), await caller.hear()]
  expect(answers).toContainEqual(expect.objectContaining({ result: expect.objectContaining({ cancelled: true }) }))
  expect(answers).toContainEqual(expect.objectContaining({ result: expect.objectContaining({ interrupted: true }) }))
  expect(profile.runs.requests).toHaveLength(1)
})

test('ALP-ASK-05 whoever has its answer is not met by its own turn', async () => {
  const profile = await Profile.start({ clock: new SystemClock() })
  profile.elapsedMs = 0
  for (let times = 0; times < 20; times++) {
    const { said } = await profile.streamed()
    expect(said.ok, String(times)).toBe(true)
    expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ interrupted: false })
  }
})

test.each(CARRIERS)(
  'ALP-ASK-06 a streamed ask over %s: chunks of text, then one final frame with the whole answer',
  async carrier => {
    const profile = await Profile.start()
    const { chunks, said } = await profile.streamed('hi', carrier)
    expect(chunks.map(chunk => (chunk as WireObject).text).join('')).toBe('Hello ✅')
    expect(chunks.every(chunk => wireText(chunk).startsWith('{"text":'))).toBe(true)
    expect(said).toMatchObject({ ok: true, value: { text: 'You said: hi', tokens_in: 10 } })
  },
)

test('ALP-ASK-06 no chunk is larger than a line of every revision, and none cuts a character', async () => {
  const profile = await scripted(
    saying({ text: 'a\ud83d' }, { text: `\ude00${'\u0001😀'.repeat(20_000)}` }, { text: '\ud83d' }, end('done')),
  )
  const { chunks, said } = await profile.streamed()
  const texts = chunks.map(chunk => (chunk as { text: string }).text)
  expect(texts.join('')).toBe(`a😀${'\u0001😀'.repeat(20_000)}\ufffd`)
  expect(texts.every(text => text.isWellFormed() && Buffer.byteLength(JSON.stringify(text)) < 60_000)).toBe(true)
  expect(said.ok).toBe(true)
})

test('ALP-ASK-06 a reader that is slow holds back the turn, and what waits for it is bounded', async () => {
  let given = 0
  const profile = await scripted(async function* () {
    for (; given < 10_000; given++) yield { text: 'x'.repeat(1000) }
    yield end('done')
  })
  const hold = Promise.withResolvers<void>()
  let heard = 0
  const onChunk = async (chunk: WireValue) => {
    heard += (chunk as { text: string }).text.length
    await hold.promise
  }
  const asking = profile.client().call(profile.target('tcp'), 'link.ask', { prompt: 'x', stream: true }, { onChunk })
  await until(() => heard > 0)
  await idle(2000)
  // What the operating system holds comes on top of what waits here.
  expect(given).toBeLessThan(9000)
  hold.resolve()
  expect((await asking).ok).toBe(true)
  expect(heard).toBe(10_000_000)
})

test('ALP-ASK-06 a turn that fails in mid-stream ends it with one error without a mark', async () => {
  const profile = await scripted(async function* () {
    yield { text: 'a' }
    throw new Error('a secret')
  })
  const { chunks, said } = await profile.streamed()
  expect(chunks).toMatchObject([{ text: 'a' }])
  const error = { code: -32603, message: 'internal-error' }
  expect(said).toMatchObject({ ok: false, error: { where: 'remote', error } })
  expect(JSON.stringify(said)).not.toContain('secret')
  expect(profile.service.running).toBeUndefined()
})

test('ALP-ASK-06 with events a watcher hears the session at once, and every fifteen quiet seconds that it goes on', async () => {
  const profile = await scripted(endless, { events: true })
  const chunks: WireValue[] = []
  const onChunk = (chunk: WireValue) => void chunks.push(chunk)
  const asking = profile.client().call(profile.target(), 'link.ask', { prompt: 'x', stream: true }, { onChunk })
  await until(() => chunks.length === 2)
  profile.pass(linkDefaults.progressMs)
  await until(() => chunks.length === 3)
  profile.pass(linkDefaults.progressMs)
  await until(() => chunks.length === 4)
  const session_id = profile.service.running!
  expect(chunks).toEqual([
    { event: 'started', session_id },
    { text: 'thinking' },
    { event: 'progress', session_id },
    { event: 'progress', session_id },
  ])
  await profile.call('link.cancel', { session_id })
  expect(await asking).toMatchObject({ ok: true, value: { session_id, interrupted: true } })
})

test('ALP-ASK-06 chunks without text are not for the reader, who may learn the session from them', async () => {
  const profile = await Profile.start({ events: true })
  const texts: string[] = []
  const sessions: string[] = []
  const said = await profile.client().ask(profile.target(), 'hi', {
    onText: text => void texts.push(text),
    onSession: session => void sessions.push(session),
  })
  expect(texts.join('')).toBe('Hello ✅')
  const value = { sessionId: sessions[0], cost: 0.25, tokensIn: 10, tokensOut: 5 }
  expect(said).toMatchObject({ ok: true, value })
})

test('ALP-ASK-07 who has somebody watching asks for a stream, everybody else for one piece', async () => {
  const asked: WireValue[] = []
  const ground = await Ground.start({
    handler: ({ params }) => {
      asked.push(params!)
      return { result: { text: 'x' } }
    },
  })
  const budget = { usd: 1, tokens: 5 }
  await ground.client().ask(ground.target('tcp'), 'x', { onText: () => undefined })
  await ground.client().ask(ground.target('unix'), 'x', { budget })
  // On a line a client says how long a line it reads (ALP-UNIX-04); a frame has one limit for all.
  expect(asked.map(wireText)).toEqual([
    '{"prompt":"x","stream":true}',
    '{"prompt":"x","stream":false,"budget":{"usd":1.0,"tokens":5},"max_line":1048576}',
  ])
})

test('ALP-ASK-08 what was said comes before the next turn of the same peer and of nobody else', async () => {
  const profile = await Profile.start({ pinned: { alice: {}, carol: {} } })
  await profile.call('link.ask', { prompt: 'one' })
  await profile.call('link.ask', { prompt: 'two' }, { as: 'carol' })
  await profile.shut()
  await profile.open()
  await profile.call('link.ask', { prompt: 'three' })
  const said = profile.runs.requests.map(({ told = [] }) => told.map(({ text }) => text).slice(1))
  expect(said).toEqual([[], [], ['one', 'You said: one']])
})

test('ALP-ASK-08 a turn that was interrupted or said nothing is not remembered, and one with an id that fits no file is not either', async () => {
  const profile = await Profile.start()
  const ends = [end('half', { outcome: 'cancelled' }), end(''), end('', broken)]
  for (const each of ends) {
    profile.runs.script = saying(each)
    await profile.call('link.ask', { prompt: 'x' })
  }
  profile.editPeers(`- {id: "../alice", pubkey: "${identityOf('alice').id}", allow: [link.ask]}\n`)
  profile.runs.script = saying(end('said'))
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text: 'said' })
  expect(existsSync(profile.paths.mentions)).toBe(false)
  expect(existsSync(join(profile.home, 'alice.json'))).toBe(false)
})

test('ALP-ASK-09 what a start is refused with is told as what it is, and nothing is booked', async () => {
  const profile = await Profile.start()
  profile.dailyUsd = 10
  for (const [code, wire] of [
    ['overloaded', { code: -32007, message: 'target-busy' }],
    ['too_many_runs', { code: -32007, message: 'target-busy' }],
    // Which disk of whose is none of the caller's business.
    ['machine_fault', { code: -32007, message: 'target-busy', data: { detail: HELD_UP } }],
    ['budget_exceeded', { code: -32005, message: 'budget-exceeded', data: { cap_kind: 'usd' } }],
    ['permission_denied', { code: -32001, message: 'capability-denied', data: { method: 'link.ask' } }],
    ['unknown_team', { code: -32603, message: 'internal-error', data: { detail: 'because' } }],
    // Its words may name what is the owner's.
    ['invalid_project', { code: -32603, data: { detail: 'the turn could not be started here' } }],
  ] as const) {
    profile.runs.refusal = new ParleyError(code, 'because')
    expect(await profile.call('link.ask', { prompt: 'x' }), code).toMatchObject({ error: wire })
    expect(profile.service.ledger.today()).toMatchObject({ profile: { usd: 0 }, reserved: new Map() })
    expect(profile.service.running).toBeUndefined()
  }
})

test('ALP-ASK-09 a ledger that a full disk keeps from being written makes the target busy, and starts nothing', async () => {
  const profile = await Profile.start()
  const { ledger } = profile.service
  const reserve = ledger.reserve.bind(ledger)
  ledger.reserve = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({
    error: { code: -32007, message: 'target-busy' },
  })
  expect(profile.runs.requests).toHaveLength(0)
  ledger.reserve = reserve
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ text: 'You said: x' })
})

test('ALP-ASK-09 a busy peer is asked again a few times, with pauses; without being told to, not once', async () => {
  const profile = await Profile.start()
  profile.runs.refusal = new ParleyError('overloaded', 'later')
  const busy = { ok: false, error: { error: { message: 'target-busy' } } }
  expect(await profile.client().ask(profile.target(), 'x')).toMatchObject(busy)
  expect(profile.runs.requests).toHaveLength(1)
  const asking = profile.client().ask(profile.target(), 'x', { busyTries: 3 })
  for (let asked = 2; asked <= 4; asked++) {
    await until(() => profile.runs.requests.length === asked)
    await idle(50)
    if (asked === 3) profile.runs.refusal = undefined
    profile.pass(linkDefaults.busyWaitMs * 2 ** (asked - 2))
  }
  expect(await asking).toMatchObject({ ok: true, value: { text: 'You said: x' } })
  profile.runs.refusal = new ParleyError('overloaded', 'later')
  const stop = new AbortController()
  const patience = { busyTries: 3, signal: stop.signal }
  const given = profile.client().ask(profile.target(), 'x', patience)
  await until(() => profile.runs.requests.length === 5)
  stop.abort()
  expect((await given).ok).toBe(false)
})

test('ALP-ASK-05 a turn without end is interrupted after its time', async () => {
  const profile = await scripted(endless)
  const timeoutMs = 2 * linkDefaults.turnMs
  const asking = profile.client().call(profile.target(), 'link.ask', { prompt: 'x' }, { timeoutMs })
  await until(() => profile.service.running !== undefined)
  profile.pass(linkDefaults.turnMs)
  expect(await asking).toMatchObject({ ok: true, value: { interrupted: true } })
})

test('ALP-ASK-05 a node that stops interrupts the turn, answers it, and takes no other', async () => {
  const profile = await scripted(endless)
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  const closing = profile.service.close()
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32007 } })
  expect(await asking).toMatchObject({ interrupted: true })
  await closing
})

test('ALP-PING-01 a ping is read into what it says, and an answer that is none is a failure', async () => {
  const profile = await Profile.start()
  const ground = await Ground.start({ handler: () => ({ result: { nonce: 'other', version: 1 } }) })
  for (const failed of [
    await ground.client().ping(ground.target('unix'), { nonce: 'n' }),
    await ground.client().ask(ground.target('unix'), 'x'),
  ])
    expect(failed).toMatchObject(failure('link_bad_response'))
  const pong = await profile.client().ping(profile.target('tcp'), { nonce: 'n' })
  expect(pong).toEqual({ ok: true, value: { version: 1, agentName: 'bob' } })
})

test('ALP-ASK-04 what a run says while it is interrupted is the answer, also where it says it late', async () => {
  const profile = await scripted(async function* ({ signal }) {
    yield { text: 'so far' }
    await aborted(signal)
    yield { text: 'nobody hears this' }
    yield end('so far', { outcome: 'cancelled' })
  })
  const asking = profile.streamed()
  await until(() => profile.service.running !== undefined)
  await profile.call('link.cancel')
  const { said } = await asking
  expect(said).toMatchObject({ ok: true, value: { text: 'so far', interrupted: true } })
})
