// link.cancel (ALP-CANCEL), callers that leave, and what a turn costs (ALP-BUD), over real sockets and real files.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { openLedger } from '../budget/ledger-file.ts'
import { Scribe } from '../envelope/envelope.ts'
import { float } from '../json/value.ts'
import { peerPrincipal } from '../peers/principal.ts'
import { failure, RawPeer, until } from '../testing/ground.ts'
import { Profile, type ProfileOptions } from '../testing/profile.ts'
import { aborted, end, endless, type Script, ScriptedRuns } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'

const { id: alice } = peerPrincipal({ id: 'alice', pubkey: identityOf('alice').id })

function scripted(script: Script, options: ProfileOptions = {}): Promise<Profile> {
  return Profile.start({ ...options, runs: new ScriptedRuns(script) })
}

test('ALP-BUD-03 the money of a turn is set aside before it begins and booked when it ended, in the file each time', async () => {
  const profile = await scripted(endless)
  profile.dailyUsd = 5
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.runs.requests.length === 1)
  const now = () => JSON.parse(readFileSync(profile.paths.ledger, 'utf8'))
  expect(Object.values(now().reserved)).toMatchObject([{ peer: 'alice', usd: 1 }])
  await profile.call('link.cancel')
  expect(await asking).toMatchObject({ cost: 0.125 })
  expect(now()).toMatchObject({ by_peer: { alice: { tokens: 4, usd: 0.125 } }, profile: { usd: 0.125 } })
  expect(now().reserved).toBeUndefined()
})

test('ALP-BUD-03 a turn that breaks is booked with all that was set aside, and a node that died in one too', async () => {
  const profile = await scripted(async function* () {
    yield { text: 'a' }
    throw new Error('broken')
  })
  profile.dailyUsd = 2
  await profile.call('link.ask', { prompt: 'x' })
  expect(profile.service.ledger.today().profile.usd).toBe(1)
  profile.runs.script = endless
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  const next = openLedger(profile.paths.ledger, { clock: profile.clock, cap: () => 2 })
  expect(next.reserve('x')).toEqual({ ok: false, error: { cap: 2, used: 2 } })
  expect(next.orphans().map(({ id }) => id)).toEqual([profile.runs.requests[1]?.context?.reservation])
  await profile.call('link.cancel')
  await asking
})

test('ALP-BUD-08 a turn that was cut off before it said what it cost is booked with all that was set aside, and the answer says so', async () => {
  const profile = await scripted(async function* ({ signal }) {
    yield { text: 'thinking' }
    await aborted(signal)
    yield end('', { outcome: 'cancelled', usage: { tokensIn: 3 }, unknownCost: true })
  })
  profile.dailyUsd = 2
  for (const used of [1, 2]) {
    const asking = profile.call('link.ask', { prompt: 'x' })
    await until(() => profile.service.running !== undefined)
    await profile.call('link.cancel')
    expect(await asking).toMatchObject({ interrupted: true, cost: float(1) })
    expect(profile.service.ledger.today().byPeer.get('alice')?.usd).toBe(used)
  }
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({
    error: { code: -32005, message: 'budget-exceeded' },
  })
})

test('ALP-ASK-03 the cost is that of the ledger entry, also where another program changed the ledger meanwhile', async () => {
  const profile = await scripted(endless)
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  writeFileSync(profile.paths.ledger, '{"by_peer":{},"day":"2026-04-23","profile":{"tokens":0,"usd":4.0}}')
  await profile.call('link.cancel')
  expect(await asking).toMatchObject({ cost: 0.125 })
  expect(profile.service.ledger.today()).toMatchObject({ profile: { usd: 4.125 } })
  expect(profile.service.ledger.today().byPeer.get('alice')?.usd).toBe(0.125)
})

test('ALP-BUD-02 a ledger that cannot be written refuses the turn: nothing runs that nobody counted', async () => {
  const profile = await Profile.start()
  mkdirSync(profile.paths.ledger, { recursive: true })
  expect(await profile.call('link.ask', { prompt: 'x' })).toMatchObject({ error: { code: -32603 } })
  expect(profile.runs.requests).toEqual([])
  expect(profile.service.running).toBeUndefined()
})

test('ALP-BUD-02 an answer that is there is not lost with a ledger that cannot be written any more', async () => {
  const profile = await scripted(endless)
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  rmSync(profile.paths.ledger)
  mkdirSync(profile.paths.ledger)
  await profile.call('link.cancel')
  expect(await asking).toMatchObject({ interrupted: true, tokens_in: 3 })
})

test('ALP-CANCEL-01 a cancel interrupts the turn with that session; any other changes nothing, however often', async () => {
  const profile = await scripted(endless, { events: true })
  expect(await profile.call('link.cancel', { session_id: 'x' })).toEqual({ cancelled: false })
  expect(await profile.call('link.cancel')).toEqual({ cancelled: false })
  let session = ''
  const asking = profile.client().ask(profile.target('tcp'), 'x', {
    onText: () => undefined,
    onSession: told => {
      session = told
    },
  })
  await until(() => session !== '')
  const parts = [session.slice(0, -1), session.slice(0, 1), session.slice(1), `${session}0`]
  for (const other of ['0123456789ab', session.toUpperCase().replace(/[0-9]/g, '0'), ...parts])
    expect(await profile.call('link.cancel', { session_id: other }), other).toEqual({ cancelled: false })
  for (const session_id of [5, null, [session]])
    expect(await profile.call('link.cancel', { session_id }), String(session_id)).toMatchObject({
      error: { code: -32602, message: 'invalid-params' },
    })
  expect(profile.service.running).toBe(session)
  expect(await profile.client().cancel(profile.target(), session)).toEqual({ ok: true, value: true })
  expect(await asking).toMatchObject({ ok: true, value: { interrupted: true, text: '[cancelled]' } })
  expect(await profile.client().cancel(profile.target(), session)).toEqual({ ok: true, value: false })
  expect(profile.runs.cancelled).toEqual([[alice, 'The turn was interrupted: its caller cancelled it.']])
})

test('ALP-CANCEL-02 no session is the turn of the caller, the answer says which; another caller cancels nothing', async () => {
  const profile = await scripted(endless, { pinned: { alice: {}, carol: {} } })
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  const session_id = profile.service.running!
  for (const params of [{}, { session_id: '' }, { session_id }])
    expect(await profile.call('link.cancel', params, { as: 'carol' })).toEqual({ cancelled: false })
  expect(profile.runs.cancelled).toEqual([])
  expect(await profile.call('link.cancel', { session_id: ' ' })).toEqual({ cancelled: true, session_id })
  expect(await asking).toMatchObject({ session_id, interrupted: true })
})

test('ALP-ASK-03 whoever was told that its turn is cancelled reads interrupted, also where the turn was just done', async () => {
  const profile = await scripted(async function* ({ signal }) {
    await aborted(signal)
    yield end('all of it', { usage: { usd: 0.5 } })
  })
  const asking = profile.call('link.ask', { prompt: 'x' })
  await until(() => profile.runs.requests.length === 1)
  expect(await profile.call('link.cancel')).toMatchObject({ cancelled: true })
  expect(await asking).toMatchObject({ text: 'all of it', interrupted: true, cost: 0.5 })
})

test.each([
  ['unix', true],
  ['unix', false],
  ['tcp', true],
  ['tcp', false],
] as const)(
  'ALP-CANCEL-02 a caller that leaves interrupts its turn (%s, streamed: %s), and the next may ask',
  async (carrier, stream) => {
    const profile = await scripted(endless, { clock: new SystemClock() })
    const leave = new AbortController()
    const asking = profile
      .client()
      .call(profile.target(carrier), 'link.ask', { prompt: 'x', stream }, { signal: leave.signal })
    await until(() => profile.service.running !== undefined)
    leave.abort()
    expect((await asking).ok).toBe(false)
    await until(() => profile.service.running === undefined)
    expect(profile.runs.cancelled).toEqual([[alice, 'The turn was interrupted: its caller is gone.']])
    expect(profile.service.ledger.today().byPeer.get('alice')).toEqual({ usd: 0.125, tokens: 4 })
  },
)

test('ALP-CANCEL-02 a caller on the Unix socket that says no more but listens has its answer', async () => {
  const profile = await Profile.start()
  const peer = await RawPeer.connected(connect({ path: profile.paths.socket, allowHalfOpen: true }))
  const request = new Scribe(identityOf('alice'), profile.clock).request(profile.identity.id, 'x', 'link.ask', {
    prompt: 'hi',
  })
  peer.socket.end(`${request}\n`)
  await peer.closed
  expect(peer.received.toString()).toContain('"text":"You said: hi"')
})

test('ALP-CANCEL-03 a cancel goes on a connection of its own, while the ask holds the other', async () => {
  const profile = await scripted(endless)
  const session = profile.client().session(profile.target('tcp'))
  const asking = session.call('link.ask', { prompt: 'x' })
  await until(() => profile.service.running !== undefined)
  expect(await session.call('link.cancel')).toMatchObject(failure('link_busy'))
  expect(await profile.client().cancel(profile.target('tcp'))).toEqual({ ok: true, value: true })
  expect((await asking).ok).toBe(true)
  session.close()
})
