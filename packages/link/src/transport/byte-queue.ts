// Bytes that came in and are not a whole message yet. Room grows with what has come, never with a promised length.
import { invariant } from '@parley/core'

const SMALLEST = 256
/** Room is made for so many times what has come. */
const GROWTH = 4

export class ByteQueue {
  #buffer: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0

  get length(): number {
    return this.#end - this.#start
  }

  /** `most`: the most bytes that there will be, if known. */
  push(chunk: Uint8Array, most = Number.POSITIVE_INFINITY): void {
    if (this.#end + chunk.length > this.#buffer.length) this.#makeRoom(chunk.length, most)
    this.#buffer.set(chunk, this.#end)
    this.#end += chunk.length
  }

  /** The first place of a byte from `from` on, counted from the front; -1 if there is none. */
  indexOf(byte: number, from: number): number {
    const found = this.#buffer.subarray(this.#start + from, this.#end).indexOf(byte)
    return found < 0 ? -1 : found + from
  }

  /** The unsigned big-endian number in the first bytes. */
  readLength(bytes: number): number {
    return this.#buffer.readUIntBE(this.#start, bytes)
  }

  /** Takes bytes from the front, after leaving some out; the buffer is the caller's own. */
  take(skip: number, length: number): Buffer {
    const from = this.#start + skip
    const whole = from + length
    invariant(whole <= this.#end, 'no more is taken than has come')
    if (whole < this.#end) {
      this.#start = whole
      return Buffer.from(this.#buffer.subarray(from, whole))
    }
    // All of it: given away without a copy.
    const taken = this.#buffer.subarray(from, whole)
    this.#buffer = Buffer.alloc(0)
    this.#start = 0
    this.#end = 0
    return taken
  }

  #makeRoom(more: number, most: number): void {
    const needed = this.length + more
    const target =
      needed <= this.#buffer.length / 2
        ? this.#buffer
        : Buffer.allocUnsafeSlow(Math.max(SMALLEST, needed, Math.min(GROWTH * needed, most)))
    this.#buffer.copy(target, 0, this.#start, this.#end)
    this.#buffer = target
    this.#end -= this.#start
    this.#start = 0
  }
}
