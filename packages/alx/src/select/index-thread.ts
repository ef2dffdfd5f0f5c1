// The caller's side of the thread with the index. A thread that breaks is gone, with everything asked of it; the one
// who feeds it starts another.
import { Worker } from 'node:worker_threads'
import { assertNever } from '@parley/core'
import type { FedRow, FromIndex, Hit, IndexPoint, Search, ToIndex } from './index-protocol.ts'

export class IndexBroken extends Error {
  override readonly name = 'IndexBroken'
}

interface Asked {
  readonly resolve: (hits: readonly Hit[]) => void
  readonly reject: (error: IndexBroken) => void
}

export class IndexThread {
  readonly #worker: Worker
  readonly #asked = new Map<number, Asked>()
  readonly #opening = Promise.withResolvers<IndexPoint | undefined>()
  readonly #onLost: () => void
  #lastId = 0
  #lost: IndexBroken | undefined

  /** `onLost` is called once, when nothing more can be asked. */
  constructor(file: string, onLost: () => void) {
    this.#onLost = onLost
    this.#worker = new Worker(workerFile(), { execArgv: workerArguments(), name: 'knowledge index' })
    this.#opening.promise.catch(() => {})
    this.#worker.on('message', (message: FromIndex) => this.#hear(message))
    this.#worker.on('error', error => this.#lose(error.message))
    this.#worker.on('exit', () => this.#lose('its thread ended'))
    this.#tell({ kind: 'start', file })
  }

  /** Up to where the file knows the library; undefined for a new one. */
  opened(): Promise<IndexPoint | undefined> {
    return this.#opening.promise
  }

  async feed(rows: readonly FedRow[], point: IndexPoint): Promise<void> {
    await this.#ask(id => ({ kind: 'feed', id, rows, point }))
  }

  search(search: Search): Promise<readonly Hit[]> {
    return this.#ask(id => ({ kind: 'search', id, search }))
  }

  async clear(): Promise<void> {
    await this.#ask(id => ({ kind: 'clear', id }))
  }

  /** What is asked is answered first. */
  async close(): Promise<void> {
    if (this.#lost) return
    const gone = new Promise(resolve => this.#worker.once('exit', resolve))
    this.#worker.ref()
    this.#tell({ kind: 'close' })
    await gone
  }

  /** Why nothing can be asked any more. */
  get lost(): IndexBroken | undefined {
    return this.#lost
  }

  get waiting(): number {
    return this.#asked.size
  }

  #ask(message: (id: number) => ToIndex): Promise<readonly Hit[]> {
    if (this.#lost) return Promise.reject(this.#lost)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject })
      this.#worker.ref()
      this.#tell(message(id))
    })
  }

  #tell(message: ToIndex): void {
    this.#worker.postMessage(message)
  }

  #hear(message: FromIndex): void {
    switch (message.kind) {
      case 'opened':
        this.#opening.resolve(message.point)
        this.#rest()
        return
      case 'done':
        this.#asked.get(message.id)?.resolve(message.hits)
        this.#asked.delete(message.id)
        this.#rest()
        return
      case 'broken':
        this.#lose(message.message)
        return
      default:
        assertNever(message)
    }
  }

  /** The thread keeps the process alive only while somebody waits for it. */
  #rest(): void {
    if (this.#asked.size === 0) this.#worker.unref()
  }

  #lose(why: string): void {
    if (this.#lost) return
    this.#lost = new IndexBroken(`the index of Knowledge Blocks cannot be used: ${why}`)
    this.#opening.reject(this.#lost)
    for (const { reject } of this.#asked.values()) reject(this.#lost)
    this.#asked.clear()
    this.#onLost()
  }
}

/** Built or not. */
function workerFile(): URL {
  return new URL(`./index-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
}

/** Of the process's options only package resolution: not `--eval`, `--require` and the like. */
function workerArguments(): string[] {
  const conditions = process.execArgv.filter(argument => argument.startsWith('--conditions='))
  return [...conditions, '--disable-warning=ExperimentalWarning']
}
