// A socket with a length of four bytes before each text, and everything that is sent in one turn written at once. It
// checks nothing. It is the bare limit of the design, and what carries the libraries that bring no socket of their own.
import { rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Place } from '../side.ts'

const PREFIX = 4
/** Bytes that are written without waiting for the end of the turn, and bytes that may wait for the other process. */
const WRITE_BYTES = 64 * 1024
const QUEUED_BYTES = 1024 * 1024

export class Framed {
  readonly #socket: Socket
  #out = Buffer.allocUnsafe(64 * 1024)
  #length = 0
  #rest: Buffer | undefined

  constructor(socket: Socket, take: (text: string) => void) {
    this.#socket = socket
    socket.on('data', chunk => this.#split(chunk as Buffer, take))
    socket.on('error', () => socket.destroy())
  }

  send(text: string): void {
    const most = this.#length + PREFIX + text.length * 3
    if (most > this.#out.length) {
      const larger = Buffer.allocUnsafe(2 * most)
      this.#out.copy(larger, 0, 0, this.#length)
      this.#out = larger
    }
    if (this.#length === 0) process.nextTick(() => this.#flush())
    const written = this.#out.write(text, this.#length + PREFIX)
    this.#out.writeUInt32BE(written, this.#length)
    this.#length += PREFIX + written
    if (this.#length >= WRITE_BYTES) this.#flush()
  }

  /** Resolves when a stream may go on; undefined if that is now. */
  room(): Promise<void> | undefined {
    if (this.#socket.writableLength < QUEUED_BYTES) return undefined
    return new Promise(resolve => this.#socket.once('drain', resolve))
  }

  #flush(): void {
    if (this.#length === 0) return
    this.#socket.write(Buffer.from(this.#out.subarray(0, this.#length)))
    this.#length = 0
  }

  #split(chunk: Buffer, take: (text: string) => void): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    while (bytes.length - at >= PREFIX) {
      const end = at + PREFIX + bytes.readUInt32BE(at)
      if (end > bytes.length) break
      take(bytes.toString('utf8', at + PREFIX, end))
      at = end
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : undefined
  }
}

const socketOf = ({ folder }: Place) => join(folder, 'socket')

export function listenFramed(place: Place, accept: (socket: Socket) => void): Promise<void> {
  const path = socketOf(place)
  rmSync(path, { force: true })
  return new Promise((resolve, reject) => {
    createServer(accept).once('error', reject).listen(path, resolve)
  })
}

export function connectFramed(place: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketOf(place), () => resolve(socket)).once('error', reject)
  })
}
