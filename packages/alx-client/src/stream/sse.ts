// Server-sent events from bytes (HTML standard, 9.2.6), within bounds. Lines are found in the bytes: no byte of a
// longer UTF-8 sequence is CR or LF, so that a sequence may be split over chunks.
import { AlxTransportError } from '../errors.ts'
import { clientLimits } from '../limits.ts'

export interface SseFrame {
  /** `message` if the stream did not say. */
  readonly event: string
  readonly data: string
  /** The last id that the stream set, in this frame or before it. */
  readonly id: string
}

const LF = 10
const CR = 13

export class SseParser {
  readonly #bounds: { readonly lineBytes: number; readonly frameBytes: number }
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The beginning of a line whose end has not come. */
  #parts: Uint8Array[] = []
  #held = 0
  #afterCr = false
  #first = true
  #event = ''
  #data: string[] = []
  #dataBytes = 0
  #id = ''

  constructor(bounds: { readonly lineBytes: number; readonly frameBytes: number } = clientLimits) {
    this.#bounds = bounds
  }

  /** The frames that this chunk completes. What the end of the stream leaves incomplete is no frame. */
  push(chunk: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]
      const secondOfPair = byte === LF && this.#afterCr
      this.#afterCr = byte === CR
      if (secondOfPair) start = at + 1
      else if (byte === LF || byte === CR) {
        const frame = this.#line(chunk.subarray(start, at))
        if (frame) frames.push(frame)
        start = at + 1
      }
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
    return frames
  }

  #hold(part: Uint8Array): void {
    this.#held += part.length
    if (this.#held > this.#bounds.lineBytes) throw tooLarge('a line', this.#bounds.lineBytes)
    // A copy: the platform may use the chunk's memory again.
    this.#parts.push(part.slice())
  }

  #line(end: Uint8Array): SseFrame | undefined {
    if (this.#held + end.length > this.#bounds.lineBytes) throw tooLarge('a line', this.#bounds.lineBytes)
    const bytes = this.#held + end.length
    const text = [...this.#parts, end].map(part => this.#decoder.decode(part, { stream: true })).join('')
    const line = text + this.#decoder.decode()
    this.#parts = []
    this.#held = 0
    const bare = this.#first && line.startsWith('\ufeff') ? line.slice(1) : line
    this.#first = false
    if (bare === '') return this.#dispatch()
    const colon = bare.indexOf(':')
    // Without a colon the whole line is a name; a line that begins with one is a comment, whose name is empty.
    const name = colon < 0 ? bare : bare.slice(0, colon)
    const value = colon < 0 ? '' : bare.slice(bare[colon + 1] === ' ' ? colon + 2 : colon + 1)
    this.#field(name, value, bytes)
    return undefined
  }

  #field(name: string, value: string, bytes: number): void {
    if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'data') {
      this.#data.push(value)
      this.#dataBytes += bytes
      if (this.#dataBytes > this.#bounds.frameBytes) throw tooLarge('a frame', this.#bounds.frameBytes)
    }
  }

  #dispatch(): SseFrame | undefined {
    const data = this.#data
    const event = this.#event || 'message'
    this.#data = []
    this.#dataBytes = 0
    this.#event = ''
    return data.length === 0 ? undefined : { event, data: data.join('\n'), id: this.#id }
  }
}

function tooLarge(what: string, bytes: number): AlxTransportError {
  return new AlxTransportError('too_large', `The event stream has ${what} of more than ${bytes} bytes.`)
}
