// link.ask and link.cancel (ALP-ASK, ALP-CANCEL): one turn at a time for the profile, nobody waits in line, and only
// the caller of an ask may cancel it.
import { type Exhausted, err, invariant, type Ledger, machineFaultOf, ParleyError, type TurnBudget } from '@parley/core'
import type { WireError } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import { integerOf, isWireObject, numberOf, type WireValue } from '../json/value.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { trim } from '../text.ts'
import { within } from '../within.ts'
import { jsonBytes } from './answer.ts'
import { Asking, type AskingParts, HELD_UP, NOT_STARTED } from './asking.ts'
import type { Method } from './dispatch.ts'

export interface AsksOptions extends AskingParts {
  /** The profile's, which its own turns draw from as well. */
  readonly ledger: Ledger
  /** ALP-ASK-06: whether watchers are told that a turn began and goes on, which early revisions do not understand. */
  readonly events?: boolean
}

export class Asks {
  readonly #options: AsksOptions
  #running: Asking | undefined
  #closed = false

  constructor(options: AsksOptions) {
    this.#options = options
  }

  /** The session of the turn that runs, if one does. */
  get running(): string | undefined {
    return this.#running?.session
  }

  readonly ask: Method = ({ params, peer, request, connection: { signal } }) => {
    const prompt = typeof params.prompt === 'string' ? trim(params.prompt) : ''
    if (prompt === '') return { error: dispatchErrors.invalidParams('prompt must be a text that is not empty') }
    const watched = params.stream ?? false
    if (typeof watched !== 'boolean') return { error: dispatchErrors.invalidParams('stream must be true or false') }
    const budget = budgetOf(params.budget)
    if (!budget) return { error: dispatchErrors.invalidParams('budget must have usd or tokens, not below zero') }
    // ALP-ASK-05: at once, and before anything is set aside.
    if (this.#running || this.#closed)
      return { error: dispatchErrors.targetBusy('another turn is running; ask again later') }
    // A caller that wants to spend nothing wants no turn.
    if (budget.usd === 0 || budget.tokens === 0) return { error: dispatchErrors.budgetExceeded(0, 0) }
    const grant = this.#reserve(peer.id, budget)
    if (!grant.ok) return { error: refusedGrant(grant.error) }
    const textBytes = request.most - linkLimits.answerEnvelopeBytes - jsonBytes(request.id ?? '')
    const asking = new Asking(this.#options, { peer, prompt, grant: grant.value, watched, textBytes })
    this.#running = asking
    // Nobody will read the answer: no more is spent on it.
    const gone = () => asking.interrupt('caller_gone', 'its caller is gone')
    signal.addEventListener('abort', gone, { once: true })
    if (signal.aborted) gone()
    const over = asking.reply.then(reply => {
      signal.removeEventListener('abort', gone)
      invariant(this.#running === asking, 'a turn ends as the one that runs')
      this.#running = undefined
      return reply
    })
    return watched ? { stream: asking.stream(this.#options.events ?? false) } : over
  }

  /** If the machine keeps the ledger from being written, the ask may come again. */
  #reserve(peer: string, budget: TurnBudget): ReturnType<Ledger['reserve']> {
    try {
      return this.#options.ledger.reserve(peer, budget)
    } catch (cause) {
      if (!machineFaultOf(cause)) throw cause
      this.#options.failed('the ledger', cause)
      return err(new ParleyError('machine_fault', HELD_UP, { cause }))
    }
  }

  readonly cancel: Method = ({ params, request }) => {
    const running = this.#running
    const { session_id = '' } = params
    if (typeof session_id !== 'string') return { error: dispatchErrors.invalidParams('session_id must be a text') }
    const named = trim(session_id)
    // ALP-CANCEL-02: without a name it is the caller's own turn; that of another caller is nobody's business.
    const matches = running?.peer.pubkey === request.from && (named === '' || named === running.session)
    if (!matches) return { result: { cancelled: false } }
    running.cancel()
    return { result: { cancelled: true, session_id: running.session } }
  }

  /** Ends the turn of a peer that is not pinned any more. */
  unpinned(identity: string): void {
    if (this.#running?.peer.pubkey === identity)
      this.#running.interrupt('unpinned', 'its caller is not pinned any more')
  }

  /** Interrupts the turn that runs, starts nothing more, and waits a while for the end. */
  async close(): Promise<void> {
    this.#closed = true
    const running = this.#running
    running?.interrupt('closed', 'the node stops')
    if (running) await within(this.#options.clock, linkDefaults.closeMs, running.reply)
  }
}

function refusedGrant(error: Exhausted | ParleyError): WireError {
  if (!(error instanceof ParleyError)) return dispatchErrors.budgetExceeded(error.cap, error.used)
  // The file and its owner are none of a peer's business; a broken file does not mend itself, either.
  if (error.code === 'ledger_unavailable')
    return machineFaultOf(error) ? dispatchErrors.targetBusy(HELD_UP) : dispatchErrors.internal(NOT_STARTED)
  return dispatchErrors.targetBusy(error.message)
}

/** ALP-ASK-01: only lowers what a turn may spend. Undefined if it is no budget; a limit left out or null is none. */
function budgetOf(value: WireValue | undefined): TurnBudget | undefined {
  if (value === undefined || value === null) return {}
  if (!isWireObject(value)) return undefined
  const usd = value.usd == null ? undefined : (numberOf(value.usd) ?? Number.NaN)
  const tokens = value.tokens == null ? undefined : Number(integerOf(value.tokens) ?? Number.NaN)
  if ([usd, tokens].some(limit => limit !== undefined && !(Number.isFinite(limit) && limit >= 0))) return undefined
  return { ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) }
}
