// Commands that wait for their run: by class (W-CONC-02), first in, first out inside each; and those that wait for an integration
// into a target to end (W-INT-08).
import type { Result, WorkspaceId } from '@parley/core'
import { type Command, PRECEDENCE, precedenceOf } from '../command.ts'

export interface Queued {
  readonly command: Command
  readonly answer: (result: Result<unknown>) => void
}

export class CommandQueue {
  readonly #classes: readonly Queued[][] = Object.values(PRECEDENCE).map(() => [])
  #size = 0
  readonly #locked = new Map<WorkspaceId, Queued[]>()
  #lockedSize = 0

  /** How many commands wait for their turn, those at a lock aside. */
  get size(): number {
    return this.#size
  }

  /** How many wait at locks. */
  get lockedSize(): number {
    return this.#lockedSize
  }

  push(queued: Queued): void {
    this.#classes[precedenceOf(queued.command)]!.push(queued)
    this.#size++
  }

  /** Asks for something that nobody waits for, unless it is asked for already. */
  pushOnce(command: Command): void {
    const queue = this.#classes[precedenceOf(command)]!
    if (queue.some(queued => queued.command.type === command.type)) return
    this.push({ command, answer: () => undefined })
  }

  /** The next of the classes up to `last`. */
  next(last: number = PRECEDENCE.other): Queued | undefined {
    for (const queue of this.#classes.slice(0, last + 1)) {
      const queued = queue.shift()
      if (!queued) continue
      this.#size--
      return queued
    }
    return undefined
  }

  /** Back to the front, in order. */
  putBack(group: readonly Queued[]): void {
    for (const queued of group.toReversed()) {
      this.#classes[precedenceOf(queued.command)]!.unshift(queued)
      this.#size++
    }
  }

  lock(queued: Queued, target: WorkspaceId): void {
    this.#lockedSize++
    const waiting = this.#locked.get(target)
    if (waiting) waiting.push(queued)
    else this.#locked.set(target, [queued])
  }

  /** The target is free: whoever waited for it is asked again, in order and before what was asked later. */
  unlock(target: WorkspaceId): void {
    const waiting = this.#locked.get(target)
    if (!waiting) return
    this.#locked.delete(target)
    this.#lockedSize -= waiting.length
    this.putBack(waiting)
  }

  unlockAll(): void {
    for (const target of [...this.#locked.keys()]) this.unlock(target)
  }

  /** Answers everything that waits. */
  refuse(refused: Result<never>): void {
    for (const queue of [...this.#classes, ...this.#locked.values()])
      for (const { answer } of queue.splice(0)) answer(refused)
    this.#locked.clear()
    this.#size = 0
    this.#lockedSize = 0
  }
}
