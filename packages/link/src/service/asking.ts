// One inbound ask from its beginning to its end: the turn is read to its end whether anybody watches or not, its cost is booked, its text
// remembered, and only then is there an answer.
import { randomBytes } from 'node:crypto'
import { type Clock, ParleyError } from '@parley/core'
import { type Grant, spentIn } from '../budget/ledger.ts'
import type { Spent } from '../budget/ledger-file.ts'
import type { WireError } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import type { WireObject } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { StreamPart } from '../server/request.ts'
import { answerOf, answerText, fitting, spokenText } from './answer.ts'
import type { AskCaller, AskEnd, AskPort } from './ask-port.ts'
import { Deltas, pieces } from './deltas.ts'
import type { ThreadOwner, Threads } from './threads.ts'

/** What a peer is told while the machine is at fault. */
export const HELD_UP = 'the node is held up by its machine; ask again later'

const SESSION_BYTES = 6

export interface AskingParts {
  readonly port: AskPort
  readonly threads: Threads
  /** Whether this key is pinned now, under this id. */
  readonly isPinned: (peer: ThreadOwner) => boolean
  readonly clock: Clock
  readonly failed: (what: string, cause: unknown) => void
}

export interface AskingOptions {
  readonly caller: AskCaller
  readonly prompt: string
  readonly grant: Grant
  /** Somebody reads the text as it comes. */
  readonly watched: boolean
  /** Bytes of JSON that the answer's text may have. */
  readonly textBytes: number
}

export type AskReply = { readonly result: WireObject } | { readonly error: WireError }

export class Asking {
  readonly session = randomBytes(SESSION_BYTES).toString('hex')
  readonly caller: AskCaller
  /** Never rejects. The turn is over then, and all of it is written. */
  readonly reply: Promise<AskReply>
  readonly #parts: AskingParts
  readonly #options: AskingOptions
  readonly #interrupt = new AbortController()
  #cancelled = false
  /** The text of the answer, where it does not fit whole. */
  #cut: string | undefined
  readonly #deltas = new Deltas()

  constructor(parts: AskingParts, options: AskingOptions) {
    this.#parts = parts
    this.#options = options
    this.caller = options.caller
    if (!options.watched) this.#deltas.close()
    const cancel = parts.clock.after(
      linkDefaults.turnMs,
      () => this.interrupt('deadline', 'the turn took too long'),
      { background: true },
    )
    this.reply = this.#run().finally(() => {
      cancel()
      this.#deltas.close()
    })
  }

  /** ALP-CANCEL-01: its caller wants no more of it. */
  cancel(): void {
    this.#cancelled = true
    this.interrupt('cancelled', 'its caller cancelled it')
  }

  /** Interrupts the turn, as somebody at the keyboard would. Safe to repeat. */
  interrupt(code: string, why: string): void {
    this.#interrupt.abort(new ParleyError(code, `The turn was interrupted: ${why}.`))
    // A reader that is gone must not hold up the end.
    this.#deltas.close()
  }

  /** ALP-ASK-06: chunks, then the one last frame; with `events`, also that it began and that it goes on. */
  async *stream(events: boolean): AsyncGenerator<StreamPart> {
    if (events) yield { chunk: { event: 'started', session_id: this.session } }
    let streamed = 0
    for (;;) {
      const next = await (events ? this.#readyOrQuiet() : this.#deltas.ready())
      if (next === false) break
      if (next === 'quiet') yield { chunk: { event: 'progress', session_id: this.session } }
      else {
        const text = this.#deltas.take()!
        streamed += text.length
        yield { chunk: { text } }
      }
    }
    const reply = await this.reply
    // ALP-UNIX-04: what the last frame cannot hold has been seen whole before it.
    if (this.#cut !== undefined && streamed < this.#cut.length)
      for (const text of pieces(this.#cut)) yield { chunk: { text } }
    yield 'error' in reply ? reply : { final: reply.result }
  }

  async #readyOrQuiet(): Promise<boolean | 'quiet'> {
    let cancel = () => {}
    const quiet = new Promise<'quiet'>(resolve => {
      cancel = this.#parts.clock.after(linkDefaults.progressMs, () => resolve('quiet'), { background: true })
    })
    try {
      return await Promise.race([this.#deltas.ready(), quiet])
    } finally {
      cancel()
    }
  }

  async #run(): Promise<AskReply> {
    const { grant, prompt } = this.#options
    try {
      const told = await this.#turn()
      if (!('interrupted' in told)) {
        grant.settle({})
        return { error: told }
      }
      // ALP-ASK-03: whoever was told `cancelled` is told so here too, although the turn may just have been done.
      const end = { ...told, interrupted: told.interrupted || this.#cancelled }
      const spent = this.#book(end)
      this.#remember(prompt, end)
      const whole = answerText(end)
      const text = fitting(whole, this.#options.textBytes)
      if (text !== whole) this.#cut = whole
      return { result: answerOf(end, text, this.session, spent.usd) }
    } catch (cause) {
      this.#parts.failed('a turn', cause)
      this.#writeOff()
      return {
        error: dispatchErrors.internal(cause instanceof ParleyError ? cause.message : 'the turn failed here'),
      }
    }
  }

  async #turn(): Promise<AskEnd | WireError> {
    const { port, threads } = this.#parts
    const { caller, prompt, grant } = this.#options
    const started = await port.start({
      session: this.session,
      caller,
      prompt,
      history: threads.history(caller),
      budget: grant.budget,
      reservation: grant.id,
      signal: this.#interrupt.signal,
    })
    if (!started.ok) return refusal(started.error, grant)
    for await (const part of started.value) {
      if (part.type === 'end') return part.end
      await this.#deltas.push(part.text)
    }
    throw new ParleyError('turn_without_end', 'The turn ended without saying how.')
  }

  /**
   * ALP-ASK-03: the answer tells what was booked. It is there and paid for: a ledger that cannot be written costs
   * nobody the answer, and what was set aside stays so.
   */
  #book({ usage, unknownCost }: AskEnd): Spent {
    try {
      return this.#options.grant.settle(unknownCost ? undefined : usage)
    } catch (cause) {
      this.#parts.failed('the ledger', cause)
      return spentIn(usage)
    }
  }

  /** Only a turn that produced text and was not interrupted, of a peer that is still the one of that id. */
  #remember(prompt: string, end: AskEnd): void {
    const text = spokenText(end)
    if (text === '' || end.interrupted) return
    try {
      if (this.#parts.isPinned(this.caller)) this.#parts.threads.add(this.caller, prompt, text)
    } catch (cause) {
      this.#parts.failed(`the thread of ${this.caller.id}`, cause)
    }
  }

  /** Nobody knows what it cost. */
  #writeOff(): void {
    try {
      this.#options.grant.settle()
    } catch (cause) {
      this.#parts.failed('the ledger', cause)
    }
  }
}

/** What the port refuses with, as the caller is told (ALP-ASK-09). */
function refusal(error: ParleyError, { budget }: Grant): WireError {
  switch (error.code) {
    case 'machine_fault':
      // Where, and what of, is none of a peer's business.
      return dispatchErrors.targetBusy(HELD_UP)
    case 'overloaded':
      return dispatchErrors.targetBusy(error.message)
    case 'budget_exceeded':
      // A budget of the profile's own that is narrower than the day's: what was set aside is all that it had.
      return dispatchErrors.budgetExceeded(budget.usd ?? 0, budget.usd ?? 0)
    case 'permission_denied':
      return dispatchErrors.capabilityDenied('link.ask')
    default:
      return dispatchErrors.internal(error.message)
  }
}
