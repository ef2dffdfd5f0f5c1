// The disk as files of state use it: whole files, replaced in steps of which any may be the last one before a crash.
// The steps are an interface so that a test can stop after each of them.
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { ParleyError } from '@parley/core'

/** What tells one state of a file from another. */
export interface FileStamp {
  readonly stamp: string
  readonly mode: number
  /** The file was changed so long ago that its times tell the next change apart from this one. */
  readonly settled: boolean
}

export interface DiskFile {
  write(bytes: Uint8Array, at: number): void
  sync(): void
  close(): void
}

/** All of it synchronous, and throwing the system's errors. */
export interface Disk {
  /** The bytes; undefined where there is no file. Throws `file_too_large` above `most` bytes. */
  read(path: string, most: number): Buffer | undefined
  /** Undefined where there is nothing. */
  stat(path: string): FileStamp | undefined
  /** With all above it. */
  makeFolder(path: string, mode: number): void
  /** A link counts, wherever it leads. */
  exists(path: string): boolean
  /** Opens a file that is not there yet. Its mode is `mode`, whatever the mask of the process. */
  open(path: string, how: 'create', mode: number): DiskFile
  rename(from: string, to: string): void
  /** Nothing where there is nothing. */
  remove(path: string): void
  /** Makes names in a folder durable. */
  syncFolder(path: string): void
}

/** The coarsest times of the file systems in use, in milliseconds. */
const COARSE_MS = 2000

/**
 * The file may be gone already. Not `rmSync`: that of Node.js 24 reports what the disk says without its code, and a
 * fault of the machine would not be known as one.
 */
export function removeFile(path: string): void {
  try {
    unlinkSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
  }
}

export const machineDisk: Disk = {
  read(path, most) {
    let descriptor: number
    try {
      descriptor = openSync(path, 'r')
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw cause
    }
    try {
      const { size } = fstatSync(descriptor)
      if (size > most) throw new ParleyError('file_too_large', `${path} has ${size} bytes; at most ${most} are read.`)
      const bytes = Buffer.alloc(size)
      let length = 0
      while (length < size) {
        const got = readSync(descriptor, bytes, length, size - length, null)
        if (got === 0) break
        length += got
      }
      return bytes.subarray(0, length)
    } finally {
      closeSync(descriptor)
    }
  },
  stat(path) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found) return undefined
    const { dev, ino, size, mtimeMs, ctimeMs, mode } = found
    // The machine's own clock, which is what gives files their times.
    const age = Date.now() - mtimeMs
    // Times have fractions, to less than a microsecond; files as young as that are not settled.
    return {
      stamp: `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`,
      mode: mode & 0o777,
      settled: age > COARSE_MS,
    }
  },
  makeFolder(path, mode) {
    mkdirSync(path, { recursive: true, mode })
  },
  exists(path) {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  },
  open(path, _how, mode) {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const descriptor = openSync(path, flags, mode)
    // The umask has no say.
    fchmodSync(descriptor, mode)
    return {
      write(bytes, at) {
        for (let done = 0; done < bytes.length; )
          done += writeSync(descriptor, bytes, done, bytes.length - done, at + done)
      },
      sync: () => fsyncSync(descriptor),
      close: () => closeSync(descriptor),
    }
  },
  rename: renameSync,
  remove: removeFile,
  syncFolder(path) {
    const descriptor = openSync(path, 'r')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  },
}
