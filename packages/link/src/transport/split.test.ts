// Lines and frames (ALP-UNIX-03, -04, ALP-TCP-03, -04). How frames are cut from any stream is tested in `fuzz.test.ts`.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { ByteQueue } from './byte-queue.ts'
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
