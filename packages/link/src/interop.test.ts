// On the wire with a peer in Python, written from the protocol and not from this code: both directions, both
// transports.
import { SystemClock } from '@parley/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { LinkClient } from './client/client.ts'
import { float, type WireValue } from './json/value.ts'
import { wireText } from './json/write.ts'
import { Ground, streamOf } from './testing/ground.ts'
import { PYTHON_MISSING, PythonServer, pythonCalls, pythonMissing } from './testing/python.ts'
import { identityOf } from './testing/vectors.ts'
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
    const params = {
      nonce: 'é😀\u2028',
      deep: { '10': [1, 2.5, null, true], '2': 1e21, '\uffff': 1, '😀': -0.0 },
    }
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
