// On the wire with a peer in Python, written from the protocol and not from this code: envelopes and streams, then a
// whole profile with ask, cancel, pins and invites; both directions, both transports.
import { ok, ParleyError, SystemClock } from '@parley/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { LinkClient } from './client/client.ts'
import { float, type WireValue } from './json/value.ts'
import { wireText } from './json/write.ts'
import { Ground, streamOf, until } from './testing/ground.ts'
import { peerAgent, turn } from './testing/peer-agents.ts'
import { Profile } from './testing/profile.ts'
import { PYTHON_MISSING, PythonServer, pythonCalls, pythonMissing } from './testing/python.ts'
import { endless, ScriptedRuns } from './testing/scripted-runs.ts'
import { identityOf, identityVector } from './testing/vectors.ts'
import { CARRIERS } from './transport/channel.ts'

const clock = new SystemClock()

beforeEach(({ skip }) => skip(pythonMissing, PYTHON_MISSING))

describe.each(CARRIERS)('over %s', carrier => {
  async function calls(job: object): Promise<unknown[]> {
    const ground = await Ground.start({
      clock,
      handler: ({ method, params }) => {
        if (method === 'link.ping') return { result: { ...params, cost: float(0), tiny: 1e-7 } }
        const chunks = ['Hel', 'lo ✅'].map(text => ({ chunk: { text } }))
        return streamOf(...chunks, { final: { text: 'Hello ✅', cost: float(1) } })
      },
    })
    return pythonCalls(ground.target(carrier), job)
  }

  test('ALP-ENV-05 Python calls us: what it signed is what we read, and the other way round', async () => {
    const params = { nonce: 'é😀\u2028', deep: { '10': [1, 2.5, null, true], '2': 1e21, '\uffff': 1, '😀': -0.0 } }
    const said = await calls({ params })
    expect(said).toMatchObject([
      { result: { nonce: 'é😀\u2028', cost: 0, tiny: 1e-7 }, error: null, stream: null },
      'answered',
    ])
  })

  test('ALP-ENV-14 Python calls us and gets a stream', async () => {
    expect(await calls({ method: 'link.ask' })).toMatchObject([
      { result: { text: 'Hel' }, stream: 'chunk' },
      { result: { text: 'lo ✅' }, stream: 'chunk' },
      { result: { text: 'Hello ✅', cost: 1 }, stream: 'final' },
      'answered',
    ])
  })

  test('ALP-TCP-07 we call Python, again and again, and get what it signed', async () => {
    const { target } = await PythonServer.start(carrier)
    const client = new LinkClient({ identity: identityOf('alice'), clock })
    for (let times = 0; times < 3; times++) {
      const answer = await client.call(target, 'link.ping', { nonce: 'ñ', budget: float(1) })
      if (!answer.ok) throw answer.error.error
      expect(wireText(answer.value)).toBe(
        '{"nonce":"ñ","version":1,"agent_name":"python","cost":0.0,"tiny":1e-07,"large":10000000000000000000000000}',
      )
    }
  })

  test('ALP-UNIX-08 we call Python and get a stream', async () => {
    const { target } = await PythonServer.start(carrier)
    const session = new LinkClient({ identity: identityOf('alice'), clock }).session(target)
    for (let times = 0; times < 2; times++) {
      const chunks: WireValue[] = []
      const onChunk = (chunk: WireValue) => void chunks.push(chunk)
      const answer = await session.call('link.ask', { prompt: 'x', stream: true }, { onChunk })
      expect(answer).toMatchObject({ ok: true, value: { text: 'Hello ✅', cost: float(1) } })
      expect(chunks).toMatchObject([{ text: 'Hel' }, { text: 'lo ✅' }])
    }
    session.close()
  })
})

const alice = identityOf('alice')
const client = new LinkClient({ identity: alice, clock })

beforeEach(({ skip }) => skip(pythonMissing, PYTHON_MISSING))

describe.each(CARRIERS)('over %s', carrier => {
  test('ALP-ASK-03 Python pings and asks us, and is remembered', async () => {
    const profile = await Profile.start({ clock })
    const calls = (job: object) => pythonCalls(profile.target(carrier), job)
    expect(await calls({ params: { nonce: 'ñ' } })).toMatchObject([
      { result: { nonce: 'ñ', version: 1, agent_name: 'bob' }, stream: null },
      'answered',
    ])
    const asked = await calls({ method: 'link.ask', params: { prompt: ' qué? ', budget: { usd: 0.5 } } })
    expect(asked).toEqual([
      {
        result: {
          ...{ text: 'You said: qué?', tokens_in: 10, tokens_out: 5, cost: 0.25, interrupted: false },
          session_id: expect.stringMatching(/^[0-9a-f]{12}$/),
        },
        error: null,
        stream: null,
      },
      'answered',
    ])
    await calls({ method: 'link.ask', params: { prompt: 'more' } })
    expect(profile.runs.requests.map(({ told }) => told?.length)).toEqual([0, 3])
    expect(await calls({ method: 'link.ask', params: {} })).toMatchObject([{ error: { code: -32602 } }, 'answered'])
    expect(await calls({ method: 'link.nope' })).toMatchObject([
      { error: { code: -32001, data: { method: 'link.nope' } } },
      'answered',
    ])
  })

  test('ALP-ASK-06 Python asks us for a stream', async () => {
    const profile = await Profile.start({ clock })
    const job = { method: 'link.ask', params: { prompt: 'hi', stream: true } }
    const all = await pythonCalls(profile.target(carrier), job)
    const said = all as { result: { text: string }; stream: string }[]
    const chunks = said.filter(({ stream }) => stream === 'chunk')
    expect(chunks.map(({ result }) => result.text).join('')).toBe('Hello ✅')
    expect(said.at(-2)).toMatchObject({ result: { text: 'You said: hi' }, stream: 'final' })
    expect(said.at(-1)).toBe('answered')
  })

  test('ALP-CANCEL-01 Python cancels on a connection of its own; and where it hangs up, that is a cancel too', async () => {
    const profile = await Profile.start({ clock, runs: new ScriptedRuns(endless) })
    const job = { do: 'cancel', params: { prompt: 'x', stream: true } }
    const said = await pythonCalls(profile.target(carrier), job)
    expect(said).toMatchObject([
      { result: { text: 'thinking' }, stream: 'chunk' },
      { cancel: { cancelled: true, session_id: expect.any(String) } },
      { result: { text: '[cancelled]', interrupted: true, cost: 0.125 }, stream: 'final' },
    ])
    expect(await pythonCalls(profile.target(carrier), { ...job, leave: true })).toMatchObject([
      { first: { text: 'thinking' } },
    ])
    await until(() => profile.service.running === undefined)
  })

  test('ALP-PEND-01 Python knocks, is accepted, is answered, and is unpinned again', async () => {
    const profile = await Profile.start({ clock, pinned: {} })
    const calls = () => pythonCalls(profile.target(carrier), { params: { nonce: 'n' } })
    expect(await calls()).toEqual(['dropped'])
    const [knocked] = profile.service.pending()
    expect(knocked).toMatchObject({ pubkey: alice.id })
    expect(knocked?.address !== undefined).toBe(carrier === 'tcp')
    expect((await profile.service.accept({ id: 'snake', pubkey: knocked!.pubkey })).ok).toBe(true)
    expect(await calls()).toMatchObject([{ result: { nonce: 'n' } }, 'answered'])
    await profile.service.unpin('snake')
    expect(await calls()).toEqual(['dropped'])
  })

  test('ALP-ENV-08 Python replays, comes with a wrong clock or for another recipient: silence, and no turn', async () => {
    const profile = await Profile.start({ clock })
    const job = { method: 'link.ask', params: { prompt: 'x' } }
    const [, ...twice] = await pythonCalls(profile.target(carrier), { ...job, twice: true })
    expect(twice).toEqual(['answered', 'dropped'])
    for (const wrong of [
      { shift: -121 },
      { shift: 122 },
      { to: identityOf('carol').id, dial: profile.identity.id },
      { seed: identityVector('carol').ed25519_seed_hex },
    ])
      expect(await pythonCalls(profile.target(carrier), { ...job, ...wrong })).toEqual(['dropped'])
    expect(profile.runs.requests).toHaveLength(1)
  })

  test('ALP-ASK-06 we ask Python, in one piece and as it is said', async () => {
    const { target } = await PythonServer.start(carrier)
    expect(await client.ping(target, { nonce: 'n' })).toEqual({ ok: true, value: { version: 1, agentName: 'python' } })
    const answer = { text: 'Hello ✅', tokensIn: 7, tokensOut: 3, cost: 1, interrupted: false }
    expect(await client.ask(target, 'hi')).toMatchObject({ ok: true, value: answer })
    const texts: string[] = []
    expect(await client.ask(target, 'hi', { onText: text => void texts.push(text) })).toMatchObject({
      ok: true,
      value: answer,
    })
    expect(texts).toEqual(['Hel', 'lo ✅'])
    expect(await client.ask(target, ' ')).toMatchObject({
      error: { where: 'remote', error: { message: 'invalid-params' } },
    })
  })

  test('ALP-CANCEL-03 we cancel what Python does for us, and it is busy meanwhile', async () => {
    const { target } = await PythonServer.start(carrier)
    const started = Promise.withResolvers<void>()
    const asking = client.ask(target, 'wait', { onText: () => started.resolve() })
    await started.promise
    expect(await client.ask(target, 'hi')).toMatchObject({
      error: { error: { code: -32007, message: 'target-busy' } },
    })
    const other = new LinkClient({ identity: identityOf('carol'), clock })
    expect(await other.cancel(target)).toEqual({ ok: true, value: false })
    expect(await client.cancel(target)).toEqual({ ok: true, value: true })
    expect(await asking).toMatchObject({ ok: true, value: { interrupted: true, text: '[cancelled]' } })
    expect(await client.cancel(target)).toEqual({ ok: true, value: false })
  })

  test('ALP-CANCEL-01 Python is a worker: its turn is aborted there, and its cost comes back', async () => {
    const { target } = await PythonServer.start(carrier)
    const snake = peerAgent({ clock, peers: { client: () => ok(client), target: () => ok(target) } })
    const stop = new AbortController()
    const enough = () => stop.abort(new ParleyError('operator', 'enough'))
    const result = await snake.takeTurn(turn(stop.signal, { prompt: 'wait' }), enough)
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'aborted' },
      usage: { tokensIn: 7, tokensOut: 3, usd: 1 },
    })
  })

  test('ALP-PEER-04 Python has not pinned us: silence, and it knows who knocked; then it pins us', async () => {
    const server = await PythonServer.start(carrier, [])
    const knock = server.says()
    expect(await client.ping(server.target, { nonce: 'n' })).toMatchObject({
      error: { where: 'local', error: { code: 'link_empty_response' } },
    })
    expect(await knock).toEqual({ knock: alice.id })
    await server.pin(alice.id)
    expect(await client.ping(server.target, { nonce: 'n' })).toMatchObject({ ok: true })
  })
})
