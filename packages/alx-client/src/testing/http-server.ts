// A real HTTP server on loopback whose answers a test writes.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ALX_PROTOCOL_VERSION } from '@alx/protocol'
import { onTestFinished } from 'vitest'

export interface Asked {
  readonly method: string
  /** With its query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly [member: string]: unknown } | undefined
}

export interface Server {
  readonly url: string
  readonly asked: readonly Asked[]
}

export type Handler = (asked: Asked, response: ServerResponse, count: number) => unknown

export async function serve(handler: Handler): Promise<Server> {
  const all: Asked[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const text = Buffer.concat(parts).toString()
    const { method = '', url = '', headers } = request
    const asked: Asked = { method, url, headers, body: text === '' ? undefined : JSON.parse(text) }
    all.push(asked)
    handler(asked, response, all.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alx`, asked: all }
}

export const PROTOCOL = { protocol_version: ALX_PROTOCOL_VERSION, capabilities: ['solve', 'runs'] }
export const BASE = { ok: true, correlationId: 'req_1', protocol: PROTOCOL } as const

export function failure(code: string, more: object = {}, type = 'internal') {
  return { ...BASE, ok: false, error: { type, code, message: `the server says ${code}`, ...more } }
}

export function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
