// `parley-call/1` on real sockets: the suite of every transport, who comes in, what a stranger gets, what ends a
// connection, and that the two protocols on one key cannot be taken for each other.
import { connect } from 'node:net'
import {
  CallNode,
  callLimits,
  connectClient,
  type Link,
  OperationRegistry,
  operation,
  type Transport,
} from '@parley/call'
import { Recorder, transportCompliance } from '@parley/call/compliance'
import { type Principal, SystemClock, Type } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { TAG_BYTES } from '../noise/cipher.ts'
import { Initiator, type Session } from '../noise/handshake.ts'
import { framed, Ground, RawPeer, until } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'
import { dialCall } from './dial-call.ts'
import { CALL_PROLOGUE, type CallListening, listenCall } from './listen-call.ts'

const [alice, bob, carol] = [identityOf('alice'), identityOf('bob'), identityOf('carol')]
const clock = new SystemClock()

transportCompliance(
  'Noise',
  async ({ left: caller, right: called, maxBody }) => {
    const accepted = Promise.withResolvers<Transport>()
    const listening = await listenCall({
      host: '127.0.0.1',
      port: 0,
      identity: bob,
      clock,
      pins: { identities: () => new Set([alice.id]) },
      principal: () => caller,
      accept: accepted.resolve,
      ...(maxBody !== undefined && { maxBody }),
    })
    const target = { identity: bob.id, at: { host: '127.0.0.1', port: listening.port } }
    const how = { own: alice, clock, timeoutMs: 5000 }
    const dialled = await dialCall(target, { ...how, ...(called && { principal: called }) })
    if (!dialled.ok) throw dialled.error
    return { left: dialled.value, right: await accepted.promise, dispose: () => listening.close() }
  },
  { kind: 'noise', queues: true, carries: 'bytes', keeps: true },
)

const PEER: Principal = { id: 'alp:SHA256:alice', kind: 'peer', name: 'alice', scopes: [] }

function greeting(words: string, more: Promise<void> = Promise.resolve()): OperationRegistry {
  const schemas = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown() }
  const spec = { name: '/test/echo', opType: 'query', accessControl: {}, ...schemas } as const
  const who = { ...spec, name: '/test/who' } as const
  const count = { ...spec, name: '/test/count', opType: 'subscription' } as const
  return new OperationRegistry({
    '/test/echo': operation(spec, input => [words, input]),
    '/test/count': operation(count, async function* () {
      yield 1
      await more
      yield 2
    }),
    '/test/who': operation(who, (_input, { identity }) => identity ?? null),
  })
}

/** Bob's node, listening for calls. */
class CallGround {
  readonly pinned = new Set([alice.id])
  readonly accepted: Transport[] = []
  readonly links: Link[] = []
  readonly failed: string[] = []
  /** When it resolves, a count goes on. */
  readonly more = Promise.withResolvers<void>()
  readonly node = new CallNode({ registry: greeting('bob says', this.more.promise), clock })
  unreadable = false
  listening!: CallListening

  /** `accept`: what becomes of a transport; a link of the node, unless a test says otherwise. */
  static async start(accept?: (transport: Transport) => void): Promise<CallGround> {
    const ground = new CallGround()
    ground.listening = await listenCall({
      host: '127.0.0.1',
      port: 0,
      identity: bob,
      clock,
      pins: {
        identities: () => {
          if (ground.unreadable) throw new Error('the list cannot be read')
          return ground.pinned
        },
      },
      principal: () => PEER,
      accept: transport => {
        ground.accepted.push(transport)
        if (accept) accept(transport)
        else ground.links.push(ground.node.attach(transport))
      },
      log: { failed: what => ground.failed.push(what) },
    })
    onTestFinished(() => ground.listening.close())
    return ground
  }

  get target() {
    return { identity: bob.id, at: { host: '127.0.0.1', port: this.listening.port } }
  }

  async dial(own = alice): Promise<Transport> {
    const dialled = await dialCall(this.target, { own, clock, timeoutMs: 5000 })
    if (!dialled.ok) throw dialled.error
    onTestFinished(() => dialled.value.close())
    return dialled.value
  }

  /** A caller that speaks for itself, past the handshake. */
  async raw(own = alice): Promise<{ readonly peer: RawPeer; readonly session: Session }> {
    const peer = await RawPeer.connected(connect(this.listening.port, '127.0.0.1'))
    const initiator = new Initiator(own.noise, bob.noise.publicKey, { prologue: CALL_PROLOGUE })
    peer.write(framed(2, initiator.first()!))
    if (!initiator.second(await peer.frame(2))) throw new Error('the handshake failed')
    const { message, session } = initiator.third()!
    peer.write(framed(2, message))
    return { peer, session }
  }

  async expectServed(): Promise<void> {
    const client = connectClient({ dial: () => this.dial(), clock })
    expect((await client.invoke('test', 'echo', 1)).result).toEqual({ ok: true, value: ['bob says', 1] })
    client.close()
  }
}

test('a pinned peer calls operations, and is called back on the same connection', async () => {
  const ground = await CallGround.start()
  const node = new CallNode({ registry: greeting('alice says'), clock })
  const link = node.attach(await ground.dial())
  expect(await link.call('/test/echo', { text: 'é😀' })).toEqual(['bob says', { text: 'é😀' }])
  expect(await link.call('/test/who', {})).toEqual(PEER)
  expect(await ground.links[0]!.call('/test/echo', [1])).toEqual(['alice says', [1]])
})

test('an envelope may be as large as the call protocol allows, in as many frames as it needs', async () => {
  const ground = await CallGround.start()
  const link = new CallNode({ registry: new OperationRegistry(), clock }).attach(await ground.dial())
  // Room for the envelope around it, and for the answer's.
  const text = 'x'.repeat(callLimits.frameBytes - 1024)
  const [, said] = (await link.call('/test/echo', text)) as [string, string]
  expect(said.length).toBe(text.length)
  expect(text.length).toBeGreaterThan(60 * linkLimits.frameBytes)
})

/** A frame that holds these bytes. */
function sealed(session: Session, plaintext: Buffer): Buffer {
  const frame = Buffer.alloc(plaintext.length + TAG_BYTES)
  session.sending.encrypt(frame, plaintext)
  return framed(4, frame)
}

test('a stranger gets the one message of the handshake and no byte more, whatever it says', async () => {
  const ground = await CallGround.start()
  const { peer, session } = await ground.raw(carol)
  peer.write(sealed(session, Buffer.alloc(100)))
  await peer.expectSilence()
  expect(ground.accepted).toEqual([])
  await ground.expectServed()
})

test('where the list of peers cannot be read, everybody is a stranger', async () => {
  const ground = await CallGround.start()
  ground.unreadable = true
  const { peer } = await ground.raw()
  await peer.expectSilence()
  expect(ground.failed).toContain('the list of peers')
})

test('a peer that was unpinned gets no answer any more, and its connection closes', async () => {
  const ground = await CallGround.start()
  const link = new CallNode({ registry: new OperationRegistry(), clock }).attach(await ground.dial())
  expect(await link.call('/test/echo', 1)).toEqual(['bob says', 1])
  ground.pinned.delete(alice.id)
  await expect(link.call('/test/echo', 2)).rejects.toMatchObject({ code: 'INTERNAL' })
  await until(() => ground.node.links.length === 0)
})

test('a subscription of a peer that was unpinned brings nothing more', async () => {
  const ground = await CallGround.start()
  const link = new CallNode({ registry: new OperationRegistry(), clock }).attach(await ground.dial())
  const values = link.subscribe('/test/count', {})[Symbol.asyncIterator]()
  expect(await values.next()).toEqual({ done: false, value: 1 })
  ground.pinned.delete(alice.id)
  ground.more.resolve()
  await expect(values.next()).rejects.toMatchObject({ code: 'INTERNAL' })
  await until(() => ground.node.links.length === 0)
})

test('a caller of the other protocol fails as with a wrong key, on either port, and gets no byte', async () => {
  const ground = await CallGround.start()
  const alp = await Ground.start({ clock })
  const asked = await alp.client().call(ground.target, 'link.ping')
  expect(asked).toMatchObject({ ok: false, error: { error: { code: 'link_handshake_failed' } } })
  const target = { identity: bob.id, at: { host: '127.0.0.1', port: alp.server.port! } }
  const dialled = await dialCall(target, { own: alice, clock, timeoutMs: 5000 })
  expect(dialled).toMatchObject({ ok: false, error: { code: 'link_handshake_failed' } })
  for (const [port, prologue] of [
    [ground.listening.port, Buffer.alloc(0)],
    [alp.server.port!, CALL_PROLOGUE],
  ] as const) {
    const peer = await RawPeer.connected(connect(port, '127.0.0.1'))
    peer.write(framed(2, new Initiator(alice.noise, bob.noise.publicKey, { prologue }).first()!))
    await peer.expectSilence()
  }
  await ground.expectServed()
})

test('who holds the key of somebody else is refused by the dialler', async () => {
  const ground = await CallGround.start()
  const dialled = await dialCall({ ...ground.target, identity: carol.id }, { own: alice, clock, timeoutMs: 5000 })
  expect(dialled).toMatchObject({ ok: false, error: { code: 'link_handshake_failed' } })
})

const spoilt: Readonly<Record<string, (session: Session) => Buffer>> = {
  'altered frame': session => {
    const frame = sealed(session, Buffer.alloc(40))
    frame[11]! ^= 1
    return frame
  },
  'frame over the limit': () => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(linkLimits.frameBytes + 1)
    return length
  },
  'frame without a tag': () => framed(4, Buffer.alloc(3)),
  'frame that is no envelope': session => sealed(session, Buffer.from('\0\0\0\u0005hello')),
}

test.each(Object.keys(spoilt))('an %s ends its connection, and no other', async name => {
  const ground = await CallGround.start()
  const { peer, session } = await ground.raw()
  await until(() => ground.accepted.length === 1)
  peer.write(spoilt[name]!(session))
  await peer.closed
  await until(() => ground.node.links.length === 0)
  await ground.expectServed()
})

test('what waits for a peer that does not read is not touched by what is sent to another', async () => {
  const ground = await CallGround.start(() => undefined)
  const { accepted } = ground
  const dial = async () => {
    const transport = await ground.dial()
    transport.start(new Recorder())
    return transport
  }
  const message = (letter: string) => JSON.stringify({ type: 'topic.test', id: '1', payload: letter.repeat(2 ** 20) })
  const [slow, fast] = [await dial(), await dial()]
  await until(() => accepted.length === 2)
  for (let index = 0; index < 12; index++) slow.send(message('s'))
  // As much as the system takes, and no more: the rest is in a buffer of ours.
  await until(() => slow.queued > 0)
  const other = new Recorder()
  accepted[1]!.start(other)
  for (let index = 0; index < 12; index++) fast.send(message('f'))
  await other.untilEnvelopes(12)
  expect(slow.queued).toBeGreaterThan(0)
  const heard = new Recorder()
  accepted[0]!.start(heard)
  await heard.untilEnvelopes(12)
  expect(heard.envelopes.every(({ payload }) => /^s+$/.test(payload as string))).toBe(true)
  expect(other.envelopes.every(({ payload }) => /^f+$/.test(payload as string))).toBe(true)
})

test('closing lets out what was sent, takes nobody else, and may be repeated', async () => {
  const ground = await CallGround.start()
  const client = await ground.dial()
  let heard = 0
  const closed = new Promise<string>(resolve =>
    client.start({ envelope: () => heard++, violation: () => undefined, drain: () => undefined, closed: resolve }),
  )
  await until(() => ground.accepted.length === 1)
  const half = await RawPeer.connected(connect(ground.listening.port, '127.0.0.1'))
  const text = JSON.stringify({ type: 'topic.test', id: '1', payload: 'x'.repeat(100_000) })
  for (let index = 0; index < 200; index++) ground.accepted[0]!.send(text)
  await Promise.all([ground.listening.close(), ground.listening.close()])
  await closed
  await half.closed
  expect(heard).toBe(200)
  const late = await dialCall(ground.target, { own: alice, clock, timeoutMs: 5000 })
  expect(late).toMatchObject({ ok: false, error: { code: 'target-offline' } })
})
