// Frames on a byte stream (CALL-WIRE-02 to -05): a length of four bytes, then the body. The decoder takes any chunking,
// and looks at a length before it waits for the body or makes room for it.
import { isUtf8 } from 'node:buffer'
import { invariant } from '@parley/core'
import { callLimits } from '../limits.ts'
import { type Envelope, ProtocolViolation, parseText } from '../wire/envelope.ts'
import { mayNestDeeply, tooDeep } from '../wire/json.ts'

export const PREFIX = 4
const EMPTY: Buffer = Buffer.alloc(0)

export class FrameDecoder {
  readonly #maxBody: number
  /** What came in and is not a whole frame yet. */
  #pending: Buffer = EMPTY
  /** Bytes of `#pending` that hold data; the rest is room for what is still to come. */
  #filled = 0

  constructor(maxBody: number = callLimits.frameBytes) {
    this.#maxBody = maxBody
  }

  /** Whether the stream stands inside a frame: ending here means that it was cut. */
  get partial(): boolean {
    return this.#filled > 0
  }

  /** Delivers every envelope that is whole now. Throws `ProtocolViolation`; nothing can be decoded after that. */
  push(chunk: Buffer, deliver: (envelope: Envelope) => void): void {
    let at = 0
    if (this.#filled > 0) {
      at = this.#complete(chunk, deliver)
      if (this.#filled > 0) return
    }
    while (chunk.length - at >= PREFIX) {
      const length = this.#length(chunk, at)
      const end = at + PREFIX + length
      if (end > chunk.length) break
      deliver(parseBody(chunk, at + PREFIX, end))
      at = end
    }
    if (at < chunk.length) this.#keep(chunk, at)
  }

  /** Goes on with the frame that is not whole yet; returns how much of the chunk was taken. */
  #complete(chunk: Buffer, deliver: (envelope: Envelope) => void): number {
    let at = 0
    if (this.#filled < PREFIX) {
      at = Math.min(PREFIX - this.#filled, chunk.length)
      this.#reserve(PREFIX)
      chunk.copy(this.#pending, this.#filled, 0, at)
      this.#filled += at
      if (this.#filled < PREFIX) return at
    }
    const whole = PREFIX + this.#length(this.#pending, 0)
    const taken = Math.min(whole - this.#filled, chunk.length - at)
    const needed = this.#filled + taken
    // Doubled when it is too small, and not with every chunk: a large body would be copied over and over.
    if (this.#pending.length < needed) this.#reserve(Math.min(whole, Math.max(needed, 2 * this.#filled)))
    chunk.copy(this.#pending, this.#filled, at, at + taken)
    this.#filled += taken
    invariant(this.#filled <= whole, 'a frame ends where its length says')
    at += taken
    if (this.#filled < whole) return at
    const body = this.#pending
    this.#pending = EMPTY
    this.#filled = 0
    deliver(parseBody(body, PREFIX, whole))
    return at
  }

  #keep(chunk: Buffer, at: number): void {
    const rest = chunk.length - at
    this.#pending = Buffer.allocUnsafe(Math.max(rest, 64))
    chunk.copy(this.#pending, 0, at)
    this.#filled = rest
  }

  /** Grows with what has come in, not with what a length promises. */
  #reserve(size: number): void {
    if (this.#pending.length >= size) return
    const larger = Buffer.allocUnsafe(Math.max(size, 64))
    this.#pending.copy(larger, 0, 0, this.#filled)
    this.#pending = larger
  }

  #length(source: Buffer, at: number): number {
    const length = source.readUInt32BE(at)
    if (length === 0) throw new ProtocolViolation('malformed', 'a frame has no body')
    if (length > this.#maxBody)
      throw new ProtocolViolation('too_large', `a frame of ${length} bytes passes the limit of ${this.#maxBody}`)
    return length
  }
}

/** The envelope in one frame's body; the fastest way that Node.js has. */
export function parseBody(source: Buffer, start: number, end: number): Envelope {
  const text = source.toString('utf8', start, end)
  // Invalid UTF-8 decodes to this character, which may also have been sent as such.
  if (text.includes('\ufffd') && !isUtf8(source.subarray(start, end)))
    throw new ProtocolViolation('not_json', 'a frame is not valid UTF-8')
  if (mayNestDeeply(text) && tooDeep(source, start, end))
    throw new ProtocolViolation('malformed', `an envelope nests deeper than ${callLimits.nesting} levels`)
  return parseText(text)
}

/** One frame. */
export function encodeFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(PREFIX + length)
  frame.writeUInt32BE(length, 0)
  invariant(frame.write(text, PREFIX, 'utf8') === length, 'a frame has the length that stands before it')
  return frame
}

/** Bytes of a batch's first buffer, and of the largest that it keeps when it is empty. */
const SMALLEST_BATCH = 4 * 1024
const LARGEST_KEPT = 512 * 1024
/** Characters up to which it is cheaper to make room for the longest encoding than to measure. */
const UNMEASURED = 64 * 1024

/** Frames that are written together. */
export class FrameBatch {
  /** Made with the first frame: a link that says nothing costs nothing. */
  #buffer: Buffer = EMPTY
  #length = 0

  get length(): number {
    return this.#length
  }

  add(text: string): void {
    const most = PREFIX + (text.length <= UNMEASURED ? text.length * 3 : Buffer.byteLength(text))
    if (this.#length + most > this.#buffer.length) this.#grow(this.#length + most)
    // A buffer without room takes a part of a text, and says nothing.
    invariant(this.#length + most <= this.#buffer.length, 'there is room for the longest encoding of a text')
    const written = this.#buffer.write(text, this.#length + PREFIX, 'utf8')
    this.#buffer.writeUInt32BE(written, this.#length)
    this.#length += PREFIX + written
  }

  /** All frames so far, as bytes of their own. */
  take(): Buffer {
    const taken = Buffer.allocUnsafe(this.#length)
    this.#buffer.copy(taken, 0, 0, this.#length)
    this.#length = 0
    if (this.#buffer.length > LARGEST_KEPT) this.#buffer = EMPTY
    return taken
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(length, this.#buffer.length * 2, SMALLEST_BATCH))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
