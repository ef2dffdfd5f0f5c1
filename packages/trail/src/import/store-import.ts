// One import into a store, from its record to the moment that everybody sees it.
import { limits, ParleyError } from '@parley/core'
import type { Squeeze } from '../archive/squeeze.ts'
import type { StoredRecord } from '../entry.ts'
import type { Bridges } from '../export/format.ts'
import { type Blobs, blobName } from '../log/blobs.ts'
import type { Files } from '../log/files.ts'
import { type ImportRecord, removeImport, writeImport } from './import-record.ts'
import type { RunImport } from './import-run.ts'
import { placeStaged, removeStaged, Staging } from './staging.ts'

interface StoreImportOptions {
  readonly files: Files
  readonly blobs: Blobs
  readonly squeeze: Squeeze
  /** The next number of an archive. */
  readonly number: () => number
  /** From now on it is one of the runs that came from elsewhere. */
  readonly counts: (record: ImportRecord) => void
  /** Lets queries see what is in place now. */
  readonly adopt: () => Promise<void>
  /** Called once it is over, however it went. */
  readonly over: () => void
}

export class StoreImport implements RunImport {
  readonly #options: StoreImportOptions
  readonly #record: ImportRecord
  readonly #staging: Staging
  #state: 'staging' | 'committing' | 'counts' = 'staging'

  private constructor(options: StoreImportOptions, record: ImportRecord) {
    const { files, squeeze, number } = options
    const { run, head, imported_at: at } = record
    this.#options = options
    this.#record = record
    this.#staging = new Staging({ files, squeeze, number, run, head, at })
  }

  static async begin(options: StoreImportOptions, record: ImportRecord): Promise<StoreImport> {
    const begun = new StoreImport(options, record)
    try {
      await writeImport(options.files, record)
    } catch (cause) {
      // Should this fail too, the next opening removes what is there.
      await begun.discard().catch(() => undefined)
      throw cause
    }
    return begun
  }

  async add(records: readonly StoredRecord[]): Promise<void> {
    const kept: StoredRecord[] = []
    for (const record of records) {
      if (record.kind === 'object' && Buffer.byteLength(record.data) > limits.objectInlineBytes) {
        const blob = blobName(record.data)
        await this.#options.blobs.put(blob, record.data)
        kept.push({ ...record, data: '', blob })
      } else kept.push(record)
    }
    await this.#staging.add(kept)
  }

  bridge(bridges: Bridges): Promise<void> {
    return this.#staging.bridge(bridges)
  }

  async commit(record: ImportRecord): Promise<void> {
    const { files, counts, adopt, over } = this.#options
    await this.#staging.finish()
    this.#state = 'committing'
    await writeImport(files, record)
    this.#state = 'counts'
    counts(record)
    try {
      await placeStaged(files, record.run)
      await adopt()
    } catch (cause) {
      const message = `${record.run} is imported, but it can be read only after the node was started again.`
      throw new ParleyError('import_unfinished', message, { details: { run: record.run }, cause })
    } finally {
      over()
    }
  }

  async discard(): Promise<void> {
    if (this.#state === 'counts') return
    const { files, over } = this.#options
    const { run } = this.#record
    try {
      // A record that could not be written may be there all the same: nothing is removed before it is certain that it
      // does not count.
      if (this.#state === 'committing') await writeImport(files, this.#record)
      await removeStaged(files, run)
      await removeImport(files, run)
    } finally {
      over()
    }
  }
}
