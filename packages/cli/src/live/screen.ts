// Draws frames in place on a terminal, at most ten times a second: the newest frame wins, and the last one stays.
import type { CancelTimer, Clock } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type { Terminal } from '../terminal.ts'

/** Terminals that know synchronised output show a frame whole; others ignore it. */
const BEGIN = '\x1b[?2026h'
const END = '\x1b[?2026l'

export class Screen {
  readonly #terminal: Pick<Terminal, 'out'>
  readonly #clock: Clock
  readonly #frame: () => readonly string[]
  #drawn = 0
  #waiting: CancelTimer | undefined
  #wanted = false
  #ticking: CancelTimer | undefined

  /** `frame` gives the lines as they are now; none may be wider than the terminal, and all must fit its height. */
  constructor(terminal: Pick<Terminal, 'out'>, clock: Clock, frame: () => readonly string[]) {
    this.#terminal = terminal
    this.#clock = clock
    this.#frame = frame
  }

  /** Draws now, or when the shortest interval has passed. */
  changed(): void {
    if (this.#waiting) {
      this.#wanted = true
      return
    }
    this.#draw()
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

  /** Redraws for elapsed times. */
  tick(): void {
    this.#ticking?.()
    this.#ticking = this.#clock.after(
      cliLimits.tickMs,
      () => {
        this.changed()
        this.tick()
      },
      { background: true },
    )
  }

  /** Leaves the newest frame on the screen. */
  finish(): void {
    this.pause()
    this.#draw()
    this.#drawn = 0
  }

  clear(): void {
    this.pause()
    if (this.#drawn > 0) this.#terminal.out(`${BEGIN}${up(this.#drawn)}\x1b[J${END}`)
    this.#drawn = 0
  }

  pause(): void {
    this.#waiting?.()
    this.#ticking?.()
    this.#waiting = undefined
    this.#ticking = undefined
    this.#wanted = false
  }

  #draw(): void {
    const lines = this.#frame()
    // Clears the rest of each line, then everything below: no flicker.
    const text = lines.map(line => `${line}\x1b[K\n`).join('')
    this.#terminal.out(`${BEGIN}${up(this.#drawn)}${text}\x1b[J${END}`)
    this.#drawn = lines.length
  }
}

function up(lines: number): string {
  return lines > 0 ? `\x1b[${lines}F` : ''
}
