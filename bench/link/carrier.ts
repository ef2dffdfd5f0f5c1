// What is compared: a handshake in which both sides prove their keys, and bytes over what comes of it. Both ends are in
// this process.
import type { Duplex } from 'node:stream'

export interface Carrier {
  readonly name: string
  /** One new connection, from nothing to both sides knowing each other, and its end. */
  shake(): Promise<void>
  /** Bytes per second one way, written in chunks of this size. */
  pump(chunk: Buffer, milliseconds: number): Promise<number>
  close(): Promise<void>
}

/** Handshakes per second, so many under way at once. */
export async function handshakes(carrier: Carrier, atOnce: number, milliseconds: number): Promise<number> {
  let done = 0
  const start = performance.now()
  const loop = async () => {
    do {
      await carrier.shake()
      done++
    } while (performance.now() - start < milliseconds)
  }
  await Promise.all(Array.from({ length: atOnce }, loop))
  return (done / (performance.now() - start)) * 1000
}

/** Bytes per second from one stream to another, with the sender held back by whoever reads. Ends both. */
export async function pumped(client: Duplex, server: Duplex, chunk: Buffer, milliseconds: number): Promise<number> {
  let bytes = 0
  server.on('data', (data: Buffer) => {
    bytes += data.length
  })
  const ended = new Promise(resolve => server.once('end', resolve))
  const start = performance.now()
  while (performance.now() - start < milliseconds)
    if (!client.write(chunk)) await new Promise(resolve => client.once('drain', resolve))
  client.end()
  await ended
  const rate = (bytes / (performance.now() - start)) * 1000
  client.destroy()
  server.destroy()
  return rate
}
