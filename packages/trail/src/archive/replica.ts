// The second copy of the cold tier, on another device (W-TRAIL-26), laid out as `cold/`. It is never created
// automatically, and a mark in it names its trail: an empty mount point is not taken for it.
import { statSync } from 'node:fs'
import { compile, ParleyError, Type } from '@parley/core'
import { Blobs } from '../log/blobs.ts'
import { DiskFiles } from '../log/disk-files.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { readJson } from '../shapes.ts'
import { below, COLD, COLD_BLOBS, MARK, madeFolder } from './layout.ts'

const shape = compile(Type.Object({ trail: Type.String({ pattern: '^[0-9a-f]{32}$' }) }))

export interface ReplicaOptions {
  /** The folder; throws where it is not there. */
  readonly open: () => Files
  readonly name: string
}

export class Replica {
  readonly #options: ReplicaOptions
  readonly #trail: string
  readonly #local: Files

  constructor(options: ReplicaOptions, trail: string, local: Files) {
    this.#options = options
    this.#trail = trail
    this.#local = local
  }

  get name(): string {
    return this.#options.name
  }

  /** Does something with the replica; whatever fails there is `replica_unavailable`. */
  async use<T>(work: (files: Files) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#ready())
    } catch (cause) {
      throw this.#unavailable(cause)
    }
  }

  /** A file of the replica; undefined where it is not there or the replica cannot be reached. */
  read(path: string): Buffer | undefined {
    try {
      return readWhole(this.#options.open(), path)
    } catch {
      return undefined
    }
  }

  /** Throws where there is no sound copy. */
  blob(name: string): string {
    return new Blobs(below(this.#options.open(), COLD_BLOBS)).get(name)
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    await this.use(async files => {
      await madeFolder(files, path.slice(0, Math.max(0, path.lastIndexOf('/'))))
      await writeWhole(files, path, data)
    })
  }

  async #ready(): Promise<Files> {
    const files = this.#options.open()
    const known = readWhole(this.#local, `${COLD}/${MARK}`)
    const mark = readWhole(files, MARK)
    if (mark && readJson(shape, mark)?.trail !== this.#trail) {
      throw new ParleyError(
        'replica_unavailable',
        `${this.#options.name} is the replica of another trail; name another folder.`,
        { retryable: true, details: { replica: this.#options.name } },
      )
    }
    const content = Buffer.from(`${JSON.stringify({ trail: this.#trail })}\n`)
    if (!mark) {
      if (known) throw new Error('the folder is not the replica that was used before')
      await writeWhole(files, MARK, content)
    }
    if (!known) {
      await madeFolder(this.#local, COLD)
      await writeWhole(this.#local, `${COLD}/${MARK}`, content)
    }
    return files
  }

  #unavailable(cause: unknown): ParleyError {
    if (cause instanceof ParleyError) return cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new ParleyError(
      'replica_unavailable',
      `The replica ${this.#options.name} cannot be used (${reason}); nothing was removed. Make it reachable, and it is tried again.`,
      { retryable: true, details: { replica: this.#options.name }, cause },
    )
  }
}

/** A replica in a folder, which the user makes: where a device is not mounted there is none. */
export function diskReplica(folder: string): ReplicaOptions {
  return {
    name: folder,
    open: () => {
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new Error('there is no such folder')
      return new DiskFiles(folder)
    },
  }
}
