// What a run deals with next: only recovery's steps while it recovers (W-REC-11), then commands by class (W-CONC-02)
// and what is overdue. Commands for a locked target wait apart (W-INT-08).
import type { Result, StrictClock, WorkspaceId } from '@parley/core'
import { type Command, PRECEDENCE, precedenceOf } from '../../command.ts'
import { nextDue } from '../../due/due.ts'
import { kernelLimits } from '../../limits.ts'
import { limitReached } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'

export interface Queued {
  readonly command: Command
  readonly answer: (result: Result<unknown>) => void
  /** What is decided right behind it where it is not refused, and so becomes durable with it. */
  readonly follow?: ((value: unknown) => readonly Queued[]) | undefined
}

export interface AnsweredEach<T> {
  readonly first: Result<T>
  /** Of the commands that followed from it, in order. */
  readonly rest: readonly Result<unknown>[]
}

/** A command with those that follow from its value. */
export function queuedEach<T>(
  command: Command,
  follow: (value: T) => readonly Command[],
): { readonly queued: Queued; readonly answered: Promise<AnsweredEach<T>> } {
  const followers: Promise<Result<unknown>>[] = []
  const behind = (next: Command): Queued => {
    const { promise, resolve: answer } = Promise.withResolvers<Result<unknown>>()
    followers.push(promise)
    return { command: next, answer }
  }
  const { promise, resolve: answer } = Promise.withResolvers<Result<unknown>>()
  const answered = promise.then(async first => ({ first: first as Result<T>, rest: await Promise.all(followers) }))
  return { queued: { command, answer, follow: value => follow(value as T).map(behind) }, answered }
}

export class CommandQueue {
  readonly #stamps: StrictClock
  readonly #classes: readonly Queued[][] = Object.values(PRECEDENCE).map(() => [])
  #size = 0
  readonly #locked = new Map<WorkspaceId, Queued[]>()
  #lockedSize = 0
  readonly #recovery: Queued[] = []
  #recovering: boolean
  /** Something may be overdue after an outage (W-REC-09) or a slow trail (W-CONC-06); it comes first. */
  #overdue = false

  constructor(stamps: StrictClock, recovering: boolean) {
    this.#stamps = stamps
    this.#recovering = recovering
  }

  get size(): number {
    return this.#size
  }

  get recovering(): boolean {
    return this.#recovering
  }

  get waiting(): boolean {
    return this.#recovering ? this.#recovery.length > 0 : this.#size > 0 || this.#overdue
  }

  push(queued: Queued): void {
    this.#classes[precedenceOf(queued.command)]!.push(queued)
    this.#size++
  }

  pushForRecovery(queued: Queued): void {
    this.#recovery.push(queued)
  }

  pushOnce(command: Command): void {
    const queue = this.#classes[precedenceOf(command)]!
    if (queue.some(queued => queued.command.type === command.type)) return
    this.push({ command, answer: () => undefined })
  }

  recovered(): void {
    this.#recovering = false
  }

  lookForDue(): void {
    this.#overdue = !this.#recovering
  }

  next(run: Run): Queued | undefined {
    if (this.#recovering) return this.#recovery.shift()
    if (!this.#overdue) return this.#upTo(PRECEDENCE.other)
    return this.#upTo(PRECEDENCE.failure) ?? this.#nextDue(run) ?? this.#upTo(PRECEDENCE.other)
  }

  #upTo(last: number): Queued | undefined {
    for (let at = 0; at <= last; at++) {
      const queued = this.#classes[at]!.shift()
      if (!queued) continue
      this.#size--
      return queued
    }
    return undefined
  }

  #nextDue(run: Run): Queued | undefined {
    const next = nextDue(run)
    if (next === undefined || next > this.#stamps.next()) {
      this.#overdue = false
      return undefined
    }
    const answer = (result: Result<unknown>) => {
      // What stays due although nothing can be done about it must not spin.
      if (!result.ok || result.value !== true) this.#overdue = false
    }
    return { command: { type: 'due' }, answer }
  }

  /** Before everything else of its class. */
  pushNext(group: readonly Queued[]): void {
    this.#toFront(group)
  }

  putBack(group: readonly Queued[]): void {
    if (this.#recovering) this.#recovery.unshift(...group)
    else this.#toFront(group)
  }

  #toFront(group: readonly Queued[]): void {
    for (const queued of group.toReversed()) {
      this.#classes[precedenceOf(queued.command)]!.unshift(queued)
      this.#size++
    }
  }

  lock(queued: Queued, target: WorkspaceId): void {
    if (this.#lockedSize >= kernelLimits.queuedCommands) {
      queued.answer(limitReached('commands that wait for an integration', kernelLimits.queuedCommands))
      return
    }
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
    this.#toFront(waiting)
  }

  unlockAll(): void {
    for (const target of [...this.#locked.keys()]) this.unlock(target)
  }

  refuse(refused: Result<never>): void {
    for (const queue of [...this.#classes, ...this.#locked.values(), this.#recovery])
      for (const { answer } of queue.splice(0)) answer(refused)
    this.#locked.clear()
    this.#size = 0
    this.#lockedSize = 0
  }
}

export class Readers {
  readonly #waiting: ((run: Run) => void)[] = []

  wait<T>(reader: (run: Run) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(run => {
        try {
          resolve(reader(run))
        } catch (cause) {
          reject(cause)
        }
      })
    })
  }

  serve(run: Run): void {
    for (const read of this.#waiting.splice(0)) read(run)
  }
}
