// How far a stream of run events has come: each event is told once and in order, however often the connection was lost
// (ALX-RUN-02, -03, -10).
import { parseRunEvent, RUN_EVENT_TYPES, type RunEvent } from '@alx/protocol'
import { AlxProtocolViolation } from '../errors.ts'
import { objectOf } from '../http/answer.ts'
import { outcomeRule } from '../outcome.ts'
import type { SseFrame } from './sse.ts'

/** An event of a newer server. Nothing but its `type` is known of it. */
export interface UnknownEvent {
  readonly type: string
  readonly [member: string]: unknown
}
/** `source`: where the event came from. */
export type OnUnknownEvent = (event: UnknownEvent, source: 'run' | 'timeline') => void

export class Position {
  /** The solve was sent: its answer may be that of an earlier attempt. */
  sent = false
  /** When the server was last heard. */
  heardMs = 0
  #runId: string | undefined
  #seq: number
  /** Events of unknown types that had no number: so many may be missing from the count. */
  #unnumbered = 0
  #last: string | undefined
  readonly #onUnknown: OnUnknownEvent

  constructor(onUnknown: OnUnknownEvent, runId?: string, seq = 0) {
    this.#onUnknown = onUnknown
    this.#runId = runId
    this.#seq = seq
  }

  get runId(): string | undefined {
    return this.#runId
  }

  /** The number of the last event that was told. */
  get seq(): number {
    return this.#seq
  }

  get ended(): boolean {
    return this.#last === 'run.completed' || this.#last === 'run.failed'
  }

  /** The last event told asks for an approval. */
  get waits(): boolean {
    return this.#last === 'approval.required'
  }

  /** An `alx.response` came before any event: the run is known all the same. */
  found(runId: string): void {
    this.#runId ??= runId
  }

  /** The event of a frame, if it is to be told. */
  frame({ data, id }: SseFrame, request: string): RunEvent | undefined {
    const value = objectOf(data)
    if (!value) throw violated('a frame whose data is not a JSON object', request)
    return this.event(value, request, /^\d{1,15}$/.test(id) ? Number(id) : undefined)
  }

  /** The event, if it is to be told: not a second time, and not if its type is unknown. */
  event(value: object, request: string, frameId?: number): RunEvent | undefined {
    const given = value as Readonly<Record<string, unknown>>
    const { type, runId } = given
    if (typeof type !== 'string' || type === '') throw violated('an event without a type', request)
    const known = (RUN_EVENT_TYPES as readonly string[]).includes(type)
    const broken = outcomeRule(given)
    if (broken) throw violated(`${type} with ok: ${given.ok}`, request, broken)
    const parsed = parseRunEvent(value)
    if (!parsed.ok) throw violated(`a ${type} that does not fit: ${parsed.error.message}`, request)

    const seq = Number.isSafeInteger(given.seq) ? (given.seq as number) : frameId
    if (seq !== undefined && seq <= this.#seq) return undefined
    if (this.ended) throw violated(`${type} after the end of the run`, request, 'ALX-RUN-03')
    if (typeof runId === 'string') {
      if (this.#runId !== undefined && runId !== this.#runId) throw violated('an event of another run', request)
      this.#runId = runId
    }
    if (seq === undefined) this.#unnumbered += 1
    else {
      if (seq > this.#seq + 1 + this.#unnumbered)
        throw violated(`event ${seq} after event ${this.#seq}: those between are missing`, request)
      this.#seq = seq
      this.#unnumbered = 0
    }
    this.#last = type
    if (known) return parsed.value
    this.#onUnknown(given as UnknownEvent, 'run')
    return undefined
  }
}

function violated(what: string, request: string, rule = 'ALX-RUN-02'): AlxProtocolViolation {
  return new AlxProtocolViolation(rule, what, request)
}
