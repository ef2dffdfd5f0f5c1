// A Noise session as a stream of bytes: what is written goes out in bulk frames (ALP-TCP-04), what comes in is handed
// on once it has proved authentic. The call protocol has frames of its own inside, which may be larger than a frame of
// Noise.
import { Duplex } from 'node:stream'
import { ParleyError } from '@parley/core'
import { linkDefaults, linkLimits } from '../limits.ts'
import type { Session } from '../noise/handshake.ts'
import type { NoiseSocket } from '../transport/handshake-io.ts'
import type { Incoming, MessageSocket } from '../transport/message-socket.ts'
import { sendSealed } from '../transport/sealed-frame.ts'

/** Bytes that are enciphered before they are written. */
const WRITE_BYTES = 65_536

export class NoiseStream extends Duplex {
  readonly #messages: MessageSocket
  readonly #session: Session

  constructor(noise: NoiseSocket, session: Session) {
    super()
    this.#messages = noise.messages
    this.#session = session
  }

  /** While nothing is read, the sender is held back. */
  override _read(): void {
    const now = this.#messages.take()
    if (now !== undefined) this.#hand(now)
    else void this.#messages.receive().then(incoming => this.#hand(incoming))
  }

  #hand(first: Incoming): void {
    let incoming: Incoming | undefined = first
    while (incoming !== undefined) {
      if (incoming === 'ended') return void this.push(null)
      if (incoming === 'gone') return void this.destroy()
      const plaintext = incoming === 'violated' ? undefined : this.#opened(incoming)
      if (!plaintext) return void this.destroy(foreign())
      if (!this.push(plaintext)) return
      incoming = this.#messages.take()
    }
  }

  #opened(frame: Buffer): Buffer | undefined {
    try {
      return this.#session.receiving.decryptInPlace(frame)
    } catch {
      // All counters are used.
      return undefined
    }
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#give(bytes).then(sent => done(sent ? null : new ParleyError('link_closed', 'the connection is over')), done)
  }

  async #give(bytes: Buffer): Promise<boolean> {
    const how = { most: linkLimits.streamFrameBytes }
    for (let at = 0; at < bytes.length; at += WRITE_BYTES) {
      const part = bytes.subarray(at, at + WRITE_BYTES)
      if (!(await sendSealed(this.#messages, this.#session.sending, part, how))) return false
    }
    return true
  }

  /** Everything was handed on before: all that is left is the goodbye. */
  override _final(done: (error?: Error | null) => void): void {
    this.#messages.end(linkDefaults.closeMs)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#messages.destroy()
    done(error)
  }
}

function foreign(): ParleyError {
  return new ParleyError('link_bad_frame', 'the peer sent a frame that is not of this session')
}
