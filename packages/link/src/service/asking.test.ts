// An ask as a run (ALP-ASK-02): what the port of runs is asked, what becomes of its answers, the room that an answer
// has (ALP-ASK-04, ALP-UNIX-04), and what is remembered of it (ALP-ASK-08).
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError, type RunEnd, refuse } from '@parley/core'
import type { Disk } from '@parley/keys/files'
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { parseWire } from '../json/parse.ts'
import { float, type WireObject } from '../json/value.ts'
import { linkLimits } from '../limits.ts'
import { peerPrincipal } from '../peers/principal.ts'
import { vectorClock } from '../testing/clock.ts'
import { Crash, CrashingDisk } from '../testing/crashing-disk.ts'
import { linesOf, until } from '../testing/ground.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { Profile } from '../testing/profile.ts'
import { aborted, end, owner, type Part, type Script, ScriptedRuns, saying } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'
import { CARRIERS } from '../transport/channel.ts'
import { Threads } from './threads.ts'

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

function scripted(script: Script): Promise<Profile> {
  return Profile.start({ runs: new ScriptedRuns(script) })
}

/** Fits neither a frame nor a long line. */
const LONG = `x${'😀'.repeat(300_000)}`

test.each(CARRIERS)(
  'ALP-ASK-04 an answer over %s has all the room that a message has, and is cut behind it',
  async carrier => {
    const profile = await scripted(saying(end('y'.repeat(1_047_000))))
    const whole = (await profile.call('link.ask', { prompt: 'x' }, { carrier })) as { text: string }
    expect(whole.text).toHaveLength(1_047_000)
    profile.runs.script = saying(end(LONG))
    const cut = (await profile.call('link.ask', { prompt: 'x' }, { carrier })) as { text: string }
    const [, missing] = /\n\n\[the answer was cut here: (\d+) of 600001 characters are missing\]$/.exec(cut.text)!
    const kept = cut.text.slice(0, cut.text.indexOf('\n\n['))
    expect(LONG.startsWith(kept) && kept.isWellFormed()).toBe(true)
    expect(Number(missing)).toBe(600_001 - kept.length)
    expect(Buffer.byteLength(kept)).toBeGreaterThan(linkLimits.frameBytes - 2 * linkLimits.answerEnvelopeBytes)
  },
)

/** What a client of the reference reads on the Unix socket: lines, the longest of which it would take. */
function lines(profile: Profile, params: WireObject): Promise<Buffer[]> {
  const scribe = new Scribe(identityOf('alice'), profile.clock)
  return linesOf(profile.paths.socket, scribe.request(profile.identity.id, 'x', 'link.ask', params))
}

test('ALP-UNIX-04 a client that does not say how long a line it reads gets lines of 64 KiB at most, and a mark where text is missing', async () => {
  const profile = await scripted(saying(end(LONG)))
  for (const more of [{}, { max_line: 1000 }, { max_line: 'much' }, { max_line: 65_534 }]) {
    const [line, ...none] = await lines(profile, { prompt: 'x', ...more })
    expect(none).toEqual([])
    expect(line!.length).toBeLessThan(65_536)
    expect(line!.length).toBeGreaterThan(65_536 - 2 * linkLimits.answerEnvelopeBytes)
    expect(line!.toString()).toContain('of 600001 characters are missing]')
  }
  const [longer] = await lines(profile, { prompt: 'x', max_line: 200_000 })
  expect(longer!.length).toBeLessThan(200_001)
  expect(longer!.length).toBeGreaterThan(190_000)
  const [longest] = await lines(profile, { prompt: 'x', max_line: 10n ** 30n })
  expect(longest!.length).toBeLessThanOrEqual(linkLimits.lineBytes)
})

test('ALP-UNIX-04 where the client asked for a stream, the whole of a long answer comes in chunks before the last line', async () => {
  const said = `${'0123456789'.repeat(20_000)}é`
  const profile = await scripted(saying({ text: 'at work' }, end(said)))
  const all = (await lines(profile, { prompt: 'x', stream: true })).map(line => parseWire(line) as WireObject)
  expect(all.map(({ stream }) => stream)).toEqual([...all.slice(1).map(() => 'chunk'), 'final'])
  const chunks = all.slice(0, -1).map(({ result }) => (result as { text: string }).text)
  expect(chunks.join('')).toBe(`at work${said}`)
  expect(all.at(-1)).toMatchObject({ result: { text: expect.stringContaining('characters are missing]') } })
  // What was streamed already is not sent again.
  profile.runs.script = saying({ text: said }, end(said))
  const once = (await lines(profile, { prompt: 'x', stream: true })).map(line => parseWire(line) as WireObject)
  const texts = once.slice(0, -1).map(({ result }) => (result as { text: string }).text)
  expect(texts.join('')).toBe(said)
})

/** A peer whose key is named after it, or after another one. */
const of = (id: string, pubkey = `key of ${id}`) => ({ id, pubkey })

function threadsOf() {
  const folder = join(temporaryFolder(), 'mentions')
  const clock = vectorClock('2026-04-23T12:00:00Z')
  const open = (disk?: Disk) => new Threads(folder, { clock, disk })
  return { folder, threads: open(), open, text: (id: string) => readFileSync(join(folder, `${id}.json`), 'utf8') }
}

test('ALP-ASK-08 the file is ASCII JSON indented by two, in a folder of its owner', () => {
  const { threads, text, folder } = threadsOf()
  threads.add(of('alice'), 'hi\n', 'é ✅')
  threads.add(of('alice'), 'more', 'yes')
  expect(text('alice')).toBe(`{
  "sender": "alice",
  "identity": "key of alice",
  "turns": [
    {
      "at": 1776945600.0,
      "user": "hi\\n",
      "assistant": "\\u00e9 \\u2705"
    },
    {
      "at": 1776945600.0,
      "user": "more",
      "assistant": "yes"
    }
  ]
}`)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('ALP-ASK-08 the agent reads one notice, then the turns in their order; of nobody else', () => {
  const { threads, open } = threadsOf()
  threads.add(of('alice'), 'one', 'two')
  threads.add(of('alice'), 'three', 'four')
  threads.add(of('bob'), 'secret', 'sure')
  const said = open().history(of('alice'))
  expect(said.map(({ title, text }) => [title, title === 'What was said before' || text])).toEqual([
    ['What was said before', true],
    ['alice said', 'one'],
    ['You answered', 'two'],
    ['alice said', 'three'],
    ['You answered', 'four'],
  ])
  expect(open().history(of('alice'))[0]?.text).toContain('memory')
  expect(open().history(of('carol'))).toEqual([])
})

test('ALP-ASK-08 the last twenty turns are kept, each text within its bound and never cut inside a character', () => {
  const { threads, text } = threadsOf()
  for (let turn = 0; turn < 25; turn++) threads.add(of('alice'), `u${turn}`, `a${turn}`)
  const turns = () => JSON.parse(text('alice')).turns as { user: string; assistant: string }[]
  expect(turns().map(({ user }) => user)).toEqual(Array.from({ length: 20 }, (_, n) => `u${n + 5}`))
  threads.add(of('alice'), 'x'.repeat(linkLimits.threadText + 5), `x${'😀'.repeat(linkLimits.threadText)}`)
  expect(turns().at(-1)!.user).toHaveLength(linkLimits.threadText)
  expect(turns().at(-1)!.assistant).toHaveLength(linkLimits.threadText - 1)
})

test('ALP-ASK-08 a thread belongs to a key: another key under the same id reads nothing of it, and begins anew', () => {
  const { threads, text } = threadsOf()
  threads.add(of('alice', 'old key'), 'my secret', 'noted')
  expect(threads.history(of('alice', 'new key'))).toEqual([])
  threads.add(of('alice', 'new key'), 'hi', 'hello')
  const [, ...said] = threads.history(of('alice', 'new key'))
  expect(said.map(({ text }) => text)).toEqual(['hi', 'hello'])
  expect(text('alice')).not.toContain('secret')
  expect(threads.history(of('alice', 'old key'))).toEqual([])
})

test('ALP-ASK-08 a thread of another implementation, which names no key, is continued', () => {
  const { threads, folder, text } = threadsOf()
  mkdirSync(folder)
  const turns = [{ at: 1.5, user: 'u', assistant: 'a' }]
  writeFileSync(join(folder, 'alice.json'), JSON.stringify({ sender: 'alice', turns }))
  expect(threads.history(of('alice'))).toHaveLength(3)
  threads.add(of('alice'), 'u2', 'a2')
  expect(JSON.parse(text('alice'))).toMatchObject({ identity: 'key of alice', turns: [{}, {}] })
})

test('ALP-ASK-08 an id that could name another file has no thread', () => {
  const { threads, folder } = threadsOf()
  for (const id of ['../x', 'a/b', 'a.b', '', 'é', 'a\n', 'x'.repeat(65)]) {
    threads.add(of(id), 'u', 'a')
    expect(threads.history(of(id)), id).toEqual([])
    threads.forget(id)
  }
  expect(existsSync(folder)).toBe(false)
})

test('ALP-ASK-08 a file that cannot be read is empty, and what it holds besides turns is ignored', () => {
  const { threads, folder } = threadsOf()
  mkdirSync(folder)
  for (const text of ['', '{', '[]', '{"turns":5}', '{"turns":[1,{"user":1,"assistant":"a"},null]}']) {
    writeFileSync(join(folder, 'alice.json'), text)
    expect(threads.history(of('alice')), text).toEqual([])
  }
  threads.add(of('alice'), 'u', 'a')
  expect(threads.history(of('alice'))).toHaveLength(3)
  threads.forget('alice')
  expect(threads.history(of('alice'))).toEqual([])
})

test('ALP-ASK-08 a crash at any step leaves the old thread or the new one', () => {
  for (let step = 0, done = false; !done; step++) {
    const { threads, open } = threadsOf()
    threads.add(of('alice'), 'u', 'a')
    try {
      open(new CrashingDisk(step)).add(of('alice'), 'u2', 'a2')
      done = true
    } catch (thrown) {
      if (!(thrown instanceof Crash)) throw thrown
    }
    expect(done ? [5] : [3, 5], `step ${step}`).toContain(open().history(of('alice')).length)
  }
})
