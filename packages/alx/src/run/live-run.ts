// One run that somebody reads: its fold, shared by all of its readers, and a way to wait for what comes.
import type { RunEvent } from '@alx/protocol'
import type { RunId } from '@parley/core'
import { type FoldedRun, RunFold } from './fold.ts'

export class LiveRun {
  readonly run: RunId
  /** Whose it is. */
  readonly user: string
  readonly fold: RunFold
  /** Set when the run cannot be followed any more: readers are told so, and the next one tries again. */
  lost: Error | undefined
  readonly #readers = new Set<() => void>()
  readonly #frames: string[] = []

  constructor(user: string, folded: FoldedRun) {
    this.run = folded.runId as RunId
    this.user = user
    this.fold = new RunFold(folded)
  }

  /** As it stands at a moment: an approval whose time is over has been refused by then. */
  at(now: string): RunFold {
    return this.fold.expired(now) ?? this.fold
  }

  /** The frames of a stream, made once for all of its readers. */
  frame(index: number): string | undefined {
    const event = this.fold.events[index]
    if (event === undefined) return undefined
    this.#frames[index] ??= frameOf(event)
    return this.#frames[index]
  }

  get readers(): number {
    return this.#readers.size
  }

  /** Calls back after every change, until the returned function is called. */
  onChange(reader: () => void): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  changed(): void {
    for (const reader of [...this.#readers]) reader()
  }

  lose(cause: Error): void {
    this.lost = cause
    this.changed()
  }

  /** Resolves as soon as it holds; rejects when the run is lost. */
  until(holds: (run: LiveRun) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds(this)) {
          if (this.lost === undefined) return
          off()
          reject(this.lost)
          return
        }
        off()
        resolve()
      }
      const off = this.onChange(look)
      look()
    })
  }
}

/** ALX-RUN-06: an event as a frame. JSON has no line breaks of its own. */
export function frameOf(event: RunEvent): string {
  return `event: ${event.type}\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`
}
