// Requests that are wrong (CALL-EVT-03): each gets its own answer, in the order of the rules, and disturbs nothing
// else.
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { callLimits } from '../limits.ts'
import { peered, turn } from '../testing/peer.ts'

const NOW = Date.UTC(2026, 0, 1)

test.each<[string, unknown, string]>([
  ['a payload that is a list', [], 'INVALID_INPUT'],
  ['a payload that is null', null, 'INVALID_INPUT'],
  ['no target', {}, 'INVALID_INPUT'],
  ['a target that is a number', { name: 5 }, 'INVALID_INPUT'],
  ['a path of one segment', { name: '/echo' }, 'INVALID_INPUT'],
  ['a path of four segments', { name: '/a/b/c/d' }, 'INVALID_INPUT'],
  ['a trailing slash', { name: '/test/echo/' }, 'INVALID_INPUT'],
  ['a namespace that is not that of the path', { name: '/test/echo', namespace: 'fs' }, 'INVALID_INPUT'],
  ['a request id that is not that of the envelope', { name: '/test/echo', requestId: 'y' }, 'INVALID_INPUT'],
  ['a deadline that is text', { name: '/test/echo', deadline: 'soon' }, 'INVALID_INPUT'],
  ['an idle timeout below one', { name: '/test/echo', idleTimeout: 0 }, 'INVALID_INPUT'],
  ['metadata that is a list', { name: '/test/echo', metadata: [] }, 'INVALID_INPUT'],
  ['a deadline that is over', { name: '/test/echo', deadline: NOW - 5001 }, 'TIMEOUT'],
  ['an unknown operation', { name: '/test/none' }, 'NOT_FOUND'],
])('CALL-EVT-03 %s is answered with an error, and no handler runs', async (_what, payload, code) => {
  let ran = 0
  const { peer, link } = peered({ '/test/echo': () => ran++ }, { clock: new ManualClock() })
  peer.send('call.requested', 'x', payload)
  await turn()
  expect(peer.received).toMatchObject([{ type: 'call.error', id: 'x', payload: { code } }])
  expect([ran, link.inboundCount, link.closed]).toEqual([0, 0, false])
})

test('CALL-EVT-03 a request that cannot be answered is dropped, and one whose id is taken does not disturb the first', async () => {
  const release: (() => void)[] = []
  const slow = (input: unknown) => new Promise(resolve => release.push(() => resolve(input)))
  const { peer, link } = peered({ '/test/slow': slow })
  peer.send('call.requested', '', { name: '/test/echo' })
  peer.send('call.requested', 'x'.repeat(129), { name: '/test/echo' })
  peer.send('call.requested', 'a', { name: '/test/slow', input: 1 })
  peer.send('call.requested', 'a', { name: '/test/slow', input: 2 })
  peer.send('call.requested', 'a', { name: 'nonsense' })
  peer.send('call.requested', 'x'.repeat(128), { name: '/test/echo' })
  await turn()
  expect(release).toHaveLength(1)
  release[0]!()
  await turn()
  expect(peer.received.map(({ id }) => id)).toEqual(['x'.repeat(128), 'a'])
  expect(peer.received[1]!.payload).toBe(1)
  expect(link.closed).toBe(false)
})

test('CALL-EVT-03 what is not known, and claims that are malformed, are ignored', async () => {
  const seen: unknown[] = []
  const { peer } = peered({
    '/test/who': (_input, { forwardedFor, identity, trusted }) => {
      seen.push({ forwardedFor, identity, trusted })
    },
  })
  const extra = { trusted: true, abortPolicy: 'continue-running', internal: true, surprise: {} }
  peer.send('call.requested', 'a', { name: '/test/who', identity: 'root', forwarded_for: 5, ...extra })
  peer.send('call.requested', 'b', { name: '/test/who', identity: { id: 'root', scopes: ['admin'] } })
  await turn()
  expect(peer.received.map(({ type }) => type)).toEqual(['call.responded', 'call.responded'])
  expect(seen).toEqual([{ trusted: false }, { trusted: false, forwardedFor: { id: 'root', scopes: ['admin'] } }])
})

test('CALL-EVT-03 beyond 1000 requests at once the next is told to come back, but what is wrong is told so first', async () => {
  const { peer, link } = peered({ '/test/never': () => new Promise(() => undefined) })
  for (let n = 0; n < callLimits.inbound; n++) peer.send('call.requested', `n${n}`, { name: '/test/never' })
  await turn()
  expect([link.inboundCount, peer.received.length]).toEqual([1000, 0])
  peer.send('call.requested', 'more', { name: '/test/echo' })
  peer.send('call.requested', 'wrong', { name: 'nonsense' })
  peer.send('call.aborted', 'n0')
  peer.send('call.requested', 'again', { name: '/test/echo' })
  await turn()
  expect(peer.received).toMatchObject([
    { id: 'more', payload: { code: 'RESOURCE_EXHAUSTED', retryable: true } },
    { id: 'wrong', payload: { code: 'INVALID_INPUT' } },
    { id: 'again', type: 'call.responded' },
  ])
})
