// Blobs: what is too large for the log, in files named by their SHA-256. A blob is synced before the batch that names
// it, and checked against its name at every read.
import { hash } from 'node:crypto'
import { limits, ParleyError } from '@parley/core'
import type { StoredObject, StoredRecord } from '../entry.ts'
import { damagedError } from '../errors.ts'
import { type Files, readWhole, writeWhole } from './files.ts'

const NAME = /^[0-9a-f]{64}$/

export interface BlobReport {
  readonly blobs: number
  readonly bytes: number
  /** Nobody refers to these: left by a batch that never became durable, or by a run that is gone. */
  readonly garbage: readonly string[]
  /** The content does not match the name. */
  readonly damaged: readonly string[]
  readonly missing: readonly string[]
}

export class Blobs {
  readonly #files: Files
  readonly #writing = new Map<string, Promise<void>>()

  constructor(files: Files) {
    this.#files = files
  }

  /** Keeps the data; resolves once it would survive a power loss. Keeping the same data again is harmless. */
  put(name: string, data: string): Promise<void> {
    const writing = this.#writing.get(name)
    if (writing) return writing
    const done = this.#write(name, Buffer.from(data, 'utf8')).finally(() => this.#writing.delete(name))
    this.#writing.set(name, done)
    return done
  }

  get(name: string): string {
    const data = this.#read(name)
    if (data === undefined) {
      throw new ParleyError('blob_missing', `The blob ${name} is not there; restore it from a backup.`, {
        details: { blob: name },
      })
    }
    if (blobName(data) !== name)
      throw damagedError(`The content of the blob ${name} does not match its name.`, { blob: name })
    return data.toString('utf8')
  }

  check(referred: ReadonlySet<string>): BlobReport {
    const garbage: string[] = []
    const damaged: string[] = []
    const found = new Set<string>()
    let bytes = 0
    for (const folder of this.#files.list('')) {
      for (const name of this.#files.list(folder)) {
        if (!NAME.test(name)) {
          garbage.push(name)
          continue
        }
        found.add(name)
        const data = this.#read(name)!
        bytes += data.length
        if (!referred.has(name)) garbage.push(name)
        if (blobName(data) !== name) damaged.push(name)
      }
    }
    const missing = [...referred].filter(name => !found.has(name)).sort()
    return { blobs: found.size, bytes, garbage, damaged, missing }
  }

  #read(name: string): Buffer | undefined {
    return readWhole(this.#files, pathOf(name))
  }

  async #write(name: string, data: Buffer): Promise<void> {
    const path = pathOf(name)
    const known = this.#read(name)
    if (known?.equals(data)) {
      // It may be there only in the page cache of a process that died: make sure of it.
      const file = this.#files.open(path, 'existing')
      await file.sync().finally(() => file.close())
      await this.#files.syncFolder(name.slice(0, 2))
    } else {
      this.#files.makeFolder(name.slice(0, 2))
      await this.#files.syncFolder('')
      await writeWhole(this.#files, path, data)
    }
  }
}

export function blobName(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

function pathOf(name: string): string {
  return `${name.slice(0, 2)}/${name}`
}

export function isLarge(record: StoredRecord): record is StoredObject {
  return record.kind === 'object' && Buffer.byteLength(record.data) > limits.objectInlineBytes
}
