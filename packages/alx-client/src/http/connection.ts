// One request and its answer over `fetch`, byte by byte: time limits, the caller's abort, bounds.
import { AlxTransportError } from '../errors.ts'
import { clientLimits } from '../limits.ts'
import type { Timing } from '../timing.ts'
import { type Call, nameOf, requestOf, type Target } from './request.ts'

export interface Transport {
  readonly target: Target
  readonly fetch: typeof fetch
  readonly timing: Timing
  readonly timeoutMs: number
}

export class Connection {
  readonly name: string
  readonly #transport: Transport
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  #response: Response | undefined
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #timer: AbortController | undefined
  readonly #key: { readonly idempotencyKey?: string }
  readonly #reads: boolean

  private constructor(transport: Transport, call: Call) {
    this.#transport = transport
    this.name = nameOf(call)
    this.#caller = call.signal
    this.#reads = call.route.method === 'GET'
    this.#key = call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }
    if (this.#caller?.aborted) this.#follow()
    else this.#caller?.addEventListener('abort', this.#follow, { once: true })
  }

  /** Resolves when the head of an answer is there. The time limit goes on until the body is read or streamed. */
  static async open(transport: Transport, call: Call): Promise<Connection> {
    const { url, init } = requestOf(transport.target, call)
    const connection = new Connection(transport, call)
    try {
      await connection.#send(url, init)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  get status(): number {
    return this.#response!.status
  }

  header(name: string): string | null {
    return this.#response!.headers.get(name)
  }

  get streams(): boolean {
    return this.status < 300 && /^text\/event-stream\b/i.test(this.header('content-type') ?? '')
  }

  /** The whole body, which must be within the bound. Closes the connection. */
  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    let length = 0
    try {
      for (;;) {
        const part = await this.#read()
        if (part === undefined) return joined(parts, length)
        parts.push(part)
        length += part.length
        if (length > clientLimits.responseBytes) throw this.#tooLarge(clientLimits.responseBytes)
      }
    } finally {
      this.close()
    }
  }

  /** The body as it arrives. A silence is a lost connection. Closes the connection when the loop ends. */
  async *chunks(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const silence = `${this.name}: nothing came for ${clientLimits.silenceMs} ms; the connection counts as lost`
        this.#limit(clientLimits.silenceMs, new AlxTransportError('interrupted', silence, this.#key))
        const part = await this.#read()
        // However long the loop takes over it, that is not the server's silence.
        this.#timer?.abort()
        if (part === undefined) return
        yield part
      }
    } finally {
      this.close()
    }
  }

  close(): void {
    this.#timer?.abort()
    this.#caller?.removeEventListener('abort', this.#follow)
    // Frees the socket of an answer that was not read to its end.
    this.#reader?.cancel().catch(() => {})
    this.#controller.abort()
  }

  readonly #follow = () => this.#controller.abort(this.#caller?.reason)

  async #send(url: string, init: RequestInit): Promise<void> {
    const { timeoutMs } = this.#transport
    const late = `${this.name} was not answered within ${timeoutMs} ms. ${this.#advice()}`
    this.#limit(timeoutMs, new AlxTransportError('timeout', late, this.#key))
    const { signal } = this.#controller
    const sent = () => this.#transport.fetch(url, { ...init, signal })
    const origin = new URL(url).origin
    this.#response = await this.#unlessAborted(
      sent,
      'unreachable',
      `${this.name} got no answer from ${origin}. Check that the server runs and can be reached, and its address.`,
    )
    this.#reader = this.#response.body?.getReader()
  }

  async #read(): Promise<Uint8Array | undefined> {
    const reader = this.#reader
    if (!reader) return undefined
    const { value } = await this.#unlessAborted(
      () => reader.read(),
      'interrupted',
      `${this.name}: the connection was lost in the middle of the answer. ${this.#advice()}`,
    )
    return value
  }

  #advice(): string {
    const { idempotencyKey: key } = this.#key
    if (key !== undefined) return `It may have been carried out: repeat it with the idempotency key ${key} to see.`
    return this.#reads ? 'Ask again.' : 'It may have been carried out: look before you send it again.'
  }

  #tooLarge(bytes: number): AlxTransportError {
    return new AlxTransportError('too_large', `${this.name}: the answer is larger than ${bytes} bytes.`, this.#key)
  }

  #limit(ms: number, error: AlxTransportError): void {
    this.#timer?.abort()
    const timer = new AbortController()
    this.#timer = timer
    this.#transport.timing.sleep(ms, timer.signal).then(
      () => timer.signal.aborted || this.#controller.abort(error),
      () => {},
    )
  }

  /** Does not rely on `fetch` to heed the signal: an injected one may not. */
  async #unlessAborted<T>(work: () => Promise<T>, reason: 'unreachable' | 'interrupted', message: string): Promise<T> {
    const { signal } = this.#controller
    let stop = () => {}
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
    try {
      return await Promise.race([aborted, signal.aborted ? aborted : work()])
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      throw new AlxTransportError(reason, message, { cause, ...this.#key })
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
