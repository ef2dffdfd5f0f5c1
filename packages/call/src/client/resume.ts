// How a subscription resumes after a lost link: its last place, what to ask for next, and which values are repeated.
import { callLimits } from '../limits.ts'

/** Marks the place of a value in its stream; no two values have the same. */
export type Cursor = number | string

export interface Resume<Input, Output> {
  cursor(value: Output): Cursor
  /** The input that resumes from a place: with the value after it, or with earlier ones once more. */
  input(input: Input, cursor: Cursor): Input
  /**
   * Negative if the first is before the second, 0 if they are the same place. By default numbers are ordered by size,
   * and of anything else the newest 1,024 are known again.
   */
  compare?(one: Cursor, other: Cursor): number
}

export class Resumption<Input, Output> {
  readonly #resume: Resume<Input, Output>
  readonly #input: Input
  #last: Cursor | undefined
  readonly #recent = new Set<Cursor>()
  #repeating = false

  constructor(resume: Resume<Input, Output>, input: Input) {
    this.#resume = resume
    this.#input = input
  }

  open(): Input {
    this.#repeating = this.#last !== undefined
    return this.#last === undefined ? this.#input : this.#resume.input(this.#input, this.#last)
  }

  /** Whether a value was there before. Only the beginning of a stream that was opened again can repeat anything. */
  repeats(value: Output): boolean {
    const cursor = this.#resume.cursor(value)
    if (this.#repeating && this.#passed(cursor)) return true
    this.#repeating = false
    this.#last = cursor
    if (!this.#ordered(cursor)) this.#remember(cursor)
    return false
  }

  #passed(cursor: Cursor): boolean {
    const last = this.#last!
    if (this.#resume.compare) return this.#resume.compare(cursor, last) <= 0
    return this.#ordered(cursor) ? cursor <= last : this.#recent.has(cursor)
  }

  #ordered(cursor: Cursor): boolean {
    return this.#resume.compare !== undefined || typeof cursor === 'number'
  }

  #remember(cursor: Cursor): void {
    this.#recent.add(cursor)
    if (this.#recent.size <= callLimits.resumeWindow) return
    const oldest = this.#recent.keys().next()
    if (!oldest.done) this.#recent.delete(oldest.value)
  }
}
