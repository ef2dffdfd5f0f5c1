// What a peer says, on its way to a terminal or a file. It was written elsewhere: nothing in it may steer the terminal.
import { cliLimits } from '../limits.ts'
import { harmless } from '../render/text.ts'
import type { Terminal } from '../terminal.ts'

export class Speech {
  readonly #terminal: Terminal
  readonly #watched: boolean
  /** The end of what was shown. */
  #shown = ''
  begun = false
  /** The first half of a surrogate pair. */
  #half = ''

  /** `watched`: print text as it arrives. */
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

  endLine(): void {
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#show('\n')
  }

  /** Prints the answer (ALP-ASK-04: not everything that was said on the way), unless it was shown. */
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
