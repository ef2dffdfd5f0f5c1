// The only maker of run events. The vocabulary is closed (WG-04), `ok` of the two terminal types is set here and not by
// callers (WG-09, WG-10), sequence numbers have no gaps, and time never goes back (ALX-RUN-02).
import { type ProtocolError, type ProtocolInfo, parseRunEvent, type RunEvent, type RunEventType } from '@alx/protocol'

export interface EventOrigin {
  readonly runId: string
  readonly correlationId: string
  readonly sessionId: string
}

type Extra = Readonly<Record<string, unknown>>

export class RunEvents {
  readonly list: RunEvent[]
  readonly #origin: EventOrigin
  readonly #protocol: ProtocolInfo

  constructor(origin: EventOrigin, protocol: ProtocolInfo, list: readonly RunEvent[] = []) {
    this.#origin = origin
    this.#protocol = protocol
    this.list = [...list]
  }

  copy(): RunEvents {
    return new RunEvents(this.#origin, this.#protocol, this.list)
  }

  /** When the last one was; what comes next is not earlier. */
  get last(): string {
    return this.list.at(-1)?.timestamp ?? ''
  }

  started(at: string): string {
    return this.emit('run.started', at, { protocol: this.#protocol })
  }

  completed(at: string, more: Extra = {}): string {
    return this.emit('run.completed', at, { ...more, ok: true, protocol: this.#protocol })
  }

  failed(at: string, error: ProtocolError, more: Extra = {}): string {
    return this.emit('run.failed', at, { ...more, ok: false, protocol: this.#protocol, error })
  }

  /** The moment that the event got. Throws for anything that is no run event: that is a defect. */
  emit(type: RunEventType, at: string, more: Extra = {}): string {
    const { last } = this
    const timestamp = at > last ? at : last
    const made = parseRunEvent({ ...more, type, seq: this.list.length + 1, timestamp, ...this.#origin }, 'emit')
    if (!made.ok) throw new TypeError(`This is no run event: ${made.error.message}`)
    this.list.push(made.value)
    return timestamp
  }
}
