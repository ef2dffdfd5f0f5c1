// The texts of the bare side in binary messages of a WebSocket (the `ws` library), everything of one turn written at
// once. It checks nothing.
import type { Duplex } from 'node:stream'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import type { Place } from '../side.ts'
import type { Texts } from './bare.ts'

const QUEUED_BYTES = 1024 * 1024
const WRITE_BYTES = 64 * 1024
const PLAIN = { perMessageDeflate: false } as const
const BINARY = { binary: true } as const

class Messages implements Texts {
  readonly #ws: WebSocket
  readonly #socket: Duplex
  #corked = false

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws
    this.#socket = socket
  }

  listen(take: (text: string) => void): void {
    this.#ws.on('message', (data: RawData) => take((data as Buffer).toString()))
  }

  send(text: string): void {
    if (!this.#corked) {
      this.#corked = true
      this.#socket.cork()
      process.nextTick(() => this.#uncork())
    }
    this.#ws.send(Buffer.from(text), BINARY)
    if (this.#socket.writableLength >= WRITE_BYTES) this.#uncork()
  }

  room(): Promise<void> | undefined {
    if (this.#socket.writableLength < QUEUED_BYTES) return undefined
    return new Promise(resolve => this.#socket.once('drain', resolve))
  }

  #uncork(): void {
    if (!this.#corked) return
    this.#corked = false
    this.#socket.uncork()
  }
}

const urlOf = ({ port }: Place) => `ws://127.0.0.1:${port}/`

/** As the library comes, for sides that bring everything else themselves. */
export function listenPlain(place: Place, accept: (ws: WebSocket, socket: Duplex) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    new WebSocketServer({ host: '127.0.0.1', port: place.port, ...PLAIN })
      .on('connection', (ws, request) => accept(ws, request.socket))
      .once('error', reject)
      .once('listening', resolve)
  })
}

export function connectPlain(place: Place): Promise<{ ws: WebSocket; socket: Duplex }> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(urlOf(place), PLAIN)
    let socket: Duplex
    ws.once('upgrade', response => {
      socket = response.socket
    })
    ws.once('error', reject).once('open', () => resolve({ ws, socket }))
  })
}

/** `serve` makes what takes the texts of a new connection. */
export function listenMessages(place: Place, serve: (texts: Texts) => (text: string) => void): Promise<void> {
  return listenPlain(place, (ws, socket) => {
    const messages = new Messages(ws, socket)
    messages.listen(serve(messages))
  })
}

export async function connectMessages(place: Place): Promise<Messages> {
  const { ws, socket } = await connectPlain(place)
  return new Messages(ws, socket)
}
