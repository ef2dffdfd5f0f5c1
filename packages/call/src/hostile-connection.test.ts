// Connections and peers that wear a node out (CALL-TRANS-01, CALL-PEND, CALL-ROUTE-05, -06): masses that say nothing,
// peers that never answer, never authenticate, never close, and workers that register nonsense. Every bound is reached,
// and nobody is kept out by it.
import { connect, type Socket } from 'node:net'
import { ManualClock, type Principal } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { CallError } from './error.ts'
import { callDefaults, callLimits } from './limits.ts'
import type { Link } from './link/link.ts'
import { CallNode, type NodeOptions } from './node.ts'
import { selfSigned } from './testing/certificate.ts'
import { temporaryPath } from './testing/folder.ts'
import { askToRegister, listed, principal, TestHead, workerPrincipal } from './testing/head.ts'
import { heldBytes } from './testing/memory.ts'
import { acceptBytes, BytePeer, echo, frameOf, registryOf, turn } from './testing/peer.ts'
import { connectTcp, connectUnix, type ListenOptions, listenTls, listenUnix } from './transport/sockets.ts'

const handlers = { '/test/echo': echo, '/test/large': (input: unknown) => 'x'.repeat(Number(input)) }

interface Listener {
  readonly node: CallNode
  readonly path: string
  /** A client of ours; closed with the test. */
  client(): Promise<Link>
  /** A connection that says and reads nothing. */
  silent(): Promise<Socket>
}

async function listener(options: ListenOptions = {}, nodeOptions: Partial<NodeOptions> = {}): Promise<Listener> {
  const path = temporaryPath()
  const node = new CallNode({ registry: registryOf(handlers), ...nodeOptions })
  const listening = await listenUnix(path, transport => void node.attach(transport), options)
  onTestFinished(() => listening.close())
  return {
    node,
    path,
    client: async () => {
      const link = new CallNode({ registry: registryOf({}) }).attach(await connectUnix(path))
      onTestFinished(() => link.close())
      return link
    },
    silent: () =>
      new Promise((resolve, reject) => {
        const socket = connect({ path, allowHalfOpen: true })
        onTestFinished(() => void socket.destroy())
        socket.once('error', reject)
        socket.once('connect', () => {
          socket.off('error', reject)
          socket.on('error', () => undefined)
          resolve(socket)
        })
      }),
  }
}

test('CALL-TRANS-01 thousands of connections that say nothing keep nobody out', async () => {
  const most = 500
  const { node, client, silent } = await listener({ maxConnections: most })
  const early = await client()
  expect(await early.call('/test/echo', 1)).toBe(1)
  let widest = 0
  for (let wave = 0; wave < 30; wave++) {
    await Promise.all(Array.from({ length: 100 }, silent))
    widest = Math.max(widest, node.links.length)
    const late = await client()
    expect(await late.call('/test/echo', wave)).toBe(wave)
    expect(await early.call('/test/echo', wave)).toBe(wave)
  }
  // One that gives way is counted until its socket has closed.
  expect(widest).toBeLessThan(most + 100)
  while (node.links.length > most) await turn()
  expect(node.links.length).toBe(most)
  // Nobody who has spoken had to go, however old.
  expect(early.closed).toBe(false)
}, 40_000)

test('CALL-TRANS-01 where everybody has spoken or is known, a further connection is refused', async () => {
  const known: Principal = principal('known')
  let next: Principal | undefined
  const { node, client, silent, path } = await listener({ maxConnections: 3, authenticate: () => next })
  const first = await client()
  await first.call('/test/echo')
  next = known
  await silent()
  await silent()
  while (node.links.length < 3) await turn()
  next = undefined
  const refused = await BytePeer.connect({ path })
  await refused.closed
  expect(node.links.length).toBe(3)
  first.close()
  while (node.links.length > 2) await turn()
  expect(await (await client()).call('/test/echo', 1)).toBe(1)
})

test('CALL-TRANS-01 a connection that does not prove in time who it is is ended', async () => {
  const clock = new ManualClock()
  let asked = 0
  const { node, path } = await listener({
    clock,
    authenticate: () => {
      asked++
      return new Promise(() => undefined)
    },
  })
  const peers = await Promise.all(Array.from({ length: 50 }, () => BytePeer.connect({ path })))
  while (asked < 50) await turn()
  clock.advance(callDefaults.handshake - 1)
  await turn()
  expect(peers.every(({ socket }) => !socket.destroyed)).toBe(true)
  clock.advance(1)
  await Promise.all(peers.map(({ closed }) => closed))
  expect(node.links).toEqual([])
  expect(clock.pending).toBe(0)
})

test.for(['the peer', 'this side'] as const)(
  'CALL-TRANS-01 what waits for a peer that reads no more is given up a while after %s has closed',
  async who => {
    const clock = new ManualClock()
    const { node, silent } = await listener({ clock })
    const socket = await silent()
    const payload = { name: '/test/large', input: 16 * 2 ** 20 }
    socket.write(frameOf(JSON.stringify({ type: 'call.requested', id: 'r', payload })))
    while (node.links.length === 0 || node.links[0]!.transport.queued < 8 * 2 ** 20) await turn()
    if (who === 'the peer') socket.end()
    else node.close()
    while (node.links.length > 0) await turn()
    expect(clock.pending).toBe(1)
    clock.advance(callDefaults.closeGrace)
    let came = 0
    socket.on('data', (chunk: Buffer) => {
      came += chunk.length
    })
    await new Promise<void>(resolve => {
      socket.once('end', resolve)
      socket.once('close', () => resolve())
    })
    // Only what the operating system had taken already.
    expect(came).toBeLessThan(4 * 2 ** 20)
  },
)

test('CALL-TRANS-07 connections that never finish their TLS handshake end with the listener', async () => {
  const accepted: unknown[] = []
  const listening = await listenTls({ tls: selfSigned() }, transport => accepted.push(transport))
  const peers = await Promise.all(Array.from({ length: 50 }, () => BytePeer.connect({ port: listening.port! })))
  // The first bytes of a handshake, and no more; from another, bytes that are none.
  peers[0]!.bytes('1603010200')
  peers[1]!.bytes(frameOf('{"type":"a","id":"","payload":1}'))
  await peers[1]!.closed
  await listening.close()
  await Promise.all(peers.map(({ closed }) => closed))
  expect(accepted).toEqual([])
})

test('CALL-PEND-06 a peer that never answers is asked 10,000 things, and all that it does not answer time out', async () => {
  const clock = new ManualClock()
  const server = await acceptBytes()
  const link = new CallNode({ registry: registryOf({}), clock }).attach(await connectTcp({ port: server.port }))
  const peer = await server.peer
  const before = await heldBytes()
  const failed: string[] = []
  const calls = Array.from({ length: callLimits.pending }, (_, index) =>
    link.call('/a/b', index).catch((error: CallError) => failed.push(error.code)),
  )
  await expect(link.call('/a/b')).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: true })
  expect(link.pendingCount).toBe(callLimits.pending)
  // An answer makes room for one more.
  peer.send('call.responded', (await peer.next()).id, 'first')
  while (link.pendingCount === callLimits.pending) await turn()
  calls.push(link.call('/a/b').catch((error: CallError) => failed.push(error.code)))
  clock.advance(callDefaults.timeout)
  await Promise.all(calls)
  expect(failed).toEqual(Array.from({ length: callLimits.pending }, () => 'TIMEOUT'))
  expect(link.pendingCount).toBe(0)
  // It is told about every one, once.
  const told = 2 * callLimits.pending + 1
  while (peer.received.length < told) await turn()
  expect((await heldBytes()) - before).toBeLessThan(16 * 2 ** 20)
  link.close()
  await peer.closed
  expect(peer.received).toHaveLength(told)
  await server.close()
})

test('CALL-ROUTE-05 a thousand calls of an operation without a spec ask its worker once', async () => {
  const clock = new ManualClock()
  const head = new TestHead({ clock })
  const client = await head.join()
  const peer = await head.peer(workerPrincipal('w'))
  askToRegister(peer, 'r', 'w', ['/a/b'])
  peer.send('call.error', (await peer.next()).id, { code: 'NOT_FOUND', message: '', retryable: false })
  expect((await peer.next()).id).toBe('r')
  const calls = Array.from({ length: 1000 }, () => client.callEnvelope('/w/a/b'))
  const question = await peer.next()
  while (head.node.links.every(({ inboundCount }) => inboundCount < 1000)) await turn()
  expect(peer.received).toHaveLength(3)
  peer.send('call.error', question.id, { code: 'NOT_FOUND', message: '', retryable: false })
  for (const { result } of await Promise.all(calls)) expect(result.ok || result.error.code).toBe('FORBIDDEN')
  expect(peer.received).toHaveLength(3)
})

test('CALL-ROUTE-06 of two registrations at once the later one holds, whichever specs come first', async () => {
  const head = new TestHead()
  const peer = await head.peer(workerPrincipal('w'))
  const spec = (name: string) => ({ name, op_type: 'query', access_control: {} })
  askToRegister(peer, 'old', 'w', ['/a/old', spec('/a/b')])
  const question = await peer.next()
  askToRegister(peer, 'new', 'w', [spec('/a/new')])
  await turn()
  peer.send('call.responded', question.id, spec('/a/old'))
  expect([(await peer.next()).id, (await peer.next()).id]).toEqual(['old', 'new'])
  const client = await head.join()
  expect((await listed(client)).filter(name => name.startsWith('/w/'))).toEqual(['/w/a/new'])
})

test('CALL-PEND-03 a link does not hold on to what its calls were answered with', async () => {
  const { client } = await listener()
  const link = await client()
  await link.call('/test/large', 2 ** 20)
  const before = await heldBytes()
  for (let call = 0; call < 200; call++) await link.call('/test/large', 2 ** 20)
  expect((await heldBytes()) - before).toBeLessThan(16 * 2 ** 20)
})
