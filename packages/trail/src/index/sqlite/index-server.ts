// The work of the index's thread: takes in the log slice by slice, and answers what it has got far enough for.
import type { MessagePort } from 'node:worker_threads'
import type { Work } from '../answer/engine.ts'
import type { LogPoint } from '../contract.ts'
import { faultJson } from '../fault.ts'
import { indexLimits } from '../limits.ts'
import { LiveIndex } from '../live-index.ts'
import type { IndexLog } from '../log-reader.ts'
import type { FromWorker, IndexAnswer, IndexRequest, ToWorker, WorkerOptions } from '../protocol.ts'
import { dropOldHeads, isDamage, isUnsteady, type OpenedIndex, recreateIndexFile } from './sqlite-open.ts'

interface Question {
  readonly id: number
  readonly atLeast: number
  readonly request: IndexRequest
  work?: Work<IndexAnswer>
}

export class IndexServer {
  readonly #port: MessagePort
  readonly #options: WorkerOptions
  readonly #reader: IndexLog
  readonly #index: LiveIndex
  #target: LogPoint
  #questions: Question[] = []
  /** Told once the index has caught up, where that is needed to know what the log lost. */
  #opened: OpenedIndex | undefined
  #scheduled = false
  #rebuilds = 0
  /** Failures of the file one after the other, with nothing that worked in between. */
  #failures = 0
  #closed = false
  #committing: NodeJS.Timeout | undefined

  /** With `told`, the caller knows the state of the index already. */
  constructor(port: MessagePort, options: WorkerOptions, reader: IndexLog, opened: OpenedIndex, told: boolean) {
    this.#port = port
    this.#options = options
    this.#target = options.end
    this.#reader = reader
    this.#index = new LiveIndex(opened.database, reader, () => {
      reader.refresh()
      return recreateIndexFile(options.file, options.trail)
    })
    if (!told) this.#opened = opened
    this.#schedule()
  }

  hear(message: ToWorker): void {
    if (message.kind === 'start' || this.#closed) return
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
      this.#reader.follow(this.#target)
      done = this.#index.step(this.#target)
      if (done) this.#tellOpened()
      this.#answer()
      this.#failures = 0
    } catch (cause) {
      this.#recover(cause)
      done = this.#questions.length === 0
    }
    if (this.#closed) return
    if (!done || this.#questions.length > 0) this.#schedule()
    else this.#rest()
  }

  /** Nothing to do: files are let go, and what was taken in is committed if nothing more comes soon. */
  #rest(): void {
    this.#reader.release()
    if (!this.#index.uncommitted) return
    this.#committing ??= setTimeout(() => {
      this.#committing = undefined
      if (!this.#closed) this.#commit()
    }, indexLimits.commitMs)
  }

  #commit(): void {
    try {
      this.#index.commit()
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
    if (atLeast > this.#index.frame) return false
    if (request.kind === 'rebuild') return this.#rebuildFor(question)
    try {
      question.work ??= this.#index.start(request)
      const step = question.work.next()
      if (step.done) this.#say({ kind: 'answer', id, answer: step.value }, buffersOf(step.value))
      return step.done === true
    } catch (cause) {
      if (isDamage(cause)) throw cause
      this.#say({ kind: 'refused', id, error: faultJson(cause) })
      return true
    }
  }

  #rebuildFor({ id }: Question): boolean {
    this.#rebuild()
    this.#say({ kind: 'answer', id, answer: undefined })
    return true
  }

  /** A damaged index, or one whose file fails repeatedly, is rebuilt while questions wait; other failures go to all. */
  #recover(cause: unknown): void {
    this.#failures++
    const hopeless = isDamage(cause) || (isUnsteady(cause) && this.#failures >= indexLimits.failures)
    if (hopeless && this.#rebuilds < indexLimits.rebuilds) {
      this.#rebuilds++
      try {
        this.#rebuild()
      } catch (failure) {
        this.#fail(failure)
      }
      return
    }
    for (const { id } of this.#questions) this.#say({ kind: 'refused', id, error: faultJson(cause) })
    this.#questions = []
    // Nobody can say what the log lost, and the evidence stays where it is.
    if (this.#opened) this.#fail(cause)
  }

  #rebuild(): void {
    for (const question of this.#questions) delete question.work
    this.#index.rebuild()
  }

  /** The caller starts another thread for its next question. */
  #fail(cause: unknown): void {
    this.#say({ kind: 'failed', error: faultJson(cause) })
    this.#close()
  }

  #tellOpened(): void {
    if (!this.#opened) return
    const { opening, oldHeads } = this.#opened
    this.#opened = undefined
    this.#say({ kind: 'opened', opening: { ...opening, lostHeads: this.#index.lostHeads(oldHeads) } })
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#questions = []
    clearTimeout(this.#committing)
    this.#reader.release()
    try {
      this.#index.commit()
      this.#index.close()
      if (!this.#opened) dropOldHeads(this.#options.file)
    } catch {
      // What is not committed is taken from the log when the index is opened again.
    }
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
