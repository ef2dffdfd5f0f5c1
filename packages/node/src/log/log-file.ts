// A log file that does not grow without end: at its limit it is put aside as `.1`, the older ones move up, and the
// oldest goes. Writing is synchronous, so that the last words of a process that dies are there; what cannot be written
// is dropped and never stops the node.
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { machineFaultOf } from '@parley/core'
import { nodeLimits } from '../limits.ts'

export interface LogFileOptions {
  readonly bytes?: number
  readonly files?: number
}

export class LogFile {
  readonly #path: string
  readonly #bytes: number
  readonly #files: number
  #handle: number | undefined
  #size = 0
  #closed = false
  /** Lines that could not be written. */
  lost = 0

  constructor(path: string, options: LogFileOptions = {}) {
    this.#path = path
    this.#bytes = options.bytes ?? nodeLimits.logBytes
    this.#files = options.files ?? nodeLimits.logFiles
    try {
      this.#open()
    } catch (cause) {
      // It is opened when the machine lets it be.
      if (!machineFaultOf(cause)) throw cause
    }
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    try {
      if (this.#closed) return
      // It could not be opened when the last one was put aside.
      if (this.#handle === undefined) this.#open()
      if (this.#size > 0 && this.#size + bytes > this.#bytes) this.#rotate()
      writeSync(this.#handle!, line)
      this.#size += bytes
    } catch {
      this.lost++
    }
  }

  close(): void {
    this.#closed = true
    this.#shut()
  }

  #shut(): void {
    if (this.#handle === undefined) return
    closeSync(this.#handle)
    this.#handle = undefined
  }

  #open(): void {
    this.#handle = openSync(this.#path, 'a', 0o600)
    this.#size = fstatSync(this.#handle).size
  }

  #rotate(): void {
    rmSync(`${this.#path}.${this.#files}`, { force: true })
    for (let number = this.#files - 1; number >= 1; number--)
      move(`${this.#path}.${number}`, `${this.#path}.${number + 1}`)
    move(this.#path, `${this.#path}.1`)
    this.#shut()
    this.#open()
  }
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
  }
}
