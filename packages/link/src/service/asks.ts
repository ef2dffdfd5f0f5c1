// link.ask and link.cancel (ALP-ASK, ALP-CANCEL): one turn at a time for the profile, nobody waits in line, and only who asked may cancel.
import { type Clock, err, machineFaultOf, ParleyError } from '@parley/core'
import type { Ledger } from '../budget/ledger.ts'
import { dispatchErrors } from '../errors.ts'
import { fingerprintOf } from '../identity/fingerprint.ts'
import { integerOf, isWireObject, numberOf, type WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { Reply } from '../server/request.ts'
import { trim } from '../text.ts'
import { Asking, type AskingParts, HELD_UP } from './asking.ts'
import type { Method, MethodCall } from './methods.ts'

export interface AsksOptions extends AskingParts {
  readonly ledger: Ledger
  /** Whether watchers are told that a turn began and goes on (ALP-ASK-06); later revisions of a peer understand that. */
  readonly events?: boolean
}

export class Asks {
  readonly #options: AsksOptions
  readonly #clock: Clock
  #running: Asking | undefined
  #closed = false

  constructor(options: AsksOptions) {
    this.#options = options
    this.#clock = options.clock
  }

  /** The session of the turn that runs, if one does. */
  get running(): string | undefined {
    return this.#running?.session
  }

  readonly ask: Method = call => {
    const prompt = typeof call.params.prompt === 'string' ? trim(call.params.prompt) : ''
    if (prompt === '')
      return { error: dispatchErrors.invalidParams('prompt must be a text that is not empty') }
    // ALP-ASK-05: at once, and before anything is set aside.
    if (this.#running || this.#closed)
      return { error: dispatchErrors.targetBusy('another turn is running; ask again later') }
    const grant = this.#reserve(call)
    if (!grant.ok)
      return {
        error:
          grant.error instanceof ParleyError
            ? dispatchErrors.targetBusy(grant.error.message)
            : dispatchErrors.budgetExceeded(grant.error.cap, grant.error.used),
      }
    const watched = call.params.stream === true
    const { id, pubkey } = call.peer
    // A key whose signature was verified has a fingerprint.
    const caller = { id, identity: pubkey, fingerprint: fingerprintOf(pubkey)! }
    const asking = new Asking(this.#options, { caller, prompt, grant: grant.value, watched })
    return this.#answer(asking, call, watched)
  }

  /** A ledger that the machine keeps from being written says nothing about the ask: it may come again. */
  #reserve({ peer, params }: Parameters<Method>[0]): ReturnType<AsksOptions['ledger']['reserve']> {
    try {
      return this.#options.ledger.reserve(peer.id, budgetOf(params.budget))
    } catch (cause) {
      if (!machineFaultOf(cause)) throw cause
      this.#options.failed('the ledger', cause)
      return err(new ParleyError('machine_fault', HELD_UP, { cause }))
    }
  }

  readonly cancel: Method = ({ params, request }) => {
    const running = this.#running
    const { session_id = '' } = params
    const named = typeof session_id === 'string' ? trim(session_id) : undefined
    // ALP-CANCEL-02: no name is whatever runs; the turn of another caller is nobody's business.
    const matches = running?.caller.identity === request.from && (named === '' || named === running.session)
    if (!matches) return { result: { cancelled: false } }
    running.interrupt('cancelled', 'its caller cancelled it')
    return { result: { cancelled: true, session_id: running.session } }
  }

  /** The caller is not pinned any more: what it asked for is ended. */
  unpinned(identity: string): void {
    if (this.#running?.caller.identity === identity)
      this.#running.interrupt('unpinned', 'its caller is not pinned any more')
  }

  /** Interrupts what runs, starts nothing more, and waits a while for the end. */
  async close(): Promise<void> {
    this.#closed = true
    const running = this.#running
    if (!running) return
    running.interrupt('closed', 'the node stops')
    let cancel = () => {}
    const late = new Promise<void>(resolve => {
      cancel = this.#clock.after(linkDefaults.closeMs, resolve)
    })
    await Promise.race([running.reply, late])
    cancel()
  }

  #answer(asking: Asking, { connection }: MethodCall, watched: boolean): Reply | Promise<Reply> {
    this.#running = asking
    // Nobody will read the answer: no more is spent on it.
    const gone = () => asking.interrupt('caller_gone', 'its caller is gone')
    connection.signal.addEventListener('abort', gone, { once: true })
    if (connection.signal.aborted) gone()
    const over = asking.reply.then(reply => {
      connection.signal.removeEventListener('abort', gone)
      this.#running = undefined
      return reply
    })
    return watched ? { stream: asking.stream(this.#options.events ?? false) } : over
  }
}

/** ALP-ASK-01: accepted, and only ever lowers what a turn may spend. */
function budgetOf(value: WireValue | undefined): { usd?: number; tokens?: number } {
  if (!isWireObject(value)) return {}
  const usd = numberOf(value.usd)
  const tokens = integerOf(value.tokens)
  return {
    ...(usd !== undefined && Number.isFinite(usd) && usd > 0 && { usd }),
    ...(typeof tokens === 'number' && tokens > 0 && { tokens }),
  }
}
