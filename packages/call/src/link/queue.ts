// The values of a subscription (CALL-SUB-01, -03): a bounded queue that one iterator empties.
import { invariant } from '@parley/core'
import type { CallError } from '../error.ts'

interface ValueQueueOptions {
  readonly capacity: number
  /** The first pull: the request goes out now. */
  readonly start: () => void
  /** The consumer stopped before the end. */
  readonly cancel: () => void
}

export class ValueQueue<T> implements AsyncIterable<T> {
  readonly #options: ValueQueueOptions
  readonly #values: T[] = []
  /** Index of the oldest value: shifting an array for each one would move all others. */
  #head = 0
  #waiter: Pick<PromiseWithResolvers<IteratorResult<T>>, 'resolve' | 'reject'> | undefined
  #ended = false
  #error: CallError | undefined
  #started = false
  #iterated = false

  constructor(options: ValueQueueOptions) {
    this.#options = options
  }

  /** Nothing more is taken: there was an end, or the consumer left. */
  get ended(): boolean {
    return this.#ended
  }

  get full(): boolean {
    return !this.#waiter && this.#values.length - this.#head >= this.#options.capacity
  }

  /** False if there is no room: the value is not taken. */
  push(value: T): boolean {
    if (this.#ended) return true
    if (this.#waiter) {
      invariant(this.#head === this.#values.length, 'no consumer waits while there are values')
      const waiter = this.#waiter
      this.#waiter = undefined
      waiter.resolve({ done: false, value })
      return true
    }
    if (this.full) return false
    this.#values.push(value)
    return true
  }

  /** No more values; those that wait are still delivered, then the error if there is one. */
  end(error?: CallError): void {
    if (this.#ended) return
    this.#ended = true
    this.#error = error
    const waiter = this.#waiter
    this.#waiter = undefined
    if (!waiter) return
    if (error) waiter.reject(this.#takeError())
    else waiter.resolve(DONE)
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    if (this.#iterated) throw new TypeError('a subscription has one consumer')
    this.#iterated = true
    return { next: () => this.#next(), return: () => this.#return() }
  }

  #next(): Promise<IteratorResult<T>> {
    if (!this.#started) {
      this.#started = true
      this.#options.start()
    }
    if (this.#head < this.#values.length) return Promise.resolve({ done: false, value: this.#shift() })
    if (this.#error) return Promise.reject(this.#takeError())
    if (this.#ended) return Promise.resolve(DONE)
    if (this.#waiter) return Promise.reject(new TypeError('a subscription is pulled one value at a time'))
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
    })
  }

  #shift(): T {
    const value = this.#values[this.#head]!
    this.#values[this.#head++] = undefined as T
    if (this.#head === this.#values.length) {
      this.#values.length = 0
      this.#head = 0
    }
    return value
  }

  #takeError(): CallError {
    const error = this.#error!
    this.#error = undefined
    return error
  }

  /** Leaving the loop (CALL-SUB-06): nothing is cancelled that had ended or never began. */
  #return(): Promise<IteratorResult<T>> {
    const running = this.#started && !this.#ended
    this.end()
    this.#started = true
    this.#error = undefined
    this.#values.length = 0
    this.#head = 0
    if (running) this.#options.cancel()
    return Promise.resolve(DONE)
  }
}

const DONE: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined })
