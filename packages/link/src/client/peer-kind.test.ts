// A peer as an agent, against whole profiles over real sockets.
import { ok, ParleyError, refuse, SystemClock, type TurnEvent } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { linkDefaults } from '../limits.ts'
import { vectorClock } from '../testing/clock.ts'
import { Ground, idle, until } from '../testing/ground.ts'
import { agentAt, peerAgent, turn } from '../testing/peer-agents.ts'
import { Profile, type ProfileOptions } from '../testing/profile.ts'
import { aborted, end, endless, type Script, ScriptedRuns, saying } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'
import { CARRIERS, type Carrier } from '../transport/channel.ts'

const reason = new ParleyError('operator', 'somebody pressed the button')

async function adapted(script?: Script, carrier: Carrier = 'unix', options: ProfileOptions = {}) {
  const runs = new ScriptedRuns(script)
  const profile = await Profile.start({ clock: new SystemClock(), runs, ...options })
  const events: TurnEvent[] = []
  const adapter = agentAt(profile, profile.target(carrier))
  const take = (...input: Parameters<typeof turn>) => adapter.takeTurn(turn(...input), event => void events.push(event))
  return { profile, adapter, events, take }
}

describe.each(CARRIERS)('over %s', carrier => {
  test('ALP-ASK-03 a turn is one ask: its text, and what it cost there', async () => {
    const { adapter, profile, take } = await adapted(undefined, carrier)
    expect(adapter).toMatchObject({ name: 'far', kind: 'peer' })
    const context = [{ kind: 'directive', title: 'Rules', text: 'be short' }]
    const budget = { usd: 0.5, tokens: 100 }
    expect(await take(undefined, { context, budget })).toEqual({
      outcome: 'complete',
      text: 'You said: do it\n\n## Rules\n\nbe short',
      usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 },
    })
    expect(profile.runs.requests.map(request => request.budget)).toEqual([budget])
  })

  test('ALP-CANCEL-01 an abort cancels the turn there, and its cost so far comes back', async () => {
    const { profile, events, take } = await adapted(endless, carrier)
    const stop = new AbortController()
    const taken = take(stop.signal)
    await until(() => profile.service.running !== undefined && events.length === 1)
    stop.abort(reason)
    stop.signal.dispatchEvent(new Event('abort'))
    expect(await taken).toMatchObject({
      outcome: 'failed',
      error: { code: 'aborted', cause: reason, details: { reason: 'operator' } },
      usage: { tokensIn: 3, tokensOut: 1, usd: 0.125 },
    })
    expect(profile.service.running).toBeUndefined()
    expect(profile.runs.cancelled).toEqual([[expect.any(String), 'The turn was interrupted: its caller cancelled it.']])
    expect(events).toEqual([{ type: 'text', text: 'thinking', part: true }])
  })
})

test('ALP-ASK-07 a run has watchers: the text of a turn comes as it is said', async () => {
  const { events, take } = await adapted(undefined, 'tcp')
  await take()
  expect(events.map(event => (event.type === 'text' ? event.text : event.type)).join('')).toBe('Hello ✅')
})

test('ALP-CANCEL-02 a peer that does not let us cancel is hung up on, and takes that for a cancel', async () => {
  const { profile, take } = await adapted(endless, 'tcp', { pinned: { alice: { allow: ['link.ask'] } } })
  const stop = new AbortController()
  const taken = take(stop.signal)
  await until(() => profile.service.running !== undefined)
  stop.abort(reason)
  expect(await taken).toMatchObject({ outcome: 'failed', error: { code: 'aborted' }, usage: {} })
  await until(() => profile.service.running === undefined)
  expect(profile.runs.cancelled).toEqual([[expect.any(String), 'The turn was interrupted: its caller is gone.']])
})

test('ALP-CANCEL-01 a peer that does not end is waited for a while, no longer', async () => {
  const released = Promise.withResolvers<void>()
  const late: Script = async function* ({ signal }) {
    await aborted(signal)
    await released.promise
    yield end('late')
  }
  const { profile, take } = await adapted(late, 'tcp', { clock: vectorClock() })
  const stop = new AbortController()
  const taken = take(stop.signal)
  await until(() => profile.service.running !== undefined)
  stop.abort(reason)
  await until(() => profile.runs.cancelled.length > 0)
  await idle(200)
  profile.pass(linkDefaults.cancelMs)
  expect(await taken).toMatchObject({ outcome: 'failed', error: { code: 'aborted' } })
  released.resolve()
})

test('a turn that takes longer than the agent has ends with timeout, and is cancelled at the peer', async () => {
  const asked = Promise.withResolvers<void>()
  const methods: unknown[] = []
  const ground = await Ground.start({
    handler: ({ method }) => {
      methods.push(method)
      if (method !== 'link.ask') return { result: { cancelled: false } }
      asked.resolve()
      return new Promise(() => undefined)
    },
  })
  const result = agentAt(ground, ground.target('unix'), 90_000).takeTurn(turn(), () => undefined)
  await asked.promise
  ground.pass(90_000)
  expect(await result).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
  expect(methods).toEqual(['link.ask', 'link.cancel'])
})

test('each turn is signed with the key of its time; without one it fails', async () => {
  const from: string[] = []
  const ground = await Ground.start({
    pinned: ['alice', 'carol'],
    handler: request => {
      from.push(request.from)
      return { result: { text: 'done' } }
    },
  })
  const clients = [ok(ground.client('alice')), ok(ground.client('carol')), refuse('link_off', 'It is off.')]
  const peers = { client: () => clients.shift()!, target: () => ok(ground.target('unix')) }
  const far = peerAgent({ clock: ground.clock, peers })
  const take = () => far.takeTurn(turn(), () => undefined)
  expect(await take()).toMatchObject({ outcome: 'complete', text: 'done' })
  expect(await take()).toMatchObject({ outcome: 'complete' })
  expect(from).toEqual(['alice', 'carol'].map(name => identityOf(name).id))
  expect(await take()).toMatchObject({ outcome: 'failed', error: { code: 'link_off' } })
})

test('a turn whose signal has fired already asks nobody, and neither does one after close', async () => {
  const { adapter, profile, take } = await adapted()
  expect(await take(AbortSignal.abort(reason))).toMatchObject({ error: { code: 'aborted' }, usage: {} })
  await adapter.close()
  await adapter.close()
  expect(await take()).toMatchObject({ outcome: 'failed', error: { code: 'closed' }, usage: {} })
  expect(profile.runs.requests).toEqual([])
})

test('close aborts the turn that runs and waits for it', async () => {
  const { adapter, profile, take } = await adapted(endless)
  const taken = take()
  await until(() => profile.service.running !== undefined)
  await adapter.close()
  expect(await taken).toMatchObject({ outcome: 'failed', error: { code: 'aborted', details: { reason: 'closed' } } })
  expect(profile.service.running).toBeUndefined()
})

test('a watcher that throws does not break the turn', async () => {
  const { adapter } = await adapted()
  const result = await adapter.takeTurn(turn(), () => {
    throw new Error('a watcher that fails')
  })
  expect(result.outcome).toBe('complete')
})

test('ALP-ASK-09 what the peer refuses is the error of the turn, under its name on the wire', async () => {
  const denied = await adapted(undefined, 'unix', { pinned: { alice: { allow: [] } } })
  expect(await denied.take()).toMatchObject({
    outcome: 'failed',
    error: { code: 'capability-denied', retryable: false, message: expect.stringContaining('bob') },
    usage: {},
  })
  const odd = await Ground.start({ handler: () => ({ error: { code: -1, message: 'odd', data: null } }) })
  expect(await agentAt(odd).takeTurn(turn(), () => undefined)).toMatchObject({ error: { code: 'peer_refused' } })
})

test.each([
  [end('', { outcome: 'cancelled', usage: { usd: 1 } }), { code: 'peer_interrupted' }],
  [
    end('Half.', { outcome: 'failed', error: { code: 'task_failed', message: 'it broke' }, usage: { usd: 1 } }),
    { code: 'peer_failed', message: 'The turn of bob failed there: The agent failed.' },
  ],
])('ALP-ASK-09 a turn that ends there with %j fails here with %j, and its cost comes back', async (part, error) => {
  const { take } = await adapted(saying(part))
  expect(await take()).toMatchObject({ outcome: 'failed', error, usage: { usd: 1 } })
})

test.each([
  [{ text: 'one\n\n[error] no model' }, { outcome: 'failed', error: { code: 'peer_failed' } }],
  [
    { text: 'Broken.', failed: true },
    { outcome: 'failed', error: { code: 'peer_failed' } },
  ],
  [{ text: '[error] is what the log says', failed: false }, { outcome: 'complete' }],
  [{ text: 'There was an [error] once.' }, { outcome: 'complete' }],
])('ALP-ASK-04 the answer %j of a peer, with or without `failed`, is told as %j', async (result, expected) => {
  const place = await Ground.start({ handler: () => ({ result }) })
  expect(await agentAt(place).takeTurn(turn(), () => undefined)).toMatchObject(expected)
})

test('ALP-ASK-09 a busy peer is asked again, and then the turn fails as one that may be tried later', async () => {
  const { profile, take } = await adapted()
  profile.runs.refusal = new ParleyError('overloaded', 'one at a time')
  expect(await take()).toMatchObject({
    error: { code: 'target-busy', retryable: true, message: expect.stringContaining('one at a time') },
  })
  expect(profile.runs.requests).toHaveLength(1 + linkDefaults.busyTries)
})

test('a peer that is not there, or that nobody can find, is a turn that failed', async () => {
  const { profile, take } = await adapted()
  await profile.shut()
  expect(await take()).toMatchObject({ error: { code: 'target-offline', retryable: true } })
  const peers = { client: () => ok(profile.client()), target: () => refuse('unknown_peer', 'No peer is called x.') }
  const lost = peerAgent({ clock: profile.clock, peers })
  expect(await lost.takeTurn(turn(), () => undefined)).toMatchObject({ error: { code: 'unknown_peer' } })
})
