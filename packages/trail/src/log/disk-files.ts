// The file layer on a real disk. Writes are synchronous: they only reach the page cache. Syncs run on libuv's threads.
import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Files, LogFile, OpenMode } from './files.ts'

class DiskFile implements LogFile {
  #descriptor: number
  #size: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#size = fs.fstatSync(descriptor).size
  }

  get size(): number {
    return this.#size
  }

  write(data: Uint8Array, at: number): void {
    for (let done = 0; done < data.length; ) {
      done += fs.writeSync(this.#descriptor, data, done, data.length - done, at + done)
    }
    this.#size = Math.max(this.#size, at + data.length)
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) =>
      fs.fdatasync(this.#descriptor, error => (error ? reject(error) : resolve())),
    )
  }

  read(at: number, length: number): Buffer {
    const target = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.#size - at)))
    let done = 0
    while (done < target.length) {
      const got = fs.readSync(this.#descriptor, target, done, target.length - done, at + done)
      if (got === 0) break
      done += got
    }
    return target.subarray(0, done)
  }

  truncate(size: number): void {
    fs.ftruncateSync(this.#descriptor, size)
    this.#size = size
  }

  close(): void {
    if (this.#descriptor === -1) return
    fs.closeSync(this.#descriptor)
    this.#descriptor = -1
  }
}

/** The files below `root`, created if missing. What Parley writes is for its owner alone (modes 0700, 0600). */
export class DiskFiles implements Files {
  readonly root: string
  readonly #readOnly: boolean

  /** A folder that is only read is not made, and its files may be anybody's. */
  constructor(root: string, { readOnly = false } = {}) {
    this.root = root
    this.#readOnly = readOnly
    if (!readOnly) fs.mkdirSync(root, { recursive: true, mode: 0o700 })
  }

  open(path: string, how: OpenMode): LogFile {
    if (this.#readOnly || how === 'reading')
      return new DiskFile(fs.openSync(join(this.root, path), fs.constants.O_RDONLY))
    const flags = fs.constants.O_RDWR | (how === 'create' ? fs.constants.O_CREAT | fs.constants.O_EXCL : 0)
    return new DiskFile(fs.openSync(join(this.root, path), flags, 0o600))
  }

  list(folder: string): string[] {
    const path = join(this.root, folder)
    return fs.existsSync(path) ? fs.readdirSync(path).sort() : []
  }

  exists(path: string): boolean {
    return fs.existsSync(join(this.root, path))
  }

  makeFolder(folder: string): void {
    fs.mkdirSync(join(this.root, folder), { recursive: true, mode: 0o700 })
  }

  rename(from: string, to: string): void {
    fs.renameSync(join(this.root, from), join(this.root, to))
  }

  removeFolder(folder: string): void {
    if (this.exists(folder)) fs.rmdirSync(join(this.root, folder))
  }

  remove(path: string): void {
    fs.unlinkSync(join(this.root, path))
  }

  free(): number {
    try {
      const { bavail, bsize } = fs.statfsSync(this.root)
      return bavail * bsize
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  syncFolder(folder: string): Promise<void> {
    // Windows has no way to sync a folder, and does not need one: its file system journals names by itself.
    if (process.platform === 'win32') return Promise.resolve()
    return new Promise((resolve, reject) =>
      fs.open(join(this.root, folder), 'r', (openError, descriptor) => {
        if (openError) return reject(openError)
        fs.fsync(descriptor, error => {
          fs.closeSync(descriptor)
          if (error) reject(error)
          else resolve()
        })
      }),
    )
  }
}
