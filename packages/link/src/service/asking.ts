// One inbound ask from its beginning to its end (ALP-ASK-02): a run that the peer's principal starts. It is read to its
// end whether anybody watches or not, its cost is booked, its text remembered, and only then is there an answer.
import { randomBytes } from 'node:crypto'
import {
  type Clock,
  type Grant,
  ParleyError,
  type Principal,
  type RunEnd,
  type RunId,
  type RunPage,
  type RunPort,
  type Spent,
  spentIn,
} from '@parley/core'
import type { WireError } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import type { WireObject } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { Peer } from '../peers/peer.ts'
import { ALP_ORIGIN, peerPrincipal } from '../peers/principal.ts'
import type { StreamPart } from '../server/request.ts'
import { answerOf, answerText, fitting, isInterrupted, spokenText } from './answer.ts'
import { Deltas, pieces } from './deltas.ts'
import type { ThreadOwner, Threads } from './threads.ts'

/** What a peer is told while the machine is at fault. */
export const HELD_UP = 'the node is held up by its machine; ask again later'

/** What a peer is told where the reason is the owner's alone. */
export const NOT_STARTED = 'the turn could not be started here'

const SESSION_BYTES = 6

export interface AskingParts {
  /** What an ask becomes a run with; undefined while the node is not ready for that. */
  readonly runs: () => RunPort | undefined
  /** Who pins and unpins peers here. */
  readonly owner: Principal
  readonly threads: Threads
  /** Whether this key is pinned now, under this id. */
  readonly isPinned: (peer: ThreadOwner) => boolean
  readonly clock: Clock
  readonly failed: (what: string, cause: unknown) => void
}

export interface AskingOptions {
  readonly peer: Peer
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
  readonly peer: Peer
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
    this.peer = options.peer
    if (!options.watched) this.#deltas.close()
    const cancel = parts.clock.after(linkDefaults.turnMs, () => this.interrupt('deadline', 'the turn took too long'), {
      background: true,
    })
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
      if (!('outcome' in told)) {
        grant.settle({})
        return { error: told }
      }
      // ALP-ASK-03: whoever was told `cancelled` is told so here too, although the turn may just have been done.
      const interrupted = this.#cancelled || isInterrupted(told)
      const { usd } = this.#book(told)
      if (!interrupted) this.#remember(prompt, told)
      const whole = answerText(told, interrupted)
      const text = fitting(whole, this.#options.textBytes)
      if (text !== whole) this.#cut = whole
      return { result: answerOf(told, { text, session: this.session, usd, interrupted }) }
    } catch (cause) {
      this.#parts.failed('a turn', cause)
      this.#writeOff()
      return { error: dispatchErrors.internal('the turn failed here') }
    }
  }

  async #turn(): Promise<RunEnd | WireError> {
    const { threads } = this.#parts
    const { peer, prompt, grant } = this.#options
    const runs = this.#parts.runs()
    if (!runs) return dispatchErrors.targetBusy('The node is starting.')
    const principal = peerPrincipal(peer)
    const started = await runs.start({
      principal,
      intent: prompt,
      origin: ALP_ORIGIN,
      told: threads.history(peer),
      context: { session: this.session, peer: peer.id, reservation: grant.id },
      // A session is of one call: asking again by mistake starts nothing.
      key: { text: `${ALP_ORIGIN}:${this.session}`, reuse: 'always' },
      budget: grant.budget,
    })
    if (!started.ok) return refusal(started.error, grant) ?? this.#notStarted(started.error)
    return this.#watch(runs, started.value.run, principal)
  }

  async #watch(runs: RunPort, run: RunId, principal: Principal): Promise<RunEnd> {
    const { signal } = this.#interrupt
    let cancelling: Promise<unknown> | undefined
    const cancel = () => {
      const { code, message } = signal.reason as ParleyError
      const by = endedBy(code, principal, this.#parts.owner)
      // A refusal changes nothing: the run goes on to its end.
      cancelling ??= runs.cancel(run, { principal: by, reason: message }).catch(() => undefined)
    }
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    try {
      for await (const { text, end } of pages(runs, run, principal)) {
        if (text) await this.#deltas.push(text)
        if (end) return end
      }
      throw new ParleyError('turn_without_end', 'The turn ended without saying how.')
    } finally {
      signal.removeEventListener('abort', cancel)
      await cancelling
    }
  }

  /** It may name folders and programs of the owner's, who finds it in the log. */
  #notStarted(error: ParleyError): WireError {
    this.#parts.failed('a turn could not be started', error)
    return dispatchErrors.internal(NOT_STARTED)
  }

  /**
   * ALP-ASK-03: the answer tells what was booked. It is there and paid for: a ledger that cannot be written costs
   * nobody the answer, and what was set aside stays so.
   */
  #book({ usage, unknownCost }: RunEnd): Spent {
    try {
      return this.#options.grant.settle(unknownCost ? undefined : usage)
    } catch (cause) {
      this.#parts.failed('the ledger', cause)
      return spentIn(usage)
    }
  }

  /** Only a turn that produced text and was not interrupted, of a peer that is still the one of that id. */
  #remember(prompt: string, end: RunEnd): void {
    const text = spokenText(end)
    if (text === '') return
    try {
      if (this.#parts.isPinned(this.peer)) this.#parts.threads.add(this.peer, prompt, text)
    } catch (cause) {
      this.#parts.failed(`the thread of ${this.peer.id}`, cause)
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

/**
 * Whose act it is: an end is on record under the name of who did it, and the peer has done only what it asked for
 * itself.
 */
function endedBy(code: string, peer: Principal, owner: Principal): Principal | 'system' {
  if (code === 'cancelled' || code === 'caller_gone') return peer
  return code === 'unpinned' ? owner : 'system'
}

/** Goes on behind the last cursor when the watch breaks and may be taken up again, as long as it gets further. */
async function* pages(runs: RunPort, run: RunId, principal: Principal): AsyncGenerator<RunPage> {
  let after: number | undefined
  for (;;) {
    const from = after
    try {
      for await (const page of runs.watch(run, { principal, ...(after !== undefined && { after }) })) {
        after = page.cursor
        yield page
      }
      return
    } catch (cause) {
      if (!(cause instanceof ParleyError && cause.retryable) || after === from) throw cause
    }
  }
}

/** What a start is refused with, as the caller is told (ALP-ASK-09); undefined where that is not for the caller. */
function refusal(error: ParleyError, { budget }: Grant): WireError | undefined {
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
    case 'unknown_team':
      // In words that are for a peer.
      return dispatchErrors.internal(error.message)
    default:
      return undefined
  }
}
