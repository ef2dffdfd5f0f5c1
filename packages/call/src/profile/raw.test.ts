// All five events (CALL-EVT-01) in all three spellings over TCP, against bytes that no part of this package made.
import { expect, test } from 'vitest'
import type { CallError } from '../error.ts'
import { CallNode } from '../node.ts'
import { acceptBytes, BytePeer, frameOf, registryOf, SPELLED } from '../testing/peer.ts'
import { connectTcp, listenTcp } from '../transport/sockets.ts'
import type { Envelope } from '../wire/envelope.ts'
import { type ProfileName, requestIdOf } from './profile.ts'

interface Spelling {
  readonly name: ProfileName
  request(id: string, operation: string, input: string): string
  responded(id: string, value: string): unknown
  readonly ended: (type: string, id: string) => unknown
  error(id: string): unknown
}

const NOT_FOUND = { code: 'NOT_FOUND', message: 'operation not found: /test/none', retryable: false }

/** What SEED and CORE have in common: the request id is in the envelope. */
const IN_ENVELOPE = {
  ended: (type: string, id: string) => ({ type, id, payload: {} }),
  error: (id: string) => ({ type: 'call.error', id, payload: NOT_FOUND }),
}

const SPELLINGS: readonly Spelling[] = [
  {
    ...IN_ENVELOPE,
    name: 'seed',
    request: (id, operation, input) =>
      `{"type":"call.requested","id":"${id}","payload":{"name":"/test/${operation}","input":${input}}}`,
    responded: (id, value) => ({ type: 'call.responded', id, payload: JSON.parse(value) }),
  },
  {
    ...IN_ENVELOPE,
    name: 'core',
    request: (id, operation, input) =>
      `{"type":"call.requested","id":"${id}","payload":{"operationId":"/test/${operation}","input":${input}}}`,
    responded: (id, value) => ({ type: 'call.responded', id, payload: { output: JSON.parse(value) } }),
  },
  {
    name: 'ops',
    request: (id, operation, input) =>
      `{"type":"call.requested","id":"","payload":{"requestId":"${id}","operationId":"test.${operation}","input":${input}}}`,
    responded: (requestId, value) => {
      const output = { data: JSON.parse(value), meta: expect.anything() }
      return { type: 'call.responded', id: '', payload: { requestId, output } }
    },
    ended: (type, requestId) => ({ type, id: '', payload: { requestId } }),
    error: requestId => {
      const payload = { requestId, code: 'OPERATION_NOT_FOUND', message: NOT_FOUND.message }
      return { type: 'call.error', id: '', payload }
    },
  },
]

test.each(SPELLINGS)('CALL-EVT-01 a raw caller over TCP gets every event of its requests in $name', async spelling => {
  const closed: string[] = []
  const node = new CallNode({
    registry: registryOf({
      '/test/echo': input => input,
      '/test/count': async function* (most) {
        for (let n = 1; n <= (most as number); n++) yield n
      },
      '/test/wait': async function* (_input, { requestId, signal }) {
        try {
          yield 'waiting'
          await new Promise(resolve => signal.addEventListener('abort', resolve))
        } finally {
          closed.push(requestId)
        }
      },
    }),
  })
  const listening = await listenTcp({}, transport => node.attach(transport))
  const peer = await BytePeer.connect({ port: listening.port! })
  const answers = async (count: number) => {
    const envelopes: Envelope[] = []
    while (envelopes.length < count) envelopes.push(await peer.next())
    return envelopes
  }
  peer.body(spelling.request('r1', 'echo', '{"path":"ä"}'))
  expect(await answers(1)).toEqual([spelling.responded('r1', '{"path":"ä"}')])
  peer.body(spelling.request('r2', 'none', 'null'))
  expect(await answers(1)).toEqual([spelling.error('r2')])
  peer.body(spelling.request('r3', 'count', '2'))
  expect(await answers(3)).toEqual([
    spelling.responded('r3', '1'),
    spelling.responded('r3', '2'),
    spelling.ended('call.completed', 'r3'),
  ])
  peer.body(spelling.request('r4', 'wait', 'null'))
  expect(await answers(1)).toEqual([spelling.responded('r4', '"waiting"')])
  // Nothing more comes for what was aborted: the next answer is that of the next request.
  const abort = JSON.stringify(spelling.ended('call.aborted', 'r4'))
  peer.bytes(Buffer.concat([frameOf(abort), frameOf(spelling.request('r5', 'echo', '5'))]))
  expect(await answers(1)).toEqual([spelling.responded('r5', '5')])
  expect(closed).toEqual(['r4'])
  await peer.close()
  await listening.close()
})

test.each(SPELLINGS)(
  'CALL-EVT-01 a raw handler over TCP that answers in $name is understood in every event',
  async spelling => {
    const accepting = await acceptBytes()
    const node = new CallNode({ registry: registryOf({}) })
    const link = node.attach(await connectTcp({ port: accepting.port }), { profile: spelling.name })
    const peer = await accepting.peer
    const asked = async () => {
      const envelope = await peer.next()
      expect(envelope).toMatchObject(SPELLED[spelling.name])
      return requestIdOf(envelope.id, envelope.payload)
    }
    const answer = (envelope: unknown) => peer.body(JSON.stringify(envelope))

    const called = link.call('/fs/x', { path: 'ä' })
    answer(spelling.responded(await asked(), '{"a":[1,null]}'))
    expect(await called).toEqual({ a: [1, null] })

    const refused = link.call('/fs/x')
    answer(spelling.error(await asked()))
    await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND', retryable: false })

    const abandoned = link.call('/fs/x')
    answer(spelling.ended('call.aborted', await asked()))
    await expect(abandoned).rejects.toMatchObject({ code: 'ABORTED' })

    const values = link.subscribe('/fs/x', null, { single: false })[Symbol.asyncIterator]()
    const first = values.next()
    const id = await asked()
    answer(spelling.responded(id, '1'))
    answer(spelling.responded(id, '2'))
    answer(spelling.ended('call.completed', id))
    expect([await first, await values.next(), await values.next()]).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
    ])

    const left = link.call('/fs/x', null, { requestId: 'mine' }).catch((cause: CallError) => cause.code)
    expect(await asked()).toBe('mine')
    link.abort('mine')
    expect(await peer.next()).toEqual(spelling.ended('call.aborted', 'mine'))
    expect(await left).toBe('ABORTED')
    await peer.close()
    await accepting.close()
  },
)
