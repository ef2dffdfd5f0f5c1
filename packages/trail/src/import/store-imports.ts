// The imports of one store: runs that came from elsewhere, and those on their way in until they are visible.
import { ParleyError, type RunId } from '@parley/core'
import type { Archives } from '../archive/archives.ts'
import type { Squeeze } from '../archive/squeeze.ts'
import type { StoredRecord } from '../entry.ts'
import { readOnlyError } from '../errors.ts'
import type { Bridges } from '../export/format.ts'
import type { TrailIndex } from '../index/contract.ts'
import { type Blobs, blobName, isLarge } from '../log/blobs.ts'
import type { Files } from '../log/files.ts'
import { IMPORTS, type ImportRecord, readImports, removeImport, writeImport } from './import-record.ts'
import type { RunImport } from './import-run.ts'
import { placeStaged, removeStaged, Staging } from './staging.ts'

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
  readonly running = new Set<RunId>()

  private constructor(done: readonly ImportRecord[]) {
    this.done = new Map(done.map(record => [record.run, record]))
  }

  /** Before anybody else looks at the folder: imports that a crash cut off are finished or removed first. */
  static async open(files: Files, readOnly: boolean): Promise<StoreImports> {
    if (!readOnly) return new StoreImports(await recoverImports(files))
    return new StoreImports(readImports(files).filter(({ state }) => state === 'done'))
  }

  async begin(record: ImportRecord, parts: ImportParts): Promise<RunImport> {
    const { run } = record
    if (parts.readOnly) throw readOnlyError()
    if (this.running.has(run)) {
      const message = `${run} is being imported already; wait for it.`
      throw new ParleyError('import_running', message, { retryable: true, details: { run } })
    }
    this.running.add(run)
    const begun = new StoreImport(this, parts, record)
    try {
      await writeImport(parts.files, record)
    } catch (cause) {
      // Should this fail too, the next opening removes what is there.
      await begun.discard().catch(() => undefined)
      throw cause
    }
    return begun
  }
}

class StoreImport implements RunImport {
  readonly #imports: StoreImports
  readonly #parts: ImportParts
  readonly #record: ImportRecord
  readonly #staging: Staging
  #state: 'staging' | 'committing' | 'counts' = 'staging'

  constructor(imports: StoreImports, parts: ImportParts, record: ImportRecord) {
    const { files, squeeze, archives } = parts
    const { run, head, imported_at: at } = record
    this.#imports = imports
    this.#parts = parts
    this.#record = record
    this.#staging = new Staging({ files, squeeze, number: () => archives.catalogue.reserve(), run, head, at })
  }

  async add(records: readonly StoredRecord[]): Promise<void> {
    const kept: StoredRecord[] = []
    for (const record of records) {
      if (isLarge(record)) {
        const blob = blobName(record.data)
        await this.#parts.blobs.put(blob, record.data)
        kept.push({ ...record, data: '', blob })
      } else kept.push(record)
    }
    await this.#staging.add(kept)
  }

  bridge(bridges: Bridges): Promise<void> {
    return this.#staging.bridge(bridges)
  }

  async commit(record: ImportRecord): Promise<void> {
    const { files, archives, index } = this.#parts
    const { run } = record
    await this.#staging.flush()
    this.#state = 'committing'
    await writeImport(files, record)
    this.#state = 'counts'
    this.#imports.done.set(run, record)
    try {
      await placeStaged(files, run)
      archives.refresh()
      await index.adopt()
    } catch (cause) {
      const message = `${run} is imported, but it can be read only after the node was started again.`
      throw new ParleyError('import_unfinished', message, { details: { run }, cause })
    } finally {
      this.#imports.running.delete(run)
    }
  }

  async discard(): Promise<void> {
    if (this.#state === 'counts') return
    const { files } = this.#parts
    const { run } = this.#record
    try {
      // A failed write of the record may have succeeded: nothing is removed before it is certain not to count.
      if (this.#state === 'committing') await writeImport(files, this.#record)
      await removeStaged(files, run)
      await removeImport(files, run)
    } finally {
      this.#imports.running.delete(run)
    }
  }
}

/** Finishes or removes imports that a crash cut off; blobs of removed ones stay, since others may refer to them. */
async function recoverImports(files: Files): Promise<readonly ImportRecord[]> {
  const done: ImportRecord[] = []
  for (const record of readImports(files)) {
    if (record.state === 'done') {
      await placeStaged(files, record.run)
      done.push(record)
    } else {
      await removeStaged(files, record.run)
      await removeImport(files, record.run)
    }
  }
  // Nothing is on its way now: whatever is left is half of a file.
  const left = files.list(IMPORTS).filter(name => !name.endsWith('.json'))
  for (const name of left) files.remove(`${IMPORTS}/${name}`)
  if (left.length > 0) await files.syncFolder(IMPORTS)
  return done
}
