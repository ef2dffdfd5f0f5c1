// What a peer says, on its way to a terminal or a file. It was written elsewhere: nothing in it may steer the terminal.
import { cliLimits } from '../limits.ts'
import { harmless } from '../render/text.ts'
import type { Terminal } from '../terminal.ts'

export class Speech {
  readonly #terminal: Terminal
  readonly #watched: boolean
  /** The newest of what was shown. */
  #shown = ''
  begun = false
  /** Half of a character whose other half has not come yet. */
  #half = ''

  /** `watched`: somebody sees it as it comes. */
  constructor(terminal: Terminal, watched: boolean) {
    this.#terminal = terminal
    this.#watched = watched
  }

  say(text: string): void {
    const all = this.#half + text
    const whole = /[\uD800-\uDBFF]$/.test(all) ? all.slice(0, -1) : all
    this.#half = all.slice(whole.length)
    this.begun = true
    if (this.#watched) this.#show(harmless(whole))
  }

  /** What comes next begins at the beginning of a line. */
  endLine(): void {
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#show('\n')
  }

  /** The answer itself (ALP-ASK-04: not all that was said on the way), unless it was seen already. */
  conclude(answer: string): void {
    const text = harmless(answer)
    if (text === '' || flat(this.#shown).includes(flat(text))) return
    const gap = this.#shown === '' ? '' : '\n'
    this.#terminal.out(`${gap}${text}${text.endsWith('\n') ? '' : '\n'}`)
  }

  #show(text: string): void {
    this.#terminal.out(text)
    this.#shown = (this.#shown + text).slice(-cliLimits.heardLength)
  }
}

function flat(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
