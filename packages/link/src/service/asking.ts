// One inbound ask from its beginning to its end (ALP-ASK-02): a run that the peer's principal starts. Watched or not,
// it is read to its end, its cost is booked and its text remembered before there is an answer.
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
  type Usage,
} from '@parley/core'
import type { WireError } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import type { WireObject } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { Peer } from '../peers/peer.ts'
import { ALP_ORIGIN, peerPrincipal } from '../peers/principal.ts'
import type { StreamPart } from '../server/request.ts'
import { within } from '../within.ts'
import { answerOf, answerText, fitting, isInterrupted, spokenText } from './answer.ts'
import { Deltas, pieces } from './deltas.ts'
import type { ThreadOwner, Threads } from './threads.ts'

/** What a peer is told while the machine is at fault. */
export const HELD_UP = 'the node is held up by its machine; ask again later'

/** What a peer is told if the reason is for the owner alone. */
export const NOT_STARTED = 'the turn could not be started here'

const SESSION_BYTES = 6

export interface AskingParts {
  /** Starts the run of an ask; undefined while the node is not ready for that. */
  readonly runs: () => RunPort | undefined
  /** Who pins and unpins peers here: a turn that this ends is ended in their name. */
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
  /** When the turn is over and all of it is written. Never rejects. */
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

  /** ALP-CANCEL-01: by its caller. */
  cancel(): void {
    this.#cancelled = true
    this.interrupt('cancelled', 'its caller cancelled it')
  }

  /** Interrupts the turn, as a person at the keyboard would. Safe to repeat. */
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
      const ready = this.#deltas.ready()
      const next = await (events ? within(this.#parts.clock, linkDefaults.progressMs, ready) : ready)
      if (next === false) break
      if (next === 'late') yield { chunk: { event: 'progress', session_id: this.session } }
      else {
        const text = this.#deltas.take()!
        streamed += text.length
        yield { chunk: { text } }
      }
    }
    const reply = await this.reply
    // ALP-UNIX-04: a text that the last frame cannot hold is sent whole before it.
    if (this.#cut !== undefined && streamed < this.#cut.length)
      for (const text of pieces(this.#cut)) yield { chunk: { text } }
    yield 'error' in reply ? reply : { final: reply.result }
  }

  async #run(): Promise<AskReply> {
    const { grant, prompt } = this.#options
    try {
      const told = await this.#turn()
      if (!('outcome' in told)) {
        grant.settle({})
        return { error: told }
      }
      // ALP-ASK-03: a caller that was told `cancelled` is told so here too, although the turn may just have been done.
      const interrupted = this.#cancelled || isInterrupted(told)
      const { usd } = this.#book(told.unknownCost ? undefined : told.usage) ?? spentIn(told.usage)
      if (!interrupted) this.#remember(prompt, told)
      const whole = answerText(told, interrupted)
      const text = fitting(whole, this.#options.textBytes)
      if (text !== whole) this.#cut = whole
      return { result: answerOf(told, { text, session: this.session, usd, interrupted }) }
    } catch (cause) {
      this.#parts.failed('a turn', cause)
      // Nobody knows what it cost.
      this.#book()
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
      // A session belongs to one call: asking again by mistake starts nothing.
      key: { text: `${ALP_ORIGIN}:${this.session}`, reuse: 'always' },
      budget: grant.budget,
    })
    if (started.ok) return this.#watch(runs, started.value.run, principal)
    const told = refusal(started.error, grant)
    // The error may name the owner's folders and programs, so it goes to the log alone.
    if (!told) this.#parts.failed('a turn could not be started', started.error)
    return told ?? dispatchErrors.internal(NOT_STARTED)
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

  /**
   * ALP-ASK-03: what was booked, which the answer says. It is there and paid for: a ledger that cannot be written costs
   * nobody the answer, and what was set aside stays so.
   */
  #book(usage?: Usage): Spent | undefined {
    try {
      return this.#options.grant.settle(usage)
    } catch (cause) {
      this.#parts.failed('the ledger', cause)
      return undefined
    }
  }

  /** Only text of a turn that was not interrupted, of a peer that still has that id. */
  #remember(prompt: string, end: RunEnd): void {
    const text = spokenText(end)
    if (text === '') return
    try {
      if (this.#parts.isPinned(this.peer)) this.#parts.threads.add(this.peer, prompt, text)
    } catch (cause) {
      this.#parts.failed(`the thread of ${this.peer.id}`, cause)
    }
  }
}

/** In whose name a turn ends: the record holds a peer to account only for what it asked for itself. */
function endedBy(code: string, peer: Principal, owner: Principal): Principal | 'system' {
  if (code === 'cancelled' || code === 'caller_gone') return peer
  return code === 'unpinned' ? owner : 'system'
}

/** Goes on behind the last cursor when the watch breaks with a retryable error, as long as it gets further. */
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

/** The refusal of a start as the caller is told (ALP-ASK-09); undefined if it is not for the caller. */
function refusal(error: ParleyError, { budget }: Grant): WireError | undefined {
  switch (error.code) {
    case 'machine_fault':
      // Which fault of what is none of a peer's business.
      return dispatchErrors.targetBusy(HELD_UP)
    case 'overloaded':
    case 'too_many_runs':
      return dispatchErrors.targetBusy(error.message)
    case 'budget_exceeded':
      // A budget of the profile's own that is narrower than the day's: what was set aside is all that it had.
      return dispatchErrors.budgetExceeded(budget.usd ?? 0, budget.usd ?? 0)
    case 'permission_denied':
      return dispatchErrors.capabilityDenied('link.ask')
    case 'unknown_team':
      // Written for a peer to read.
      return dispatchErrors.internal(error.message)
    default:
      return undefined
  }
}
