// The load: one keep-alive client for every side, over the `Agent` of `node:http`, with so many requests in flight. All
// of it is in the benchmark's own process; every server has another one.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { loops } from '../trail/measure.ts'
import { bodyOf, type RequestShape } from './request.ts'

export interface Measured {
  readonly perSecond: number
  /** Milliseconds from sending a request until its whole answer is there; undefined where they are not measured. */
  readonly p50?: number
  readonly p99?: number
  /** Share of the time in which the client's own event loop was busy. Near 1, the client is what is measured. */
  readonly busy?: number
}

/**
 * Connections are opened before the clock starts and closed behind it: one that lay idle while others were measured may
 * be closed by its server at the moment when it is used again.
 */
export async function measureExchanges(shape: RequestShape, atOnce: number, milliseconds: number): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce, maxFreeSockets: atOnce })
  try {
    await Promise.all(Array.from({ length: atOnce }, () => goodExchange(shape, agent)))
    const times: number[] = []
    const before = performance.eventLoopUtilization()
    const perSecond = await loops(atOnce, milliseconds, async () => {
      const start = performance.now()
      await goodExchange(shape, agent)
      times.push(performance.now() - start)
    })
    const { utilization } = performance.eventLoopUtilization(before)
    const at = percentiles(times)
    return { perSecond, p50: at(0.5), p99: at(0.99), busy: utilization }
  } finally {
    agent.destroy()
  }
}

/** Rejects unless the answer is a good one: a benchmark of refusals is none. */
async function goodExchange(shape: RequestShape, agent: Agent): Promise<void> {
  const { status, text } = await exchange(shape, agent)
  if (status === 200 && text.includes(shape.expects)) return
  throw new Error(`${shape.method} ${shape.path} was answered with ${status}: ${text.slice(0, 500)}`)
}

export function percentiles(values: readonly number[]): (share: number) => number {
  const sorted = Float64Array.from(values).sort()
  return share => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
}

export interface Answer {
  readonly status: number | undefined
  readonly text: string
}

export function exchange(shape: RequestShape, agent?: Agent): Promise<Answer> {
  const { port, method, path, headers } = shape
  return new Promise((resolve, reject) => {
    const body = bodyOf(shape)
    const failed = (cause: Error) => reject(new Error(`${method} ${path} on port ${port}: ${cause.message}`, { cause }))
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        ...(agent && { agent }),
      },
      response => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.once('end', () => resolve({ status: response.statusCode, text }))
        response.once('error', failed)
      },
    )
    sent.once('error', failed).end(body)
  })
}

/** The data of the first frame of a stream of events, which then ends: whoever asked for it is gone. */
export async function firstFrame(shape: RequestShape): Promise<string> {
  const { port, method, path, headers } = shape
  const body = bodyOf(shape)
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    const data = /^data: (.*)\n\n/m.exec(text)?.[1]
    // Leaving the loop ends the stream.
    if (data !== undefined) return data
  }
  throw new Error(`${path} was answered with ${response.statusCode}: ${text}`)
}
