// The end of a long text, in bounded memory.
import { agentLimits } from '../limits.ts'

export class TextTail {
  readonly #most: number
  #text = ''
  #dropped = 0

  constructor(most: number = agentLimits.resultLength) {
    this.#most = most
  }

  add(text: string): void {
    this.#text += text
    // Cutting only at twice the bound keeps the cost of many small pieces linear.
    if (this.#text.length > 2 * this.#most) this.#trim()
  }

  #trim(): void {
    const surplus = this.#text.length - this.#most
    if (surplus <= 0) return
    this.#dropped += surplus
    this.#text = this.#text.slice(surplus)
  }

  /** The kept text, after a line that says how much was dropped. */
  read(): string {
    this.#trim()
    const text = this.#text.trimEnd()
    if (this.#dropped === 0) return text
    return `[the first ${this.#dropped} characters of the output were cut]\n${text.toWellFormed()}`
  }
}

export class ByteTail {
  readonly #most: number
  #chunks: Uint8Array[] = []
  #size = 0

  constructor(most: number) {
    this.#most = most
  }

  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes.length > this.#most ? bytes.subarray(-this.#most) : bytes)
    this.#size += this.#chunks.at(-1)!.length
    if (this.#size > 4 * this.#most) this.#join()
  }

  #join(): Buffer {
    const all = Buffer.concat(this.#chunks).subarray(-this.#most)
    // A copy: a small view would keep the whole chunk in memory.
    this.#chunks = [Buffer.from(all)]
    this.#size = all.length
    return all
  }

  /** A character that was cut in half at the front is left out. */
  read(): string {
    const bytes = this.#join()
    const start = bytes.length < this.#most ? 0 : bytes.findIndex(byte => (byte & 0xc0) !== 0x80)
    return bytes.subarray(Math.max(0, start)).toString('utf8')
  }
}

export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
}
