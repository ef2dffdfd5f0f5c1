// Sends requests as they are, whatever they say, over connections that are kept; and event streams on sockets.
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Buffer | undefined
}

export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The client left before the end. */
  readonly cut: boolean
}

/** A guard, far above what any answer takes. */
const ANSWER_MS = 30_000

/** `enough`: when the client of a stream has read what it wants. */
export function send(
  { agent, port, enough = () => false }: { agent: Agent; port: number; enough?: (text: string) => boolean },
  { method, path, headers, body }: RawRequest,
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port, method, path, headers: { ...headers } as Record<string, string> }
    const request = httpRequest(options, response => {
      const streams = response.headers['content-type'] === 'text/event-stream'
      let text = ''
      const done = (cut: boolean) => {
        clearTimeout(guard)
        resolve({ status: response.statusCode!, headers: response.headers, text, cut })
        if (cut) request.destroy()
      }
      response.setEncoding('utf8')
      if (streams && enough(text)) done(true)
      response.on('data', piece => {
        text += piece
        if (streams && enough(text)) done(true)
      })
      response.on('end', () => done(false))
      response.on('error', reject)
    })
    const guard = setTimeout(() => request.destroy(new Error('no answer came')), ANSWER_MS)
    request.on('error', cause => {
      clearTimeout(guard)
      reject(cause)
    })
    request.end(body)
  })
}
