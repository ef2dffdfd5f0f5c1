// How a byte stream is cut into messages: lines on the Unix socket (ALP-UNIX-03, -04), frames with a length before them on TCP (ALP-TCP-03, -04).
import { ByteQueue } from './byte-queue.ts'

/** The next whole message; undefined while there is none; `violated` where there can be none any more. */
export type Cut = Buffer | undefined | 'violated'

export interface Splitter {
  push(chunk: Uint8Array): void
  next(): Cut
  /** What is left of a message when the stream ends, if that is a message too. */
  rest(): Buffer | undefined
}

const LINE_FEED = 0x0a

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

/** A length, then as many bytes. Which length changes when the handshake is done. */
export class Frames implements Splitter {
  readonly #queue = new ByteQueue()
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
    this.#queue.push(chunk)
  }

  next(): Cut {
    if (this.#queue.length < this.#prefix) return undefined
    const length = this.#queue.readLength(this.#prefix)
    if (length > this.#most) return 'violated'
    if (this.#queue.length < this.#prefix + length) return undefined
    return this.#queue.take(this.#prefix, length)
  }

  /** A frame that was cut is none. */
  rest(): undefined {
    return undefined
  }
}
