// Events for lines of output, at a pace that watchers can follow: a few in each window, the rest is counted.
import type { CancelTimer, Clock, TurnEvent } from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { plainText } from './lines.ts'
import type { ToolState } from './parsers/parser.ts'
import { shorten } from './tail.ts'

export class LineEvents {
  readonly #clock: Clock
  readonly #emit: (event: TurnEvent) => void
  #shown = 0
  #hidden = 0
  #progress = ''
  #cancel: CancelTimer | undefined

  constructor(clock: Clock, emit: (event: TurnEvent) => void) {
    this.#clock = clock
    this.#emit = emit
  }

  line(type: 'text' | 'thinking' | 'notice', text: string): void {
    this.#progress = ''
    this.#send({ type, text: shorten(plainText(text), agentLimits.eventLength) })
  }

  tool(name: string, state: ToolState, summary: string | undefined): void {
    const short = summary === undefined ? {} : { summary: shorten(plainText(summary), agentLimits.summaryLength) }
    this.#send({ type: 'tool', name: shorten(plainText(name), agentLimits.summaryLength), state, ...short })
  }

  /** Of a line that overwrites itself, the state at the end of a window is enough. */
  progress(text: string): void {
    if (text.trim() === '') return
    this.#progress = text
    this.#open()
  }

  end(): void {
    this.#cancel?.()
    this.#tell()
  }

  #send(event: TurnEvent): void {
    this.#open()
    if (this.#shown < agentLimits.eventsPerWindow) {
      this.#shown += 1
      this.#emit(event)
    } else this.#hidden += 1
  }

  #open(): void {
    this.#cancel ??= this.#clock.after(agentDefaults.windowMs, () => this.#next(), { background: true })
  }

  #next(): void {
    this.#cancel = undefined
    this.#shown = 0
    this.#tell()
  }

  #tell(): void {
    if (this.#hidden > 0)
      this.#emit({ type: 'notice', text: `${this.#hidden} more lines of output are not shown here.` })
    if (this.#progress !== '') this.#emit({ type: 'text', text: shorten(this.#progress, agentLimits.eventLength) })
    this.#hidden = 0
    this.#progress = ''
  }
}
