// The caller's side of the SQLite index. When its worker thread dies, questions fail, and the next starts another.
import { Worker } from 'node:worker_threads'
import { assertNever } from '@parley/core'
import type { Position } from '../store/store.ts'
import { workerArguments, workerFile } from '../worker.ts'
import { AskedIndex } from './asked-index.ts'
import type { IndexOpening, LogPoint, TrailIndex } from './contract.ts'
import { asIndexError, busyError, closedError, indexError } from './error.ts'
import { indexLimits } from './limits.ts'
import type {
  FromWorker,
  IndexAnswer,
  IndexAnswers,
  IndexOperation,
  IndexQuestion,
  IndexRequest,
  ToWorker,
  WorkerOptions,
} from './protocol.ts'

/** Opens the index of a log that ends at `end`, or makes one where none fits; a thread started early saves time. */
export function sqliteIndex(options: WorkerOptions, thread?: Worker): TrailIndex {
  return new SqliteIndex(options, thread)
}

/** A thread for an index; it waits for what `sqliteIndex` tells it, and keeps no process alive. */
export function startIndexThread(): Worker {
  const worker = new Worker(workerFile('./sqlite-worker', import.meta.url), {
    execArgv: workerArguments(),
    name: 'trail index',
  })
  worker.unref()
  return worker
}

interface Question {
  readonly request: IndexRequest
  readonly atLeast: Position
  readonly resolve: (answer: IndexAnswer) => void
  readonly reject: (error: Error) => void
}

interface Life {
  readonly worker: Worker
  readonly opening: PromiseWithResolvers<IndexOpening>
  /** Asked and not answered, by number. */
  readonly asked: Map<number, Question>
  awaited: boolean
  told: Position
}

class SqliteIndex extends AskedIndex {
  readonly #options: WorkerOptions
  #life: Life | undefined
  #point: LogPoint
  /** Questions about what the log does not hold yet. */
  #waiting: Question[] = []
  #timer: NodeJS.Timeout | undefined
  #lastId = 0
  #closing: Promise<void> | undefined

  constructor(options: WorkerOptions, thread: Worker | undefined) {
    super()
    this.#options = options
    this.#point = options.end
    this.#life = this.#start(thread)
  }

  opening(): Promise<IndexOpening> {
    if (this.#closing) return Promise.reject(closedError())
    this.#life ??= this.#start()
    this.#life.awaited = true
    hold(this.#life)
    return this.#life.opening.promise
  }

  advance(point: LogPoint): void {
    if (this.#closing || point.frame < this.#point.frame) return
    this.#point = point
    if (this.#waiting.length > 0) this.#sendReady()
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const life = this.#life
      if (life && life.told < this.#point.frame) tell(life, { kind: 'advance', point: this.#point })
    }, indexLimits.advanceMs).unref()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer)
    for (const question of this.#waiting) question.reject(closedError())
    this.#waiting = []
    const life = this.#life
    if (!life) return
    this.#life = undefined
    this.#end(life, closedError())
    const gone = new Promise(resolve => life.worker.once('exit', resolve))
    life.worker.ref()
    tell(life, { kind: 'close' })
    await gone
  }

  protected get newest(): Position {
    return this.#point.frame
  }

  protected ask<K extends IndexOperation>(
    kind: K,
    args: IndexQuestion<K>,
    atLeast: Position,
  ): Promise<IndexAnswers[K]> {
    if (this.#closing) return Promise.reject(closedError())
    const pending = this.#waiting.length + (this.#life?.asked.size ?? 0)
    if (pending >= indexLimits.waitingQueries) return Promise.reject(busyError())
    return new Promise<IndexAnswer>((resolve, reject) => {
      const question = { request: { kind, args } as IndexRequest, atLeast, resolve, reject }
      if (atLeast <= this.#point.frame) this.#send(question)
      else this.#waiting.push(question)
    }) as Promise<IndexAnswers[K]>
  }

  #sendReady(): void {
    const { frame } = this.#point
    const ready = this.#waiting.filter(question => question.atLeast <= frame)
    if (ready.length === 0) return
    this.#waiting = this.#waiting.filter(question => question.atLeast > frame)
    for (const question of ready) this.#send(question)
  }

  #send(question: Question): void {
    this.#life ??= this.#start()
    const life = this.#life
    const id = ++this.#lastId
    const { request, atLeast } = question
    try {
      tell(life, { kind: 'ask', id, atLeast, point: this.#point, request })
      life.asked.set(id, question)
      hold(life)
    } catch (cause) {
      // What cannot be copied to another thread is no query.
      question.reject(asIndexError(cause))
    }
  }

  #start(worker = startIndexThread()): Life {
    const life: Life = {
      worker,
      opening: Promise.withResolvers(),
      asked: new Map(),
      awaited: false,
      told: this.#point.frame,
    }
    // A failure reaches the caller of `opening`; there need not be one.
    life.opening.promise.catch(() => {})
    worker.on('message', (message: FromWorker) => this.#hear(life, message))
    worker.on('error', cause => this.#lose(life, cause.message))
    worker.on('exit', () => this.#lose(life, 'its thread ended'))
    tell(life, { kind: 'start', options: { ...this.#options, end: this.#point } })
    worker.unref()
    return life
  }

  #hear(life: Life, message: FromWorker): void {
    switch (message.kind) {
      case 'opened':
        life.awaited = false
        life.opening.resolve(message.opening)
        break
      case 'failed':
        if (this.#life === life) this.#life = undefined
        this.#end(life, indexError(message.error))
        break
      case 'answer':
        life.asked.get(message.id)?.resolve(message.answer)
        life.asked.delete(message.id)
        break
      case 'refused':
        life.asked.get(message.id)?.reject(indexError(message.error))
        life.asked.delete(message.id)
        break
      default:
        assertNever(message)
    }
    hold(life)
  }

  #lose(life: Life, reason: string): void {
    if (this.#life === life) this.#life = undefined
    this.#end(life, asIndexError(new Error(reason)))
  }

  /** Fails what a worker will not answer any more. */
  #end(life: Life, error: Error): void {
    life.awaited = false
    life.opening.reject(error)
    for (const question of life.asked.values()) question.reject(error)
    life.asked.clear()
  }
}

function tell(life: Life, message: ToWorker): void {
  life.worker.postMessage(message)
  if (message.kind === 'advance' || message.kind === 'ask') life.told = message.point.frame
}

/** The thread keeps the process alive only while somebody waits for it. */
function hold(life: Life): void {
  if (life.awaited || life.asked.size > 0) life.worker.ref()
  else life.worker.unref()
}
