// One client of a stream of events: it notes when each frame was there, and looks into them only when all is over, so
// that a thousand of them in one process cost little. And one that never reads.
import { once } from 'node:events'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { RequestShape } from './request.ts'

/** The event that ends one step of the run that is watched. */
const STEP_ENDED = 'event: step.completed'

export class Watcher {
  readonly #response: IncomingMessage
  readonly #frames: { readonly at: number; readonly text: string }[] = []
  #rest = ''
  #steps = 0
  #awaited: { readonly steps: number; readonly resolve: () => void } | undefined

  private constructor(response: IncomingMessage) {
    this.#response = response
    response.setEncoding('utf8').on('data', (chunk: string) => this.#take(Date.now(), chunk))
    // The server ends it when the run is over; the benchmark may have ended the server before.
    response.on('error', () => undefined)
  }

  static async open({ port, path, headers }: RequestShape, agent: Agent): Promise<Watcher> {
    const sent = request({ host: '127.0.0.1', port, path, headers, agent }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    if (response.statusCode === 200) return new Watcher(response)
    throw new Error(`${path} was answered with ${response.statusCode}`)
  }

  /** Fulfilled when so many steps have ended, as far as this client knows. */
  stepsEnded(steps: number): Promise<void> {
    if (this.#steps >= steps) return Promise.resolve()
    return new Promise(resolve => {
      this.#awaited = { steps, resolve }
    })
  }

  /** Milliseconds from each event's stamp until it was here; of one millisecond's resolution, as the stamps are. */
  latencies(): number[] {
    return this.#frames.flatMap(({ at, text }) => {
      const data = text.split('\n').find(line => line.startsWith('data: '))
      if (data === undefined) return []
      const { timestamp } = JSON.parse(data.slice('data: '.length)) as { readonly timestamp?: string }
      return timestamp === undefined ? [] : [at - Date.parse(timestamp)]
    })
  }

  /** What came so far belongs to no measurement. */
  forget(): void {
    this.#frames.length = 0
  }

  close(): void {
    this.#response.destroy()
  }

  #take(at: number, chunk: string): void {
    const frames = (this.#rest + chunk).split('\n\n')
    this.#rest = frames.pop()!
    for (const text of frames) {
      this.#frames.push({ at, text })
      if (text.includes(STEP_ENDED)) this.#steps++
    }
    if (this.#awaited && this.#steps >= this.#awaited.steps) {
      this.#awaited.resolve()
      this.#awaited = undefined
    }
  }
}

/** Asks for the stream and takes in nothing of it beyond what the kernel does by itself. */
export async function silentWatcher({ port, path, headers }: RequestShape): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  socket.pause()
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  return socket
}
