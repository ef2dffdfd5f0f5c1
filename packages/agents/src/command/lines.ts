// Bytes of a pipe to lines of text: decoded piece by piece, escape sequences of terminals removed, progress that
// overwrites itself folded, long lines cut. Any bytes are accepted.
export interface LineReceiver {
  line(text: string): void
  /** The state of a line that overwrites itself, before it is overwritten. */
  progress(text: string): void
}

export class LineDecoder {
  readonly #decoder = new TextDecoder()
  readonly #receiver: LineReceiver
  readonly #most: number
  #line = ''
  #cut = 0
  /** A carriage return was read last: what follows says whether it ended the line or began it anew. */
  #returned = false

  constructor(receiver: LineReceiver, most: number) {
    this.#receiver = receiver
    this.#most = most
  }

  push(bytes: Uint8Array): void {
    this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  /** The pipe is closed: the rest is a line too. */
  end(): void {
    this.#read(this.#decoder.decode())
    if (this.#line !== '' || this.#cut > 0) this.#finish()
  }

  #read(text: string): void {
    let from = 0
    for (const { index, 0: mark } of text.matchAll(/[\r\n]/g)) {
      this.#append(text, from, index)
      from = index + 1
      if (mark === '\n') this.#finish()
      else this.#returned = true
    }
    this.#append(text, from, text.length)
  }

  #append(text: string, from: number, to: number): void {
    if (from === to) return
    if (this.#returned) this.#receiver.progress(this.#take())
    const room = this.#most - this.#line.length
    this.#line += text.slice(from, Math.min(to, from + room))
    this.#cut += Math.max(0, to - from - room)
  }

  #finish(): void {
    this.#receiver.line(this.#take())
  }

  #take(): string {
    const clean = plainText(this.#line).toWellFormed()
    const taken = this.#cut === 0 ? clean : `${clean} [… ${this.#cut} more characters]`
    this.#line = ''
    this.#cut = 0
    this.#returned = false
    return taken
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must go
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~])/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must go
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Without colours, cursor movements and other characters that would do something to a terminal. */
export function plainText(text: string): string {
  return text.replaceAll(escapes, '').replaceAll(controls, '')
}
