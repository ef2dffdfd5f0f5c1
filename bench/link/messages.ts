// Signed messages on one connection. A ping is two of them, one each way: each is signed once and verified once. Of a
// stream every chunk is one.
import { LinkClient, type Target } from '@parley/link'
import type { LinkSession } from '../../packages/link/src/client/client.ts'
import { caller, clock } from './profile.ts'

const CHUNKS = 2000

export class Messages {
  readonly #session: LinkSession

  constructor(target: Target) {
    this.#session = new LinkClient({ identity: caller, clock }).session(target)
  }

  /** Pings per second, one after another. */
  async pings(milliseconds: number): Promise<number> {
    let pings = 0
    const start = performance.now()
    do {
      const said = await this.#session.call('link.ping', { nonce: 'a nonce of some length' })
      if (!said.ok) throw new Error(`a ping failed: ${JSON.stringify(said.error)}`)
      pings++
    } while (performance.now() - start < milliseconds)
    return (pings / (performance.now() - start)) * 1000
  }

  /** Chunks per second. */
  async chunks(milliseconds: number): Promise<number> {
    let messages = 0
    const start = performance.now()
    do {
      const said = await this.#session.call(
        'bench.stream',
        { count: CHUNKS },
        {
          onChunk: () => {
            messages++
          },
        },
      )
      if (!said.ok) throw new Error(`a stream failed: ${JSON.stringify(said.error)}`)
      messages++
    } while (performance.now() - start < milliseconds)
    return (messages / (performance.now() - start)) * 1000
  }

  close(): void {
    this.#session.close()
  }
}
