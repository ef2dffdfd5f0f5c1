// What agents say, as it waits for one watcher: as much as one may leave waiting, and of more the end, behind a mark.
import type { TurnEvent } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'

/** Where text was left out because nobody took it in time. */
export const LEFT_OUT = '[… earlier text was left out: it was not read in time]\n'

export class SpokenText {
  readonly #most: number
  #waiting = ''
  #cut = false
  /** How what was said before ends. */
  #last = '\n'
  #wake: (() => void) | undefined

  constructor(most: number = coordinatorLimits.heardLength) {
    this.#most = most
  }

  push({ text, part }: Extract<TurnEvent, { readonly type: 'text' }>): void {
    if (text === '') return
    // A line or a message of its own stands on lines of its own.
    const said = part ? text : `${this.#last.endsWith('\n') ? '' : '\n'}${text}${text.endsWith('\n') ? '' : '\n'}`
    this.#last = said.slice(-1)
    const all = this.#waiting + said
    this.#cut ||= all.length > this.#most
    this.#waiting = all.slice(-this.#most)
    this.#wake?.()
  }

  /** What has come since; undefined if nothing has. */
  take(): string | undefined {
    if (this.#waiting === '') return undefined
    const text = `${this.#cut ? LEFT_OUT : ''}${this.#waiting.toWellFormed()}`
    this.#waiting = ''
    this.#cut = false
    return text
  }

  /** Resolves when there is something to take; one caller at a time. */
  ready(): Promise<void> {
    if (this.#waiting !== '') return Promise.resolve()
    return new Promise(resolve => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }
}
