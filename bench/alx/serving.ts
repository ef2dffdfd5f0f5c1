// In the process of a side's server: says what it serves, answers the benchmark's commands, and ends with it.
import { once } from 'node:events'
import type { Server as HttpServer, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cut, type IdKind, type RequestShape, requestHeaders } from './request.ts'
import type { Command, Memory, Started } from './server.ts'

export function tell(message: Started | Memory): void {
  process.send!(message)
}

/** `close` runs when the benchmark has ended or wants no more of this side. */
export function serveCommands(close: () => unknown, next: () => void = () => undefined): void {
  process.on('message', (command: Command) => {
    if (command === 'next') return next()
    globalThis.gc?.()
    globalThis.gc?.()
    tell({ memory: process.memoryUsage.rss() })
  })
  process.once('disconnect', async () => {
    await close()
    process.exit(0)
  })
}

export async function listen(server: HttpServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** What the official client of a peer sent last: the headers as they arrived, the body as it was given to `fetch`. */
export class Capture {
  #headers: IncomingHttpHeaders = {}
  #path = ''
  #body = ''

  readonly fetch: typeof fetch = async (input, init) => {
    this.#body = typeof init?.body === 'string' ? init.body : ''
    return fetch(input, init)
  }

  watch(server: HttpServer): void {
    server.prependListener('request', ({ headers, url }: IncomingMessage) => {
      this.#headers = headers
      this.#path = url ?? '/'
    })
  }

  shape(port: number, members: Readonly<Record<string, IdKind>>, expects: string): RequestShape {
    const headers = requestHeaders(this.#headers)
    return { port, method: 'POST', path: this.#path, headers, ...cut(this.#body, members), expects }
  }
}
