// Frames (CALL-WIRE-01 to -05): the golden vectors, any chunking, and what ends a stream; over real sockets what ends
// one is in hostile.test.ts.
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CallError } from '../error.ts'
import { CallNode } from '../node.ts'
import { profileOf } from '../profile/profile.ts'
import { acceptBytes, BytePeer, echo, frameOf, registryOf } from '../testing/peer.ts'
import { type Envelope, ProtocolViolation } from '../wire/envelope.ts'
import { encodeFrame, FrameBatch, FrameDecoder } from './frame.ts'
import { connectTcp, listenTcp } from './sockets.ts'

const COMPLETED = '{"type":"call.completed","id":"r1","payload":{}}'
const REQUESTED = '{"type":"call.requested","id":"r1","payload":{"name":"/fs/readFile","input":{"path":"ä"}}}'
const ERROR =
  '{"type":"call.error","id":"r1","payload":{"code":"NOT_FOUND","message":"operation not found: /x/y","retryable":false}}'

const seed = profileOf('seed')
const GOLDEN = [
  { event: 'call.completed', prefix: '00000030', body: COMPLETED, text: seed.completed('r1', 'r1') },
  {
    event: 'call.requested',
    prefix: '0000005b',
    body: REQUESTED,
    text: seed.request('r1', '/fs/readFile', { path: 'ä' }, {}),
  },
  {
    event: 'call.error',
    prefix: '00000076',
    body: ERROR,
    text: seed.error('r1', 'r1', new CallError('NOT_FOUND', 'operation not found: /x/y')),
  },
] as const

function golden({ prefix, body }: { readonly prefix: string; readonly body: string }): Buffer {
  return Buffer.concat([Buffer.from(prefix, 'hex'), Buffer.from(body)])
}

function decode(chunks: Iterable<Uint8Array>, decoder = new FrameDecoder()): Envelope[] {
  const envelopes: Envelope[] = []
  for (const chunk of chunks) decoder.push(Buffer.from(chunk), envelope => envelopes.push(envelope))
  return envelopes
}

function* inPieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test.each(GOLDEN)('CALL-T01 $event is written byte by byte as the golden vector', vector => {
  expect(encodeFrame(vector.text)).toEqual(golden(vector))
  expect(decode([golden(vector)])).toEqual([JSON.parse(vector.body)])
})

test('CALL-T01 frames that are written together are the golden vectors one after another', () => {
  const batch = new FrameBatch()
  for (const { text } of GOLDEN) batch.add(text)
  expect(batch.take()).toEqual(Buffer.concat(GOLDEN.map(golden)))
  expect(batch.length).toBe(0)
})

test('CALL-T02 two frames are the same two envelopes byte by byte and as one chunk', () => {
  const frames = Buffer.concat([golden(GOLDEN[1]), golden(GOLDEN[0])])
  const both = [JSON.parse(REQUESTED), JSON.parse(COMPLETED)]
  expect(decode(inPieces(frames, 1))).toEqual(both)
  expect(decode([frames])).toEqual(both)
})

test('CALL-WIRE-03 any envelopes survive any chunking in their order', () => {
  const envelope = fc.record({ type: fc.string(), id: fc.string({ unit: 'binary' }), payload: fc.jsonValue() })
  fc.assert(
    fc.property(fc.array(envelope), fc.array(fc.integer({ min: 1, max: 40 })), (envelopes, cuts) => {
      const texts = envelopes.map(each => JSON.stringify(each))
      const batch = new FrameBatch()
      for (const text of texts) batch.add(text)
      const bytes = batch.take()
      expect(bytes).toEqual(Buffer.concat(texts.map(text => encodeFrame(text))))
      const chunks: Buffer[] = []
      let at = 0
      for (const size of cuts) {
        chunks.push(bytes.subarray(at, at + size))
        at += size
      }
      const decoder = new FrameDecoder()
      expect(decode([...chunks, bytes.subarray(at)], decoder)).toEqual(texts.map(text => JSON.parse(text)))
      expect(decoder.partial).toBe(false)
    }),
  )
})

test('CALL-WIRE-03 a stream that ends inside a frame is known to be cut, and nothing of it is delivered', () => {
  const frame = golden(GOLDEN[0])
  for (let length = 1; length < frame.length; length++) {
    const decoder = new FrameDecoder()
    expect(decode([frame.subarray(0, length)], decoder)).toEqual([])
    expect(decoder.partial).toBe(true)
  }
})

test('CALL-WIRE-02 whitespace inside a frame is legal, and members may come in any order beside unknown ones', () => {
  const body = ' \n{"payload": null, "more": 1,\t"id": "r1", "type": "call.responded"}\r\n'
  expect(decode([frameOf(body)])[0]).toMatchObject({ type: 'call.responded', id: 'r1', payload: null })
})

test('CALL-WIRE-04 a length is judged by itself: the largest is waited for, without room being made for it', () => {
  const before = process.memoryUsage().arrayBuffers
  const decoder = new FrameDecoder()
  expect(decode([Buffer.from('04000000', 'hex')], decoder)).toEqual([])
  expect(decoder.partial).toBe(true)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024)
  const small = new FrameDecoder(47)
  expect(() => decode([golden(GOLDEN[0]).subarray(0, 4)], small)).toThrow(ProtocolViolation)
  expect(decode([golden(GOLDEN[0])], new FrameDecoder(48))).toHaveLength(1)
})

test.each(['00000000', '04000001'])('CALL-T03 the length %s alone ends the stream', prefix => {
  const bytes = Buffer.from(prefix, 'hex')
  expect(() => decode([bytes])).toThrow(ProtocolViolation)
  const decoder = new FrameDecoder()
  expect(decode(inPieces(bytes.subarray(0, 3), 1), decoder)).toEqual([])
  expect(() => decode([bytes.subarray(3)], decoder)).toThrow(ProtocolViolation)
})

const ENVELOPE = '{"type":"call.requested","id":"x","payload":{"name":"/test/echo"}}'

/** A raw client of a node behind a TCP port, which has answered it once. */
async function served(options: { readonly maxBody?: number } = {}) {
  const node = new CallNode({ registry: registryOf({ '/test/echo': echo }) })
  const listening = await listenTcp({}, transport => node.attach(transport), options)
  const peer = await BytePeer.connect({ port: listening.port! })
  onTestFinished(async () => {
    await peer.close()
    await listening.close()
  })
  peer.body(ENVELOPE)
  await peer.next()
  return { peer, link: node.links[0]! }
}

test('CALL-WIRE-03 a peer that leaves inside a frame has closed the link, and the rest is nobody’s', async () => {
  const { peer, link } = await served()
  const closed = new Promise<string>(resolve => link.onClose(resolve))
  let received = 0
  link.on('cut', () => received++)
  peer.socket.end(frameOf('{"type":"cut","id":"","payload":null}').subarray(0, -1))
  expect(await closed).toBe('the stream was cut inside a frame')
  expect(received).toBe(0)
})

test('CALL-WIRE-04 what is too large for the link is refused before anything is written, and the link goes on', async () => {
  const { peer, link } = await served({ maxBody: 200 })
  const tooLarge = { code: 'PAYLOAD_TOO_LARGE', retryable: false }
  // Fewer characters than the limit, more bytes.
  await expect(link.call('/fs/write', 'ä'.repeat(60))).rejects.toMatchObject(tooLarge)
  expect(link.pendingCount).toBe(0)
  expect(() => link.emit('topic', 't', 'x'.repeat(200))).toThrow(expect.objectContaining(tooLarge))
  peer.send('call.requested', 'y', { name: '/test/echo', input: 1 })
  expect(await peer.next()).toMatchObject({ id: 'y', payload: 1 })
  expect(peer.received).toHaveLength(2)
})

test('CALL-WIRE-04 a result that is too large is an error of its own to the caller', async () => {
  const accepting = await acceptBytes()
  const big = new CallNode({ registry: registryOf({ '/test/big': () => 'x'.repeat(200) }) })
  big.attach(await connectTcp({ port: accepting.port }, { maxBody: 200 }))
  const caller = await accepting.peer
  caller.send('call.requested', 'b', { name: '/test/big' })
  expect(await caller.next()).toMatchObject({
    type: 'call.error',
    payload: { code: 'PAYLOAD_TOO_LARGE', retryable: false },
  })
  await caller.close()
  await accepting.close()
})

test('CALL-WIRE-03 a large body in small chunks is not copied over and over', () => {
  const body = JSON.stringify({ type: 'topic.test', id: '1', payload: 'x'.repeat(8 * 1024 * 1024) })
  const frame = encodeFrame(body)
  let room = 0
  const allocate = Buffer.allocUnsafe
  const spy = vi.spyOn(Buffer, 'allocUnsafe').mockImplementation(size => {
    room += size
    return allocate(size)
  })
  onTestFinished(() => spy.mockRestore())
  expect(decode(inPieces(frame, 64 * 1024))).toHaveLength(1)
  expect(room).toBeLessThan(4 * frame.length)
})
