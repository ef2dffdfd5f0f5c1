// A plain TCP connection of this process to itself: so many bytes there and back, one after another. What the system
// and the event loop cost without any signature or cipher.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { HOST } from './profile.ts'

export class Echo {
  readonly #server: Server
  readonly #client: Socket

  static async start(): Promise<Echo> {
    const server = createServer({ noDelay: true }, socket => socket.pipe(socket))
    await new Promise<void>(resolve => server.listen(0, HOST, () => resolve()))
    const client = connect({ host: HOST, port: (server.address() as AddressInfo).port, noDelay: true })
    await new Promise(resolve => client.once('connect', resolve))
    return new Echo(server, client)
  }

  private constructor(server: Server, client: Socket) {
    this.#server = server
    this.#client = client
  }

  /** Round trips per second. */
  async pings(bytes: number, milliseconds: number): Promise<number> {
    const message = Buffer.alloc(bytes, 1)
    let pings = 0
    const start = performance.now()
    do {
      this.#client.write(message)
      for (let heard = 0; heard < bytes; )
        heard += await new Promise<number>(resolve => this.#client.once('data', (data: Buffer) => resolve(data.length)))
      pings++
    } while (performance.now() - start < milliseconds)
    return (pings / (performance.now() - start)) * 1000
  }

  close(): void {
    this.#client.destroy()
    this.#server.close()
  }
}
