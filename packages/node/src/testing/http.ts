// A node with its HTTP surface on a free port of loopback, and requests to it as any program could send them.
import { type IncomingHttpHeaders, type RequestOptions, request as send } from 'node:http'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TokenScope } from '../http/scopes.ts'
import { type Started, type StartOptions, startedNode } from './started.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The text as JSON. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface Sent extends Pick<RequestOptions, 'method'> {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface HttpStarted extends Started {
  readonly port: number
  request(path: string, sent?: Sent): Promise<Answer>
  /** The secret of a new token. */
  token(scopes?: readonly TokenScope[], user?: string): Promise<string>
  /** Sends bytes as they are; resolves to all that came back when the other side has closed. */
  raw(text: string): Promise<string>
}

export const ON = { 'http-on': 'true', 'http-port': '0' } as const

export async function httpNode(options: StartOptions = {}): Promise<HttpStarted> {
  const started = await startedNode({ ...options, flags: { ...ON, ...options.flags } })
  const at = (await started.node.status()).http?.at
  const port = Number(at?.split(':').at(-1))
  return {
    ...started,
    port,
    request: (path, sent) => requestAt(port, path, sent),
    token: async (scopes, user = 'ann') =>
      (await started.client.call('tokens', 'create', { user, ...(scopes && { scopes: [...scopes] }) })).secret,
    raw: text => rawAt(port, text),
  }
}

export function requestAt(port: number, path: string, { method, token, headers, body }: Sent = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const request = send(
    {
      host: '127.0.0.1',
      port,
      path,
      method: method ?? (text === undefined ? 'GET' : 'POST'),
      agent: false,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
    },
    response => {
      let all = ''
      response.setEncoding('utf8')
      response.on('data', part => {
        all += part
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text: all, body: jsonOf(all) })
      })
    },
  )
  request.on('error', reject)
  request.end(text)
  return promise
}

function jsonOf(text: string): Answer['body'] {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export function rawAt(port: number, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let all = ''
  socket.setEncoding('utf8')
  socket.on('data', part => {
    all += part
  })
  socket.on('error', () => undefined)
  socket.on('close', () => resolve(all))
  socket.write(text)
  return promise
}

/** The code of a refusal in the usual envelope. */
export function codeOf({ body }: Answer): unknown {
  return (body.result as { readonly error?: { readonly code?: unknown } } | undefined)?.error?.code
}
