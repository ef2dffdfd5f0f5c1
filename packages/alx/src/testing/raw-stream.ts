// An event stream on a bare socket, which can be cut at any byte.
import { connect } from 'node:net'
import { framesOf } from './fixture.ts'

export interface StreamPart {
  /** Undefined where the cut came before the status did. */
  readonly status: number | undefined
  /** Of the body, without its chunks. */
  readonly text: string
  /** The server has ended the body, as HTTP has it. */
  readonly ended: boolean
}

export interface RawAsk {
  readonly method?: string
  readonly path: string
  readonly after?: string | undefined
  readonly body?: string
}

/** The first `bytes` of the answer; by default all of it. */
export function readStream(
  url: string,
  { method = 'GET', path, after, body }: RawAsk,
  bytes = Number.POSITIVE_INFINITY,
) {
  const { hostname, port, pathname } = new URL(url)
  const lines = [
    `${method} ${pathname}${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    'authorization: Bearer U',
    'accept: text/event-stream',
    'connection: close',
    ...(after === undefined ? [] : [`last-event-id: ${after}`]),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  const pieces: Buffer[] = []
  let length = 0
  return new Promise<StreamPart>(resolve => {
    const socket = connect({ host: hostname, port: Number(port) })
    const done = () => {
      socket.destroy()
      const all = Buffer.concat(pieces)
      resolve(partOf(all.subarray(0, Math.min(bytes, all.length))))
    }
    socket.on('data', piece => {
      pieces.push(piece)
      length += piece.length
      if (length >= bytes) done()
    })
    socket.on('error', done)
    socket.on('close', done)
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
  })
}

function partOf(answer: Buffer): StreamPart {
  const head = answer.indexOf('\r\n\r\n')
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(answer.toString('latin1', 0, 12)) ?? []
  if (head < 0) return { status: status === undefined ? undefined : Number(status), text: '', ended: false }
  const body = answer.subarray(head + 4)
  const chunked = answer.toString('latin1', 0, head).toLowerCase().includes('transfer-encoding: chunked')
  return { status: Number(status), ...(chunked ? unchunked(body) : { text: body.toString(), ended: true }) }
}

function unchunked(body: Buffer): Pick<StreamPart, 'text' | 'ended'> {
  const chunks: Buffer[] = []
  let at = 0
  let ended = false
  for (let line = body.indexOf('\r\n'); line >= 0; line = body.indexOf('\r\n', at)) {
    const size = Number.parseInt(body.toString('latin1', at, line), 16)
    ended = size === 0
    if (ended) break
    chunks.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
    if (at >= body.length) break
  }
  return { text: Buffer.concat(chunks).toString(), ended }
}

/** Frames that are whole; what follows the last of them was cut. */
export function wholeFrames(text: string) {
  return framesOf(text.slice(0, text.lastIndexOf('\n\n') + 2))
}
