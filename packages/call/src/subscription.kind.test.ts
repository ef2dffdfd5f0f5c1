// CALL-SUB-07: a subscription to an operation of which nobody knows whether it streams.
import { ManualClock, Type } from '@parley/core'
import { expect, test } from 'vitest'
import { callDefaults } from './limits.ts'
import { operation } from './operation.ts'
import { collect } from './testing/head.ts'
import { clientOf, Outage } from './testing/outage.ts'
import { echo, peered, turn } from './testing/peer.ts'
import { joined, WIRES } from './testing/wire.ts'

const IDLE = callDefaults.unknownIdle

test.each(WIRES)(
  'CALL-SUB-07 a query that is subscribed to ends after its value: its type is asked for (%s)',
  async kind => {
    await using pair = await joined(kind, { '/test/echo': echo })
    expect(await collect(pair.caller.subscribe('/test/echo', 7))).toEqual([7])
    expect(await collect(pair.caller.subscribe('/test/echo', 8))).toEqual([8])
    const asked = pair.wire
      .map(({ envelope: { type, payload } }) => type === 'call.requested' && (payload as { name: string }).name)
      .filter(name => name === '/services/schema')
    expect(asked).toHaveLength(1)
    expect([pair.caller.pendingCount, pair.handler.inboundCount]).toEqual([0, 0])
  },
)

test('CALL-SUB-07 a query of a reconnecting client ends the same way', async () => {
  const open = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown(), accessControl: {} }
  const map = { '/test/seven': operation({ ...open, opType: 'query' }, () => 7) }
  const clock = new ManualClock()
  const server = await Outage.start('unix', { operations: map }, clock)
  const { client } = clientOf({ dial: server.dial, clock })
  expect(await collect(client.subscribe('test', 'seven'))).toEqual([7])
  expect(client.link!.pendingCount).toBe(0)
})

/** A peer that has sent the first value of a subscription, and what the subscription has come to. */
async function begun(options: { readonly idleTimeout?: number } = {}) {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const seen: unknown[] = []
  const consume = async () => {
    try {
      for await (const value of link.subscribe('/fs/x', null, options)) seen.push(value)
      seen.push('end')
    } catch (thrown) {
      seen.push((thrown as { code: string }).code)
    }
  }
  void consume()
  const { id } = await peer.next()
  // Before the first value there is no limit.
  if (options.idleTimeout === undefined) clock.advance(10 * IDLE)
  peer.send('call.responded', id, 1)
  const question = await peer.next()
  expect(question.payload).toMatchObject({ name: '/services/schema', input: { name: '/fs/x' } })
  const advance = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  return { peer, id, question: question.id, seen, advance }
}

test('CALL-SUB-07 where the type stays unknown, 30 s of silence from the first value on end the subscription', async () => {
  const { peer, id, question, seen, advance } = await begun()
  peer.send('call.error', question, { code: 'NOT_FOUND', message: 'operation not found' })
  await advance(IDLE - 1)
  peer.send('call.responded', id, 2)
  await turn()
  await advance(IDLE - 1)
  expect(seen).toEqual([1, 2])
  await advance(1)
  expect(seen).toEqual([1, 2, 'TIMEOUT'])
  expect(peer.received.at(-1)).toEqual({ type: 'call.aborted', id, payload: {} })
})

test('CALL-SUB-07 the limit holds while the question is not answered', async () => {
  const { seen, advance } = await begun()
  await advance(IDLE)
  expect(seen).toEqual([1, 'TIMEOUT'])
})

test('CALL-SUB-07 what turns out to stream has no limit any more', async () => {
  const { peer, id, question, seen, advance } = await begun()
  await advance(5000)
  peer.send('call.responded', question, { name: '/fs/x', op_type: 'subscription' })
  await turn()
  await advance(100 * IDLE)
  peer.send('call.responded', id, 2)
  peer.send('call.completed', id)
  await turn()
  expect(seen).toEqual([1, 2, 'end'])
})

test('CALL-SUB-07 the idle time that a caller has set stays, whatever the operation is', async () => {
  const { peer, question, seen, advance } = await begun({ idleTimeout: 2 * IDLE })
  peer.send('call.responded', question, { name: '/fs/x', op_type: 'subscription' })
  await turn()
  await advance(2 * IDLE - 1)
  expect(seen).toEqual([1])
  await advance(1)
  expect(seen).toEqual([1, 'TIMEOUT'])
})

test('CALL-SUB-07 the question is put with the token of the subscription', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x', null, { authToken: 'mine' })[Symbol.asyncIterator]()
  const first = values.next()
  peer.send('call.responded', (await peer.next()).id, 1)
  await first
  expect((await peer.next()).payload).toMatchObject({ name: '/services/schema', auth_token: 'mine' })
  link.close()
})
