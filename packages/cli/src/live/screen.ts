// Draws frames in place on a terminal, at most ten times a second: the newest frame wins, and the last one stays.
import { stripVTControlCharacters } from 'node:util'
import type { CancelTimer, Clock } from '@parley/core'
import { cliLimits } from '../limits.ts'
import { widthOf } from '../render/text.ts'
import type { Terminal } from '../terminal.ts'

/** Terminals that know synchronised output show a frame whole; others ignore it. */
const BEGIN = '\x1b[?2026h'
const END = '\x1b[?2026l'

type Canvas = Pick<Terminal, 'out' | 'columns'>

export class Screen {
  readonly #terminal: Canvas
  readonly #clock: Clock
  readonly #frame: () => readonly string[]
  #drawn: readonly string[] = []
  #waiting: CancelTimer | undefined
  #wanted = false
  #ticking: CancelTimer | undefined
  #away = false
  /** After its end nothing is drawn any more, whatever still comes. */
  #ended = false

  /** `frame` gives the lines as they are now; none may be wider than the terminal, and all must fit its height. */
  constructor(terminal: Canvas, clock: Clock, frame: () => readonly string[]) {
    this.#terminal = terminal
    this.#clock = clock
    this.#frame = frame
  }

  /** Draws now, or when the shortest interval has passed. */
  changed(): void {
    if (this.#ended) return
    if (this.#waiting) {
      this.#wanted = true
      return
    }
    this.now()
    this.#waiting = this.#clock.after(
      cliLimits.redrawMs,
      () => {
        this.#waiting = undefined
        if (!this.#wanted) return
        this.#wanted = false
        this.changed()
      },
      { background: true },
    )
  }

  /** Draws at once: somebody who pressed a key is looking. */
  now(): void {
    this.#wanted = false
    if (!this.#away && !this.#ended) this.#draw([])
  }

  /** Draws below what others have written since: what they wrote stays. */
  anew(): void {
    this.#drawn = []
    this.now()
  }

  /** Redraws for elapsed times. */
  tick(): void {
    this.#ticking?.()
    if (this.#ended) return
    this.#ticking = this.#clock.after(
      cliLimits.tickMs,
      () => {
        this.changed()
        this.tick()
      },
      { background: true },
    )
  }

  /** Writes lines above the frame, where they stay and scroll away. */
  above(lines: readonly string[]): void {
    this.#draw(lines)
  }

  /** Leaves the screen to something else meanwhile. */
  async aside<T>(act: () => Promise<T>): Promise<T> {
    this.#erase()
    this.#away = true
    try {
      return await act()
    } finally {
      this.#away = false
      this.now()
    }
  }

  /** Leaves the newest frame on the screen. */
  finish(): void {
    this.pause()
    this.now()
    this.#drawn = []
    this.#ended = true
  }

  clear(): void {
    this.pause()
    this.#erase()
    this.#ended = true
  }

  pause(): void {
    this.#waiting?.()
    this.#ticking?.()
    this.#waiting = undefined
    this.#ticking = undefined
    this.#wanted = false
  }

  #erase(): void {
    if (this.#drawn.length > 0) this.#terminal.out(`${BEGIN}${this.#back}\x1b[J${END}`)
    this.#drawn = []
  }

  #draw(above: readonly string[]): void {
    const lines = this.#ended ? [] : this.#frame()
    // Clears the rest of each line, then everything below: no flicker.
    const text = [...above, ...lines].map(line => `${line}\x1b[K\n`).join('')
    this.#terminal.out(`${BEGIN}${this.#back}${text}\x1b[J${END}`)
    this.#drawn = lines
  }

  /** To the frame's first line. In a terminal that was made narrower since, its lines have become several. */
  get #back(): string {
    const { columns } = this.#terminal
    const rows = this.#drawn.reduce((sum, line) => sum + rowsOf(line, columns), 0)
    return rows > 0 ? `\x1b[${rows}F` : ''
  }
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / columns))
}
