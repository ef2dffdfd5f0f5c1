// Cuts a byte stream into messages: lines on the Unix socket (ALP-UNIX-03, -04), frames with a length before them on
// TCP (ALP-TCP-03, -04).
import { ByteQueue } from './byte-queue.ts'

/** The next whole message; undefined while there is none; `violated` once there can be no more. */
export type Cut = Buffer | undefined | 'violated'

export interface Splitter {
  push(chunk: Uint8Array): void
  next(): Cut
  /** What is left of a message when the stream ends, if that is a message too. */
  rest(): Buffer | undefined
}

const LINE_FEED = 0x0a
const NOTHING: Buffer = Buffer.alloc(0)

/** One message on each line. */
export class Lines implements Splitter {
  readonly #queue = new ByteQueue()
  readonly #most: number
  /** Bytes that were looked at already. */
  #searched = 0

  constructor(most: number) {
    this.#most = most
  }

  push(chunk: Uint8Array): void {
    this.#queue.push(chunk)
  }

  next(): Cut {
    const end = this.#queue.indexOf(LINE_FEED, this.#searched)
    this.#searched = end < 0 ? this.#queue.length : 0
    if (end > this.#most || (end < 0 && this.#queue.length > this.#most)) return 'violated'
    if (end < 0) return undefined
    const line = this.#queue.take(0, end + 1)
    return line.subarray(0, end)
  }

  /** ALP-UNIX-03: as Python reads lines, the last one needs no line feed. */
  rest(): Buffer | undefined {
    const { length } = this.#queue
    return length === 0 || length > this.#most ? undefined : this.#queue.take(0, length)
  }
}

/**
 * A length, then as many bytes. The size of the length changes after the handshake. Frames that came whole are handed
 * out in place; only those in two pieces are put together.
 */
export class Frames implements Splitter {
  /** What came first: mostly the beginning of a frame. */
  readonly #queue = new ByteQueue()
  /** What came behind it, still as it came. */
  #chunk: Buffer = NOTHING
  #prefix: number
  #most: number

  /** `prefix`: bytes of the length; `most`: its greatest value. */
  constructor(prefix: number, most: number) {
    this.#prefix = prefix
    this.#most = most
  }

  change(prefix: number, most: number): void {
    this.#prefix = prefix
    this.#most = most
  }

  push(chunk: Uint8Array): void {
    if (this.#chunk.length > 0) this.#queue.push(this.#chunk)
    this.#chunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
  }

  next(): Cut {
    while (this.#queue.length > 0) {
      const { length } = this.#queue
      const wanted = length < this.#prefix ? this.#prefix : this.#prefix + this.#queue.readLength(this.#prefix)
      if (wanted > this.#prefix + this.#most) return 'violated'
      if (length >= wanted) return this.#queue.take(this.#prefix, wanted - this.#prefix)
      if (this.#chunk.length === 0) return undefined
      this.#queue.push(this.#taken(Math.min(wanted - length, this.#chunk.length)), wanted)
    }
    const { length } = this.#chunk
    const wanted = length < this.#prefix ? this.#prefix : this.#prefix + this.#chunk.readUIntBE(0, this.#prefix)
    if (wanted > this.#prefix + this.#most) return 'violated'
    if (length >= wanted) return this.#taken(wanted).subarray(this.#prefix)
    if (length > 0) this.#queue.push(this.#taken(length), wanted)
    return undefined
  }

  /** From the front of what came in. */
  #taken(bytes: number): Buffer {
    const taken = this.#chunk.subarray(0, bytes)
    this.#chunk = bytes === this.#chunk.length ? NOTHING : this.#chunk.subarray(bytes)
    return taken
  }

  /** A frame that was cut is none. */
  rest(): undefined {
    return undefined
  }
}
