// The work of the index's thread: it takes in the log slice by slice and answers in between; nobody is answered before the
// log has been taken in as far as the question asks.
import type { MessagePort } from 'node:worker_threads'
import { Applier } from './apply.ts'
import type { LogPoint } from './contract.ts'
import type { DiskReader } from './disk-reader.ts'
import { Engine, type Work } from './engine.ts'
import { faultJson } from './fault.ts'
import { indexLimits } from './limits.ts'
import { lostHeads } from './lost-heads.ts'
import type { FromWorker, IndexAnswer, IndexRequest, ToWorker, WorkerOptions } from './protocol.ts'
import { dropOldHeads, isDamage, type OpenedIndex, recreateIndexFile } from './sqlite-open.ts'
import { SqliteRows } from './sqlite-rows.ts'

interface Question {
  readonly id: number
  readonly atLeast: number
  readonly request: IndexRequest
  work?: Work<IndexAnswer>
}

export class IndexServer {
  readonly #port: MessagePort
  readonly #options: WorkerOptions
  readonly #reader: DiskReader
  #rows: SqliteRows
  #applier: Applier
  #engine: Engine
  #target: LogPoint
  #questions: Question[] = []
  /** Told once the index has caught up, where that is needed to know what the log lost. */
  #opened: OpenedIndex | undefined
  #scheduled = false
  #rebuilds = 0
  #closed = false
  #committing: NodeJS.Timeout | undefined

  /** With `told`, the caller knows the state of the index already. */
  constructor(
    port: MessagePort,
    options: WorkerOptions,
    reader: DiskReader,
    opened: OpenedIndex,
    told: boolean,
  ) {
    this.#port = port
    this.#options = options
    this.#target = options.end
    this.#reader = reader
    this.#rows = new SqliteRows(opened.index)
    this.#applier = new Applier(this.#rows, reader)
    this.#engine = new Engine(this.#rows, reader)
    if (!told) this.#opened = opened
    this.#schedule()
  }

  hear(message: ToWorker): void {
    if (message.kind === 'start') return
    if (message.kind === 'close') {
      this.#close()
      return
    }
    if (message.point.frame >= this.#target.frame) this.#target = message.point
    if (message.kind === 'ask')
      this.#questions.push({ id: message.id, atLeast: message.atLeast, request: message.request })
    if (!this.#scheduled) this.#turn()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#turn()
    })
  }

  /** One slice of the log and one piece of every answer; then messages are heard before the next turn. */
  #turn(): void {
    if (this.#closed) return
    let done: boolean
    try {
      done = this.#applier.step(this.#target)
      if (done) this.#tellOpened()
      this.#answer()
    } catch (cause) {
      this.#recover(cause)
      done = this.#questions.length === 0
    }
    if (!done || this.#questions.length > 0) this.#schedule()
    else this.#rest()
  }

  /** Nothing to do: files are let go, and what was taken in is committed if nothing more comes soon. */
  #rest(): void {
    this.#reader.release()
    if (!this.#rows.uncommitted) return
    this.#committing ??= setTimeout(() => {
      this.#committing = undefined
      if (!this.#closed) this.#attempt(() => this.#rows.commit())
    }, indexLimits.commitMs)
  }

  #attempt(work: () => void): void {
    try {
      work()
    } catch (cause) {
      this.#recover(cause)
    }
  }

  #answer(): void {
    const asked = this.#questions
    const left: Question[] = []
    let next = 0
    try {
      for (; next < asked.length; next++) {
        if (!this.#proceed(asked[next]!)) left.push(asked[next]!)
      }
    } finally {
      this.#questions = left.concat(asked.slice(next))
    }
  }

  /** Does one piece of an answer, if its time has come; true when the question is settled. */
  #proceed(question: Question): boolean {
    const { id, atLeast, request } = question
    if (atLeast > this.#applier.frame) return false
    try {
      question.work ??= this.#start(request)
      const step = question.work.next()
      if (step.done) this.#say({ kind: 'answer', id, answer: step.value }, buffersOf(step.value))
      return step.done === true
    } catch (cause) {
      if (isDamage(cause)) throw cause
      this.#say({ kind: 'refused', id, error: faultJson(cause) })
      return true
    }
  }

  *#start(request: IndexRequest): Work<IndexAnswer> {
    const engine = this.#engine
    switch (request.kind) {
      case 'select':
        return yield* engine.select(request.query)
      case 'aggregate':
        return yield* engine.aggregate(request.query)
      case 'head':
        return engine.head(request.run)
      case 'runs':
        return engine.runs()
      case 'object':
        return engine.object(request.run, request.id)
      case 'place':
        return engine.place(request.run, request.seq)
      case 'replay':
        return engine.replay(request.run, request.after, request.limit, request.cursor)
      case 'relocate':
        engine.relocate(request.run, request.places)
        return undefined
      case 'forget':
        engine.forget(request.run, request.seqs, request.file)
        return undefined
      case 'take':
        return yield* engine.take(request.request)
      case 'usage':
        return yield* engine.usage(request.run)
      case 'adopt':
        this.#applier.adopt()
        while (!this.#applier.adopted) yield
        return undefined
      default:
        return request satisfies never
    }
  }

  /** An index that turns out to be damaged is made anew, and questions wait for it; whatever else fails is said to all. */
  #recover(cause: unknown): void {
    if (isDamage(cause) && this.#rebuilds < indexLimits.rebuilds) {
      this.#rebuilds++
      this.#rows.close()
      this.#rows = new SqliteRows(recreateIndexFile(this.#options.file, this.#options.trail))
      this.#applier = new Applier(this.#rows, this.#reader)
      this.#engine = new Engine(this.#rows, this.#reader)
      for (const question of this.#questions) delete question.work
      return
    }
    for (const { id } of this.#questions) this.#say({ kind: 'refused', id, error: faultJson(cause) })
    this.#questions = []
    if (!this.#opened) return
    // Nobody can say what the log lost, and the evidence stays where it is.
    this.#say({ kind: 'failed', error: faultJson(cause) })
    this.#close()
  }

  #tellOpened(): void {
    if (!this.#opened) return
    const { opening, oldHeads } = this.#opened
    this.#opened = undefined
    this.#say({
      kind: 'opened',
      opening: { ...opening, lostHeads: lostHeads(this.#rows, this.#reader, oldHeads) },
    })
  }

  #close(): void {
    this.#closed = true
    this.#questions = []
    clearTimeout(this.#committing)
    this.#reader.release()
    this.#attempt(() => this.#rows.commit())
    this.#rows.close()
    if (!this.#opened) dropOldHeads(this.#options.file)
    this.#port.close()
  }

  #say(message: FromWorker, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer)
  }
}

/** The buffers in an answer: each has its memory for itself, see fetch.ts and page.ts. */
function buffersOf(answer: IndexAnswer): ArrayBuffer[] {
  const bytes = answer instanceof Uint8Array ? answer : isPacked(answer) ? answer.records : undefined
  return bytes === undefined ? [] : [bytes.buffer as ArrayBuffer]
}

function isPacked(answer: IndexAnswer): answer is Extract<IndexAnswer, { records: Uint8Array }> {
  return typeof answer === 'object' && 'records' in answer
}
