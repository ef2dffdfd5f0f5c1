// On the wire with a peer in Python, written from the protocol and not from this code: both directions, both
// transports.
import { SystemClock } from '@parley/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { LinkClient } from './client/client.ts'
import type { Target } from './client/target.ts'
import type { WireValue } from './json/value.ts'
import { float } from './json/value.ts'
import { wireText } from './json/write.ts'
import { Ground } from './testing/ground.ts'
import { PYTHON_MISSING, PythonServer, pythonCalls, pythonMissing } from './testing/python.ts'
import { identityOf, identityVector } from './testing/vectors.ts'
import { CARRIERS, type Carrier } from './transport/channel.ts'

const clock = new SystemClock()

beforeEach(({ skip }) => skip(pythonMissing, PYTHON_MISSING))

function calls(ground: Ground, carrier: Carrier, job: object): Promise<unknown[]> {
  return pythonCalls(ground.target(carrier), job)
}

async function serving(carrier: Carrier): Promise<Target> {
  return (await PythonServer.start(carrier)).target
}

describe.each(CARRIERS)('over %s', carrier => {
  const ground = (pinned = ['alice']) =>
    Ground.start({
      clock,
      pinned,
      handler: ({ method, params }) => {
        if (method === 'link.ping') return { result: { ...params, cost: float(0), tiny: 1e-7 } }
        return {
          stream: (async function* () {
            for (const text of ['Hel', 'lo ✅']) yield { chunk: { text } }
            yield { final: { text: 'Hello ✅', cost: float(1) } }
          })(),
        }
      },
    })

  test('ALP-ENV-05 Python calls us: what it signed is what we read, and the other way round', async () => {
    const params = {
      nonce: 'é😀\u2028',
      deep: { '10': [1, 2.5, null, true], '2': 1e21, '\uffff': 1, '😀': -0.0 },
    }
    const said = await calls(await ground(), carrier, { params })
    expect(said).toMatchObject([
      { result: { nonce: 'é😀\u2028', cost: 0, tiny: 1e-7 }, error: null, stream: null },
      'answered',
    ])
  })

  test('ALP-ENV-14 Python calls us and gets a stream', async () => {
    expect(await calls(await ground(), carrier, { method: 'link.ask' })).toMatchObject([
      { result: { text: 'Hel' }, stream: 'chunk' },
      { result: { text: 'lo ✅' }, stream: 'chunk' },
      { result: { text: 'Hello ✅', cost: 1 }, stream: 'final' },
      'answered',
    ])
  })

  test('ALP-ENV-08 Python replays, comes with a wrong clock, or is not pinned: silence', async () => {
    const here = await ground()
    expect((await calls(here, carrier, { twice: true })).slice(1)).toEqual(['answered', 'dropped'])
    expect(await calls(here, carrier, { shift: -121 })).toEqual(['dropped'])
    expect(await calls(here, carrier, { shift: 122 })).toEqual(['dropped'])
    expect(await calls(here, carrier, { to: identityOf('carol').id, dial: here.identity.id })).toEqual(['dropped'])
    expect(await calls(here, carrier, { seed: identityVector('carol').ed25519_seed_hex })).toEqual(['dropped'])
    expect(here.strangers.map(([identity]) => identity)).toEqual([identityOf('carol').id])
  })

  test('ALP-TCP-07 we call Python, again and again, and get what it signed', async () => {
    const target = await serving(carrier)
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
    const target = await serving(carrier)
    const session = new LinkClient({ identity: identityOf('alice'), clock }).session(target)
    for (let times = 0; times < 2; times++) {
      const chunks: WireValue[] = []
      const answer = await session.call(
        'link.ask',
        { prompt: 'x', stream: true },
        { onChunk: chunk => void chunks.push(chunk) },
      )
      expect(answer).toMatchObject({ ok: true, value: { text: 'Hello ✅', cost: float(1) } })
      expect(chunks).toMatchObject([{ text: 'Hel' }, { text: 'lo ✅' }])
    }
    session.close()
  })
})
