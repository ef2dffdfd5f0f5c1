// Text on its way from a turn to its watcher: joined while the reader is slow, held back when too much waits, never cut
// inside a character.
import { linkLimits } from '../limits.ts'
import { isHigh, whole } from './answer.ts'

export class Deltas {
  #waiting = ''
  #closed = false
  #changed = Promise.withResolvers<void>()

  /** Resolves when there is room for more. */
  async push(text: string): Promise<void> {
    if (this.#closed) return
    this.#waiting += text
    this.#change()
    while (!this.#closed && this.#waiting.length >= linkLimits.waitingText) await this.#changed.promise
  }

  /** No more will come, or nobody reads. What waits can still be read. */
  close(): void {
    this.#closed = true
    this.#change()
  }

  /** Resolves to whether there is something to take: false if there never will be. One reader at a time. */
  async ready(): Promise<boolean> {
    while (!this.#closed && this.#takes() === 0) await this.#changed.promise
    return this.#takes() > 0
  }

  /** The text of the next chunk; undefined while there is none. */
  take(): string | undefined {
    const length = this.#takes()
    if (length === 0) return undefined
    const text = this.#waiting.slice(0, length)
    this.#waiting = this.#waiting.slice(length)
    this.#change()
    return text.toWellFormed()
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Characters of the next chunk. Half of one waits for its other half while that may come. */
  #takes(): number {
    const length = whole(this.#waiting, linkLimits.chunkText).length
    const half = !this.#closed && length > 0 && isHigh(this.#waiting.charCodeAt(length - 1))
    return half ? length - 1 : length
  }
}

/** A text that is there already, in chunks. */
export function* pieces(text: string): Generator<string> {
  for (let rest = text; rest !== ''; ) {
    const piece = whole(rest, linkLimits.chunkText)
    rest = rest.slice(piece.length)
    yield piece
  }
}
