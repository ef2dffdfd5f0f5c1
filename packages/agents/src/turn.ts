// What every adapter here shares: the life of a turn between `takeTurn` and its one result. Abort, close, the rules
// of `emit` and the measuring are here; how the turn is taken is the adapter's own.
import {
  type AgentReach,
  type Clock,
  durationMs,
  ParleyError,
  type TurnEvent,
  type TurnInput,
  type TurnResult,
  type Usage,
} from '@parley/core'
import type { MeteredAdapter, MeteredResult } from './metering.ts'
import type { Outage } from './outage/outage.ts'

export interface Turn {
  /** Its signal fires when the caller aborts and when the adapter is closed. */
  readonly input: TurnInput
  /** Never throws, and does nothing after the turn has ended. */
  readonly emit: (event: TurnEvent) => void
  usage(): Usage
}

export interface TurnEnd {
  readonly result: TurnResult
  readonly outputBytes: number
}

export interface AdapterParts {
  readonly name: string
  readonly kind: string
  readonly reach: AgentReach
  readonly clock: Clock
  /** Takes the turn, and returns only when nothing of it runs any more. What it throws is a defect. */
  take(turn: Turn): Promise<TurnEnd>
}

export function makeAdapter(parts: AdapterParts): MeteredAdapter {
  const { name, kind, reach, clock, take } = parts
  const running = new Map<AbortController, Promise<unknown>>()
  let closed = false

  const takeTurn = (input: TurnInput, emit: (event: TurnEvent) => void): Promise<MeteredResult> => {
    if (closed) return Promise.resolve(unmeasured(failed(closedError(name))))
    if (input.signal.aborted) return Promise.resolve(unmeasured(aborted(input.signal.reason)))
    const controller = new AbortController()
    const turn = live(input, emit, controller)
    running.set(controller, turn)
    const forget = () => void running.delete(controller)
    turn.then(forget, forget)
    return turn
  }

  const live = async (
    input: TurnInput,
    emit: (event: TurnEvent) => void,
    controller: AbortController,
  ): Promise<MeteredResult> => {
    const started = clock.now()
    const stop = () => controller.abort(input.signal.reason)
    input.signal.addEventListener('abort', stop, { once: true })
    let open = true
    let usage: Usage = {}
    const guarded = (event: TurnEvent) => {
      if (!open) return
      if (event.type === 'usage') usage = event.usage
      try {
        emit(event)
      } catch {
        // Events are for watching: a watcher that fails must not fail the turn.
      }
    }
    try {
      const { result, outputBytes } = await take({
        input: { ...input, signal: controller.signal },
        emit: guarded,
        usage: () => usage,
      })
      // The wall clock may have been set back meanwhile.
      return { ...result, meter: { wallMs: Math.max(0, durationMs(started, clock.now())), outputBytes } }
    } finally {
      open = false
      input.signal.removeEventListener('abort', stop)
    }
  }

  const close = async (): Promise<void> => {
    closed = true
    for (const controller of running.keys()) controller.abort(closedError(name))
    await Promise.allSettled(running.values())
  }

  return { name, kind, reach, takeTurn, close }
}

export function failed(error: ParleyError, usage: Usage = {}): TurnResult {
  return { outcome: 'failed', error, usage }
}

/** `outage`: its service did not work when it was ended. */
export function aborted(reason: unknown, usage: Usage = {}, outage?: Outage): TurnResult {
  const known = reason instanceof ParleyError ? reason : undefined
  const message = known ? `The turn was ended: ${known.message}` : 'The turn was ended before it was done.'
  const details = { ...(known && { reason: known.code }), ...(outage && { outage }) }
  return failed(new ParleyError('aborted', message, { details, cause: reason }), usage)
}

function closedError(name: string): ParleyError {
  return new ParleyError('closed', `The agent ${name} takes no more turns: it was closed.`)
}

function unmeasured(result: TurnResult): MeteredResult {
  return { ...result, meter: { wallMs: 0, outputBytes: 0 } }
}
