// The imports of one store: which runs came from elsewhere, and which are on their way in.
import { ParleyError, type RunId } from '@parley/core'
import type { Archives } from '../archive/archives.ts'
import type { Squeeze } from '../archive/squeeze.ts'
import { readOnlyError } from '../errors.ts'
import type { TrailIndex } from '../index/contract.ts'
import type { Blobs } from '../log/blobs.ts'
import type { Files } from '../log/files.ts'
import { type ImportRecord, readImports } from './import-record.ts'
import type { RunImport } from './import-run.ts'
import { recoverImports } from './recover.ts'
import { StoreImport } from './store-import.ts'

export interface ImportParts {
  readonly files: Files
  readonly blobs: Blobs
  readonly squeeze: Squeeze
  readonly archives: Archives
  readonly index: TrailIndex
  readonly readOnly: boolean
}

export class StoreImports {
  readonly done: Map<RunId, ImportRecord>
  readonly #running = new Set<RunId>()

  private constructor(done: readonly ImportRecord[]) {
    this.done = new Map(done.map(record => [record.run, record]))
  }

  /** Before anybody else looks at the folder: what a crash has cut off is brought to its end first. */
  static async open(files: Files, readOnly: boolean): Promise<StoreImports> {
    if (!readOnly) return new StoreImports(await recoverImports(files))
    return new StoreImports(readImports(files).filter(({ state }) => state === 'done'))
  }

  async begin(record: ImportRecord, parts: ImportParts): Promise<RunImport> {
    const { archives, index, readOnly, ...rest } = parts
    const { run } = record
    if (readOnly) throw readOnlyError()
    if (this.#running.has(run)) {
      const message = `${run} is being imported already; wait for it.`
      throw new ParleyError('import_running', message, { retryable: true, details: { run } })
    }
    this.#running.add(run)
    return StoreImport.begin(
      {
        ...rest,
        number: () => archives.catalogue.reserve(),
        counts: done => this.done.set(run, done),
        adopt: async () => {
          archives.refresh()
          await index.adopt()
        },
        over: () => this.#running.delete(run),
      },
      record,
    )
  }
}
