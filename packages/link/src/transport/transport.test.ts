// Below both carriers: lines and frames (ALP-UNIX-03, -04, ALP-TCP-03, -04), sockets of whole messages, and bounds on
// connections and handshakes (ALP-TCP-06). How frames are cut from any stream is tested in fuzz.test.ts.
import { connect, createServer, type Socket } from 'node:net'
import { ManualClock } from '@parley/core'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { settled, until } from '../testing/ground.ts'
import { ByteQueue } from './byte-queue.ts'
import { ConnectionLimit, type Counted, Slots } from './connection-limit.ts'
import { MessageSocket } from './message-socket.ts'
import { Frames, Lines, type Splitter } from './split.ts'

const RUNS = process.env.PARLEY_SOAK ? 50_000 : 500

/** Everything that comes out, and how it ended. */
function cutAll(
  splitter: Splitter,
  pieces: readonly Uint8Array[],
): { messages: string[]; violated: boolean; rest: string | undefined } {
  const messages: string[] = []
  for (const piece of pieces) {
    splitter.push(piece)
    for (let cut = splitter.next(); cut !== undefined; cut = splitter.next()) {
      if (cut === 'violated') return { messages, violated: true, rest: undefined }
      messages.push(cut.toString('hex'))
    }
  }
  return { messages, violated: false, rest: splitter.rest()?.toString('hex') }
}

/** The same bytes in pieces of any size. */
const pieces = (bytes: fc.Arbitrary<Buffer>) =>
  fc.tuple(bytes, fc.array(fc.nat(40), { maxLength: 30 })).map(([whole, sizes]) => {
    const cut: Buffer[] = []
    let at = 0
    for (const size of sizes) {
      cut.push(whole.subarray(at, at + size))
      at += size
    }
    return { whole, cut: [...cut, whole.subarray(at)] }
  })

const anyBytes = fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes))

test(`ALP-UNIX-03 lines are the same however they are cut (${RUNS} inputs)`, () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc', '\n', '\r\n', 'ä', '{"x":1}\n'))
    .map(parts => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(pieces(fc.oneof(text, anyBytes)), ({ whole, cut }) => {
      const expected = cutAll(new Lines(16), [whole])
      expect(cutAll(new Lines(16), cut)).toEqual(expected)
      if (!expected.violated) {
        const joined = [...expected.messages.map(line => `${line}0a`), expected.rest ?? ''].join('')
        expect(joined).toBe(whole.toString('hex'))
      }
    }),
    { numRuns: RUNS },
  )
})

test('ALP-UNIX-04 a line of 1,048,576 bytes is taken, one byte more is not, whole or not', () => {
  const most = linkLimits.lineBytes
  expect(most).toBe(1_048_576)
  const line = Buffer.alloc(most, 'a')
  expect(cutAll(new Lines(most), [line, Buffer.from('\n')]).messages).toHaveLength(1)
  expect(cutAll(new Lines(most), [line, Buffer.from('a\n')]).violated).toBe(true)
  expect(cutAll(new Lines(most), [line, Buffer.from('a')]).violated).toBe(true)
})

test('ALP-TCP-03 a length of zero is an empty message', () => {
  const frames = new Frames(2, linkLimits.handshakeFrameBytes)
  expect(cutAll(frames, [Buffer.from([0, 0, 0, 1, 7])]).messages).toEqual(['', '07'])
})

test('ALP-TCP-04 a length beyond the limit ends it before any of the body is there', () => {
  const frames = new Frames(4, linkLimits.frameBytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(linkLimits.frameBytes + 1)
  expect(cutAll(frames, [length]).violated).toBe(true)
  length.writeUInt32BE(linkLimits.frameBytes)
  expect(cutAll(new Frames(4, linkLimits.frameBytes), [length]).violated).toBe(false)
})

test('the length may change between two frames, also where both came at once', () => {
  const frames = new Frames(2, 10)
  frames.push(Buffer.from([0, 1, 9, 0, 0, 0, 2, 8, 7]))
  expect(frames.next()).toEqual(Buffer.from([9]))
  frames.change(4, 100)
  expect(frames.next()).toEqual(Buffer.from([8, 7]))
})

test('a sender who promises much and sends single bytes costs no more than it has sent', () => {
  const queue = new ByteQueue()
  const before = process.memoryUsage().arrayBuffers
  for (let sent = 0; sent < 100_000; sent++) queue.push(Buffer.from([1]))
  expect(queue.length).toBe(100_000)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4_000_000)
  expect(queue.take(99_999, 1)).toEqual(Buffer.from([1]))
  expect(queue.length).toBe(0)
})

/** Both ends of a real connection. */
async function ends(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true })
  const arrived = new Promise<Socket>(resolve => server.once('connection', resolve))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const there = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  there.on('error', () => undefined)
  const here = await arrived
  onTestFinished(() => {
    here.destroy()
    there.destroy()
    server.close()
  })
  return [here, there]
}

test('a sender is held back while nobody asks for a message, and goes on when somebody does', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(1000), new ManualClock())
  const line = `${'x'.repeat(999)}\n`
  there.write(line.repeat(30_000))
  expect(await messages.receive()).toHaveLength(999)
  // A chunk more than was asked for, not thirty megabytes.
  expect(await settled(() => here.bytesRead)).toBeLessThan(1_000_000)
  for (let taken = 1; taken < 30_000; taken++) await messages.receive()
  expect(here.bytesRead).toBe(30_000_000)
})

test('the end is noticed while nobody asks', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(100), new ManualClock())
  there.write('one\n')
  expect(await messages.receive()).toEqual(Buffer.from('one'))
  there.end()
  await messages.ended
  expect(await messages.receive()).toBe('ended')
  there.destroy()
})

test('a connection that breaks is gone, for who reads and for who writes', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(100), new ManualClock())
  const waiting = messages.receive()
  there.resetAndDestroy()
  expect(await waiting).toBe('gone')
  await messages.closed
  expect(await messages.send(Buffer.from('x'), 1000)).toBe(false)
})

test('who breaks the rules is not read any further', async () => {
  const [here, there] = await ends()
  const messages = new MessageSocket(here, new Lines(3), new ManualClock())
  there.write('too long\nok\n')
  expect(await messages.receive()).toBe('violated')
  expect(await messages.receive()).toBe('violated')
})

test('goodbye lets the last message arrive, and shows the door to who stays', async () => {
  const clock = new ManualClock()
  const [here, there] = await ends()
  there.pause()
  const messages = new MessageSocket(here, new Lines(100), clock)
  await messages.send(Buffer.from('last\n'), 1000)
  messages.end(5000)
  there.write('still talking\n')
  let heard = ''
  there.on('data', chunk => {
    heard += String(chunk)
  })
  there.resume()
  await until(() => heard === 'last\n')
  clock.advance(5000)
  await messages.closed
})

class TestGuest implements Counted {
  readonly address: string
  busy = false
  gone = false
  constructor(address: string) {
    this.address = address
  }
  destroy(): void {
    this.gone = true
  }
}

const guests = (count: number, address: string) => Array.from({ length: count }, () => new TestGuest(address))

test('when all places are taken, the address with most strangers loses its oldest', () => {
  const limit = new ConnectionLimit(5)
  const crowd = guests(4, 'a')
  const other = new TestGuest('b')
  for (const guest of [...crowd, other]) expect(limit.admit(guest)).toBe(true)
  expect(limit.admit(new TestGuest('c'))).toBe(true)
  expect(crowd.map(({ gone }) => gone)).toEqual([true, false, false, false])
  expect(other.gone).toBe(false)
})

test('a peer is never pushed out by strangers', () => {
  const limit = new ConnectionLimit(3)
  const [first, second, third] = guests(3, 'a') as [TestGuest, TestGuest, TestGuest]
  for (const guest of [first, second, third]) limit.admit(guest)
  limit.recognise(first, 'alice')
  for (let times = 0; times < 5; times++) expect(limit.admit(new TestGuest('a'))).toBe(true)
  expect([first.gone, second.gone, third.gone]).toEqual([false, true, true])
})

test('a peer that takes all places gives way to another with what is idle, but not with what is busy', () => {
  const limit = new ConnectionLimit(3)
  const own = guests(3, 'a')
  for (const guest of own) {
    limit.admit(guest)
    limit.recognise(guest, 'alice')
  }
  own[0]!.busy = true
  expect(limit.admit(new TestGuest('b'))).toBe(true)
  expect(own.map(({ gone }) => gone)).toEqual([false, true, false])
  for (const guest of own) guest.busy = true
  // The stranger that has just come is next.
  expect(limit.admit(new TestGuest('c'))).toBe(true)
})

test('who is turned away when nobody can give way changes nothing', () => {
  const limit = new ConnectionLimit(1)
  const peer = new TestGuest('a')
  limit.admit(peer)
  limit.recognise(peer, 'alice')
  peer.busy = true
  expect(limit.admit(new TestGuest('b'))).toBe(false)
  limit.leave(peer)
  limit.leave(peer)
  expect(limit.admit(new TestGuest('b'))).toBe(true)
})

/** A handshake that goes on until it is told to end. */
function work(slots: Slots, guest: TestGuest) {
  const ends = Promise.withResolvers<void>()
  const state = { begun: false, end: ends.resolve, done: Promise.resolve() }
  state.done = slots.run(guest, async () => {
    state.begun = true
    await ends.promise
  })
  return state
}

test('ALP-TCP-06 so many handshakes at once, others wait their turn', async () => {
  const slots = new Slots(2)
  const [one, two, three, four] = guests(4, 'a').map(guest => work(slots, guest)) as [Work, Work, Work, Work]
  await Promise.resolve()
  expect([one, two, three, four].map(({ begun }) => begun)).toEqual([true, true, false, false])
  expect([slots.running, slots.waiting]).toEqual([2, 2])
  one.end()
  await one.done
  await Promise.resolve()
  expect([three.begun, four.begun]).toEqual([true, false])
  for (const each of [two, three, four]) each.end()
  await Promise.all([two.done, three.done, four.done])
  expect([slots.running, slots.waiting]).toEqual([0, 0])
})

type Work = ReturnType<typeof work>

test('ALP-TCP-06 an address that holds more than half gives one up to another, which comes next', async () => {
  const slots = new Slots(4)
  const crowd = guests(4, 'a')
  const running = crowd.map(guest => work(slots, guest))
  const queued = guests(3, 'a').map(guest => work(slots, guest))
  expect(crowd.some(({ gone }) => gone)).toBe(false)
  const honest = work(slots, new TestGuest('b'))
  expect(crowd.map(({ gone }) => gone)).toEqual([true, false, false, false])
  // What was destroyed ends by itself.
  running[0]!.end()
  await running[0]!.done
  await Promise.resolve()
  expect(honest.begun).toBe(true)
  expect(queued.some(({ begun }) => begun)).toBe(false)
  for (const each of [...running, honest, ...queued]) each.end()
  await Promise.all([...running, honest, ...queued].map(({ done }) => done))
})

test('ALP-TCP-06 work that fails frees its place', async () => {
  const slots = new Slots(1)
  await expect(slots.run(new TestGuest('a'), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(slots.running).toBe(0)
})
