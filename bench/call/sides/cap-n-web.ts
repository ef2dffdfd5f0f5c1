// Cap'n Web: over a WebSocket as it comes, and over the framed socket of the bare side, through its interface for other
// transports. A stream is a ReadableStream of objects, which it carries with flow control of its own.
import { newWebSocketRpcSession, RpcSession, RpcTarget, type RpcTransport } from 'capnweb'
import { type Client, type Message, message, type Side } from '../side.ts'
import { connectFramed, Framed, listenFramed } from './framed.ts'
import { connectPlain, listenPlain } from './websocket.ts'

export class Bench extends RpcTarget {
  echo(given: Message): Message {
    return given
  }

  stream(count: number): ReadableStream<Message> {
    let seq = 0
    return new ReadableStream<Message>(
      {
        pull(controller) {
          controller.enqueue(message(seq++))
          if (seq === count) controller.close()
        },
      },
      { highWaterMark: 1024 },
    )
  }
}

export interface BenchStub {
  echo(given: Message): Promise<Message>
  stream(count: number): Promise<ReadableStream<Message>>
}

export function capNWebClient(stub: BenchStub): Client {
  return {
    echo: given => stub.echo(given),
    async stream(count, take) {
      for await (const value of await stub.stream(count)) take(value)
    },
  }
}

/** Its interface takes texts one at a time by pulling. */
class Pulled implements RpcTransport {
  readonly #framed: Framed
  readonly #texts: string[] = []
  #at = 0
  #waiting: ((text: string) => void) | undefined

  constructor(socket: ConstructorParameters<typeof Framed>[0]) {
    this.#framed = new Framed(socket, text => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting) waiting(text)
      else this.#texts.push(text)
    })
  }

  send(text: string): void {
    this.#framed.send(text)
  }

  receive(): Promise<string> {
    if (this.#at === this.#texts.length) {
      this.#texts.length = 0
      this.#at = 0
      return new Promise(resolve => {
        this.#waiting = resolve
      })
    }
    return Promise.resolve(this.#texts[this.#at++]!)
  }
}

export const capNWebUnix: Side = {
  serve: place => listenFramed(place, socket => void new RpcSession(new Pulled(socket), new Bench())),
  async connect(place) {
    const session = new RpcSession(new Pulled(await connectFramed(place)))
    return capNWebClient(session.getRemoteMain() as unknown as BenchStub)
  },
}

/** Its types know the browser's WebSocket alone; its documentation passes that of `ws`. */
type Its = Parameters<typeof newWebSocketRpcSession>[0]

export const capNWebWebSocket: Side = {
  serve: place => listenPlain(place, ws => void newWebSocketRpcSession(ws as unknown as Its, new Bench())),
  async connect(place) {
    const { ws } = await connectPlain(place)
    return capNWebClient(newWebSocketRpcSession(ws as unknown as Its) as unknown as BenchStub)
  },
}
