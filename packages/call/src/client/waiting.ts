// Requests that wait for a connection, in the order in which they came. Each keeps its own deadline, and each is told
// the truth when it does not get out: whether it was ever sent decides what its caller hears (CALL-ERR-04).
import type { CancelTimer, Clock } from '@parley/core'
import { CallError, connectionClosed } from '../error.ts'
import { callLimits } from '../limits.ts'
import { ExpiryTimer } from '../link/expiry.ts'
import type { Link } from '../link/link.ts'

export interface Task {
  readonly path: string
  /** Milliseconds since the Unix epoch; infinite for what may wait for ever. */
  expires: number
  sent: boolean
  readonly signal?: AbortSignal
  /** False: it does not wait for its first connection. */
  readonly wait?: boolean
  open(link: Link): void
  fail(error: CallError): void
  abort(): void
}

export class WaitingRoom {
  /** Each with what stops listening to its signal. */
  readonly #tasks = new Map<Task, () => void>()
  readonly #clock: Clock
  readonly #expiry: ExpiryTimer
  /** Keeps the process alive while requests wait: there is no socket that would. */
  #hold: CancelTimer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#expiry = new ExpiryTimer(clock, now => this.#expire(now))
  }

  /** What a task hears that cannot go out. `UNAVAILABLE` alone promises that nothing was executed. */
  static refusal(task: Task, why: string): CallError {
    if (task.sent) return connectionClosed()
    return new CallError('UNAVAILABLE', `${why}; ${task.path} was not sent and nothing was executed`)
  }

  get size(): number {
    return this.#tasks.size
  }

  enter(task: Task): void {
    const { signal } = task
    if (signal?.aborted) task.abort()
    else if (task.wait === false && !task.sent) task.fail(WaitingRoom.refusal(task, 'there is no connection'))
    else if (this.#tasks.size >= callLimits.waiting) task.fail(task.sent ? connectionClosed() : full())
    else {
      const stop = () => {
        if (this.leave(task)) task.abort()
      }
      signal?.addEventListener('abort', stop)
      this.#tasks.set(task, () => signal?.removeEventListener('abort', stop))
      this.#expiry.add(task.expires)
      this.#stay()
    }
  }

  #stay(): void {
    this.#hold ??= this.#clock.after(A_LONG_TIME, () => {
      this.#hold = undefined
      this.#stay()
    })
  }

  /** False if it was not here. */
  leave(task: Task): boolean {
    this.#tasks.get(task)?.()
    const left = this.#tasks.delete(task)
    if (this.#tasks.size === 0) {
      this.#hold?.()
      this.#hold = undefined
    }
    return left
  }

  /** Sends all waiting requests. If the link is lost meanwhile, the rest keeps waiting. */
  release(link: Link): void {
    this.#expiry.run()
    for (const task of [...this.#tasks.keys()]) if (!link.closed && this.leave(task)) task.open(link)
  }

  refuse(error: (task: Task) => CallError): void {
    this.#expiry.stop()
    for (const task of [...this.#tasks.keys()]) if (this.leave(task)) task.fail(error(task))
  }

  #expire(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const task of [...this.#tasks.keys()]) {
      if (task.expires > now) next = Math.min(next, task.expires)
      else if (this.leave(task)) task.fail(tooLate(task))
    }
    return next
  }
}

const A_LONG_TIME = 24 * 3_600_000

function full(): CallError {
  return new CallError('RESOURCE_EXHAUSTED', `${callLimits.waiting} requests wait for the connection already`)
}

function tooLate(task: Task): CallError {
  if (task.sent) return new CallError('TIMEOUT', `${task.path} was not answered in time`)
  return WaitingRoom.refusal(task, 'there was no connection in time')
}
