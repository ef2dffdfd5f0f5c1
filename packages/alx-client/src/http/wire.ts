// Calls: a request with its retries, and what it is answered by.
import type { Timing } from '../timing.ts'
import { type Answer, type AnswerName, type AnswerRoute, answerOf, type Received, textOf } from './answer.ts'
import { Connection, type Transport } from './connection.ts'
import type { Call } from './request.ts'
import { retryAfterOf, retryPause } from './retry.ts'

const NEVER = new AbortController().signal

export class Wire {
  readonly timing: Timing
  readonly maxRetries: number
  readonly #transport: Transport

  constructor(transport: Transport, maxRetries: number) {
    this.#transport = transport
    this.timing = transport.timing
    this.maxRetries = maxRetries
  }

  /** The typed answer, after as many retries as are allowed. */
  async call<N extends AnswerName>(call: Call & { readonly route: AnswerRoute<N> }): Promise<Answer<N>> {
    const repeatable = call.route.method === 'GET' || call.idempotencyKey !== undefined
    for (let retry = 1; ; retry += 1) {
      try {
        return await this.once(call)
      } catch (error) {
        const pause = repeatable && retry <= this.maxRetries ? retryPause(error, retry) : undefined
        if (pause === undefined) throw error
        await this.pause(pause, call.signal)
      }
    }
  }

  async once<N extends AnswerName>(call: Call & { readonly route: AnswerRoute<N> }): Promise<Answer<N>> {
    return this.answer(call.route.answers, await this.open(call))
  }

  /** One attempt, up to the head of its answer. The caller reads or closes it. */
  open(call: Call): Promise<Connection> {
    return Connection.open(this.#transport, call)
  }

  async answer<N extends AnswerName>(expected: N, connection: Connection): Promise<Answer<N>> {
    const text = textOf(connection.name, await connection.bytes())
    return answerOf(expected, this.received(connection, text))
  }

  received(connection: Connection, text: string): Received {
    const { name, status } = connection
    const retryAfterMs = retryAfterOf(connection.header('retry-after'), this.timing.now())
    return { name, status, text, retryAfterMs, token: this.#transport.target.token }
  }

  pause(ms: number, signal: AbortSignal = NEVER): Promise<void> {
    return this.timing.sleep(ms, signal)
  }
}
