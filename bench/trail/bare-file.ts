// The physical limit of group commit: a file laid out in advance, one write and one fdatasync for everything that
// waits, and nothing else. The asynchronous form syncs on libuv's threads, the synchronous one on the caller's.
import { closeSync, fdatasync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'

const SIZE = 256 * 1024 * 1024

export class BareFile {
  readonly #file: string
  readonly #descriptor: number
  readonly #synchronous: boolean
  readonly #group = Buffer.allocUnsafe(4 * 1024 * 1024)
  #length = 0
  #at = 0
  #waiting: (() => void)[] = []
  #busy = false

  constructor(file: string, synchronous: boolean) {
    this.#file = file
    this.#synchronous = synchronous
    this.#descriptor = openSync(file, 'w+')
    const zeros = Buffer.alloc(4 * 1024 * 1024)
    for (let at = 0; at < SIZE; at += zeros.length) writeSync(this.#descriptor, zeros, 0, zeros.length, at)
    fdatasyncSync(this.#descriptor)
  }

  append(entry: Buffer): Promise<void> {
    this.#length += entry.copy(this.#group, this.#length)
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      if (!this.#busy) {
        this.#busy = true
        setImmediate(() => this.#commit())
      }
    })
  }

  #commit(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) {
      this.#busy = false
      return
    }
    this.#waiting = []
    if (this.#at + this.#length > SIZE) this.#at = 0
    writeSync(this.#descriptor, this.#group, 0, this.#length, this.#at)
    this.#at += this.#length
    this.#length = 0
    const done = () => {
      for (const resolve of waiting) resolve()
      setImmediate(() => this.#commit())
    }
    if (this.#synchronous) {
      fdatasyncSync(this.#descriptor)
      done()
    } else {
      fdatasync(this.#descriptor, error => {
        if (error) throw error
        done()
      })
    }
  }

  close(): void {
    closeSync(this.#descriptor)
    rmSync(this.#file)
  }
}
