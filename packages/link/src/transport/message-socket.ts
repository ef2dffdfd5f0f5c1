// A socket of whole messages: one is handed out for each request, and the sender is held back while nobody asks. No
// error of a socket goes further than this file.
import type { Duplex } from 'node:stream'
import { type CancelTimer, type Clock, invariant } from '@parley/core'
import type { Splitter } from './split.ts'

/** A message; or that the other side has ended well, has broken the rules, or is gone. */
export type Incoming = Buffer | 'ended' | 'violated' | 'gone'

export class MessageSocket {
  readonly #socket: Duplex
  readonly #splitter: Splitter
  readonly #clock: Clock
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
  /** Resolves when the other side says no more, which it may do while it still listens. */
  readonly ended: Promise<void>
  readonly #sending = new Set<(sent: boolean) => void>()
  #waiting: ((incoming: Incoming) => void) | undefined
  #violated = false
  #hasEnded = false
  #gone = false

  constructor(socket: Duplex, splitter: Splitter, clock: Clock) {
    this.#socket = socket
    this.#splitter = splitter
    this.#clock = clock
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    const [closed, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    this.closed = closed.promise
    this.ended = ended.promise
    socket.once('end', () => {
      this.#hasEnded = true
      ended.resolve()
      this.#wake()
    })
    // Nobody needs the error: the socket closes after it.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#gone = true
      ended.resolve()
      closed.resolve()
      for (const done of this.#sending) done(false)
      this.#wake()
    })
  }

  /** The next message if it is there, without waiting. */
  take(): Incoming | undefined {
    invariant(!this.#waiting, 'one reader at a time')
    return this.#poll()
  }

  /** The next message. One reader at a time. */
  receive(): Promise<Incoming> {
    const now = this.take()
    if (now !== undefined) return Promise.resolve(now)
    return new Promise(resolve => this.#wait(resolve))
  }

  /** The next message, or `late` when it is not whole in time. */
  receiveWithin(milliseconds: number): Promise<Incoming | 'late'> {
    const now = this.take()
    if (now !== undefined) return Promise.resolve(now)
    return new Promise(resolve => {
      const cancel = this.#clock.after(
        milliseconds,
        () => {
          this.#waiting = undefined
          resolve('late')
        },
        { background: true },
      )
      this.#wait(incoming => {
        cancel()
        resolve(incoming)
      })
    })
  }

  /**
   * Whether the bytes were handed on: not if the connection is over, or its reader takes none for too long. Without
   * patience it waits as long as the connection lasts.
   */
  send(bytes: Buffer, patienceMs?: number): Promise<boolean> {
    const socket = this.#socket
    if (this.#gone || socket.destroyed || socket.writableEnded) return Promise.resolve(false)
    return new Promise(resolve => {
      let cancel: CancelTimer | undefined
      const done = (sent: boolean) => {
        cancel?.()
        this.#sending.delete(done)
        resolve(sent)
      }
      this.#sending.add(done)
      socket.write(bytes, error => done(!error && !socket.destroyed))
      // Mostly the system has taken all of it by now, and nobody need watch the time.
      if (patienceMs !== undefined && socket.writableLength > 0)
        cancel = this.#clock.after(patienceMs, () => this.destroy(), { background: true })
    })
  }

  /** Says goodbye after what was sent, and gives the other side time to leave: it could miss the last message. */
  end(patienceMs: number): void {
    if (this.#gone) return
    const cancel = this.#clock.after(patienceMs, () => this.destroy(), { background: true })
    void this.closed.then(cancel)
    this.#socket.end()
    // Whatever still comes would keep the end from being seen.
    this.#socket.resume()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #wait(waiting: (incoming: Incoming) => void): void {
    this.#waiting = waiting
    this.#socket.resume()
  }

  #arrived(chunk: Buffer): void {
    if (this.#violated || this.#socket.writableEnded) return
    // Nobody asks: one chunk is kept, and no more is read until somebody does. Without it the end would go unnoticed.
    if (!this.#waiting) this.#socket.pause()
    this.#splitter.push(chunk)
    this.#wake()
  }

  #wake(): void {
    if (!this.#waiting) return
    const incoming = this.#poll()
    if (incoming === undefined) return
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting(incoming)
  }

  #poll(): Incoming | undefined {
    if (this.#violated) return 'violated'
    const cut = this.#splitter.next()
    if (cut === 'violated') {
      this.#violated = true
      return 'violated'
    }
    if (cut) return cut
    if (this.#hasEnded) return this.#splitter.rest() ?? 'ended'
    return this.#gone ? 'gone' : undefined
  }
}
