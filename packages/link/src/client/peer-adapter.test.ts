// A peer as an agent, against a whole profile over real sockets.
import {
  ok,
  ParleyError,
  type RunId,
  refuse,
  SystemClock,
  SystemIds,
  type TurnEvent,
  type TurnInput,
  type WorkspaceId,
} from '@parley/core'
import { describe, expect, test } from 'vitest'
import { linkDefaults } from '../limits.ts'
import { vectorClock } from '../testing/clock.ts'
import { Ground, until } from '../testing/ground.ts'
import { Profile, type ProfileOptions } from '../testing/profile.ts'
import { aborted, end, endless, type Script, ScriptedRuns } from '../testing/scripted-runs.ts'
import { CARRIERS, type Carrier } from '../transport/channel.ts'
import { type PeerAdapterOptions, peerAdapter } from './peer-adapter.ts'

const ids = new SystemIds()
const reason = new ParleyError('operator', 'somebody pressed the button')

function input(signal: AbortSignal = new AbortController().signal, more: Partial<TurnInput> = {}): TurnInput {
  return {
    run: ids.next('run') as RunId,
    workspace: ids.next('ws') as WorkspaceId,
    agent: 'peer#1',
    epoch: 1,
    prompt: 'do it',
    context: [],
    signal,
    ...more,
  }
}

async function adapted(
  script?: Script,
  carrier: Carrier = 'unix',
  options: Partial<PeerAdapterOptions> = {},
  profileOptions: ProfileOptions = {},
) {
  const profile = await Profile.start({
    clock: new SystemClock(),
    ...profileOptions,
    ...(script && { runs: new ScriptedRuns(script) }),
  })
  const adapter = peerAdapter(
    profile.client(),
    { id: 'bob', target: () => ok(profile.target(carrier)) },
    { clock: profile.clock, ...options },
  )
  const events: TurnEvent[] = []
  return { profile, adapter, events, emit: (event: TurnEvent) => void events.push(event) }
}

describe.each(CARRIERS)('over %s', carrier => {
  test('ALP-ASK-03 a turn is one ask: its text, and what it cost there', async () => {
    const { adapter, profile, emit } = await adapted(undefined, carrier)
    expect([adapter.name, adapter.kind]).toEqual(['bob', 'peer'])
    const context = [
      { kind: 'directive', title: 'Rules', text: 'be short' },
      { kind: 'workspace', title: 'Where you work', text: 'in a folder that it does not have' },
    ]
    const budget = { usd: 0.5, tokens: 100 }
    expect(await adapter.takeTurn(input(undefined, { context, budget }), emit)).toEqual({
      outcome: 'complete',
      text: 'You said: do it\n\n## Rules\n\nbe short',
      usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 },
    })
    expect(profile.runs.requests[0]?.budget).toEqual(budget)
  })

  test('ALP-CANCEL-01 an abort cancels the turn there, and its cost so far comes back', async () => {
    const { adapter, profile, events, emit } = await adapted(endless, carrier)
    const stop = new AbortController()
    const turn = adapter.takeTurn(input(stop.signal), emit)
    await until(() => profile.service.running !== undefined)
    stop.abort(reason)
    stop.signal.dispatchEvent(new Event('abort'))
    expect(await turn).toMatchObject({
      outcome: 'failed',
      error: { code: 'aborted', cause: reason, details: { reason: 'operator' } },
      usage: { tokensIn: 3, tokensOut: 1, usd: 0.125 },
    })
    expect(profile.service.running).toBeUndefined()
    expect(profile.runs.cancelled).toEqual([[expect.any(String), 'The turn was interrupted: its caller cancelled it.']])
    expect(events).toEqual([])
  })
})

test('ALP-ASK-07 an adapter asks in one piece; where somebody watches, the text comes as it is said', async () => {
  const plain = await adapted()
  await plain.adapter.takeTurn(input(), plain.emit)
  expect(plain.events).toEqual([{ type: 'text', text: 'You said: do it' }])
  const watched = await adapted(undefined, 'tcp', { stream: true })
  await watched.adapter.takeTurn(input(), watched.emit)
  expect(watched.events.map(event => (event.type === 'text' ? event.text : event.type)).join('')).toBe('Hello ✅')
})

test('ALP-CANCEL-02 a peer that does not let us cancel is hung up on, and takes that for a cancel', async () => {
  const { adapter, profile, emit } = await adapted(endless, 'tcp', {}, { pinned: { alice: { allow: ['link.ask'] } } })
  const stop = new AbortController()
  const turn = adapter.takeTurn(input(stop.signal), emit)
  await until(() => profile.service.running !== undefined)
  stop.abort(reason)
  expect(await turn).toMatchObject({ outcome: 'failed', error: { code: 'aborted' }, usage: {} })
  await until(() => profile.service.running === undefined)
  expect(profile.runs.cancelled).toEqual([[expect.any(String), 'The turn was interrupted: its caller is gone.']])
})

test('ALP-CANCEL-01 a peer that does not end is waited for a while, no longer', async () => {
  const released = Promise.withResolvers<void>()
  const { adapter, profile, emit } = await adapted(
    async function* ({ signal }) {
      await aborted(signal)
      await released.promise
      yield end('late')
    },
    'tcp',
    {},
    { clock: vectorClock() },
  )
  const stop = new AbortController()
  const turn = adapter.takeTurn(input(stop.signal), emit)
  await until(() => profile.service.running !== undefined)
  stop.abort(reason)
  await until(() => profile.runs.cancelled.length > 0)
  for (let turns = 0; turns < 200; turns++) await new Promise(resolve => setImmediate(resolve))
  profile.pass(linkDefaults.cancelMs)
  expect(await turn).toMatchObject({ outcome: 'failed', error: { code: 'aborted' } })
  released.resolve()
})

test('a turn whose signal has fired already asks nobody, and neither does one after close', async () => {
  const { adapter, profile, emit } = await adapted()
  expect(await adapter.takeTurn(input(AbortSignal.abort(reason)), emit)).toMatchObject({
    error: { code: 'aborted' },
    usage: {},
  })
  await adapter.close()
  await adapter.close()
  expect(await adapter.takeTurn(input(), emit)).toMatchObject({
    outcome: 'failed',
    error: { code: 'closed' },
    usage: {},
  })
  expect(profile.runs.requests).toEqual([])
})

test('close aborts the turn that runs and waits for it', async () => {
  const { adapter, profile, emit } = await adapted(endless)
  const turn = adapter.takeTurn(input(), emit)
  await until(() => profile.service.running !== undefined)
  await adapter.close()
  expect(await turn).toMatchObject({
    outcome: 'failed',
    error: { code: 'aborted', details: { reason: 'closed' } },
  })
  expect(profile.service.running).toBeUndefined()
})

test('a watcher that throws does not break the turn', async () => {
  const { adapter } = await adapted()
  const result = await adapter.takeTurn(input(), () => {
    throw new Error('a watcher that fails')
  })
  expect(result.outcome).toBe('complete')
})

test('ALP-ASK-09 what the peer refuses is the error of the turn, under its name on the wire', async () => {
  const denied = await adapted(undefined, 'unix', {}, { pinned: { alice: { allow: [] } } })
  expect(await denied.adapter.takeTurn(input(), denied.emit)).toMatchObject({
    outcome: 'failed',
    error: { code: 'capability-denied', retryable: false, message: expect.stringContaining('bob') },
    usage: {},
  })
  const broken = await adapted(async function* () {
    yield end('', { outcome: 'cancelled', usage: { usd: 1 } })
  })
  expect(await broken.adapter.takeTurn(input(), broken.emit)).toMatchObject({
    outcome: 'failed',
    error: { code: 'peer_interrupted' },
    usage: { usd: 1 },
  })
  const failing = await adapted(async function* () {
    const error = { code: 'task_failed', message: 'it broke' }
    yield end('Half of it.', { outcome: 'failed', error, usage: { usd: 1 } })
  })
  expect(await failing.adapter.takeTurn(input(), failing.emit)).toMatchObject({
    outcome: 'failed',
    error: { code: 'peer_failed', message: 'The turn of bob failed there: The agent failed.' },
    usage: { usd: 1 },
  })
  const odd = await Ground.start({ handler: () => ({ error: { code: -1, message: 'odd', data: null } }) })
  const adapter = peerAdapter(odd.client(), { id: 'bob', target: () => ok(odd.target('unix')) }, { clock: odd.clock })
  expect(await adapter.takeTurn(input(), () => undefined)).toMatchObject({ error: { code: 'peer_refused' } })
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
  const peer = { id: 'bob', target: () => ok(place.target('unix')) }
  const adapter = peerAdapter(place.client(), peer, { clock: place.clock })
  expect(await adapter.takeTurn(input(), () => undefined)).toMatchObject(expected)
})

test('ALP-ASK-09 a busy peer is asked again, and then the turn fails as one that may be tried later', async () => {
  const profile = await Profile.start({ clock: new SystemClock() })
  profile.runs.refusal = new ParleyError('overloaded', 'one at a time')
  const adapter = peerAdapter(
    profile.client(),
    { id: 'bob', target: () => ok(profile.target()) },
    { clock: profile.clock },
  )
  expect(await adapter.takeTurn(input(), () => undefined)).toMatchObject({
    error: { code: 'target-busy', retryable: true, message: expect.stringContaining('one at a time') },
  })
  expect(profile.runs.requests).toHaveLength(1 + linkDefaults.busyTries)
})

test('a peer that is not there, or that nobody can find, is a turn that failed', async () => {
  const { adapter, profile, emit } = await adapted()
  await profile.shut()
  expect(await adapter.takeTurn(input(), emit)).toMatchObject({
    error: { code: 'target-offline', retryable: true },
  })
  const lost = peerAdapter(
    profile.client(),
    { id: 'x', target: () => refuse('unknown_peer', 'No peer is called x.') },
    { clock: profile.clock },
  )
  expect(await lost.takeTurn(input(), emit)).toMatchObject({ error: { code: 'unknown_peer' } })
})
