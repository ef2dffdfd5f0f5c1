// A small ALX server that keeps runs: solves as JSON and as streams, runs, events, approvals, idempotency keys. It
// loses connections where a test says so.
import type { ServerResponse } from 'node:http'
import type { RunEvent, SolveResponse } from '@alx/protocol'
import { type Asked, answer, BASE, failure } from './http-server.ts'
import { type Course, eventsOf, responseOf } from './samples.ts'

/** How one stream is cut: after so many bytes, torn or in good order. */
export interface Cut {
  readonly bytes: number
  readonly clean?: boolean
}

export interface FakeOptions {
  readonly course: Course
  /** Of the stream of this number, the first being 1. */
  readonly cut?: (stream: number) => Cut | undefined
  /** What separates lines. */
  readonly newline?: string
  /** Whether a stream of events stays open while the run waits. */
  readonly staysOpen?: boolean
  readonly eventsExpire?: boolean
}

interface Run {
  readonly id: string
  decision: 'approve' | 'reject' | undefined
}

export class FakeAlx {
  readonly #options: FakeOptions
  readonly #runs = new Map<string, Run>()
  readonly #waiting: (() => void)[] = []
  /** Streams that were opened, by who opened them. */
  readonly streams: string[] = []
  /** Bytes of the last whole stream. */
  lengths: number[] = []

  constructor(options: FakeOptions) {
    this.#options = options
  }

  get runs(): number {
    return this.#runs.size
  }

  handle(asked: Asked, response: ServerResponse): unknown {
    const { pathname: path, searchParams } = new URL(asked.url, 'http://fake')
    const [, id = '', what] = /\/v1\/runs\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? []
    if (path.endsWith('/v1/solve')) return this.#solve(asked, response)
    const run = [...this.#runs.values()].find(each => each.id === id)
    if (!run) return answer(response, 404, failure('RUN_NOT_FOUND', {}, 'not_found'))
    if (what === undefined) return this.#state(run, response)
    if (what === 'approval') return this.#decide(run, asked, response)
    if (this.#options.eventsExpire) return answer(response, 410, failure('RUN_EVENTS_EXPIRED', {}, 'not_found'))
    if (asked.headers.accept === 'text/event-stream')
      return this.#stream(run, Number(asked.headers['last-event-id'] ?? 0), response, false)
    const after = Number(searchParams.get('afterSeq') ?? 0)
    answer(response, 200, { ...BASE, runId: id, events: this.#events(run).filter(({ seq }) => seq > after) })
  }

  #solve({ body, headers }: Asked, response: ServerResponse): unknown {
    const key = (body!.options as { idempotencyKey: string }).idempotencyKey
    const replay = this.#runs.get(key)
    const run = replay ?? { id: `run_${this.#runs.size + 1}`, decision: undefined }
    this.#runs.set(key, run)
    if (headers.accept !== 'text/event-stream') return this.#state(run, response)
    this.#stream(run, replay ? Number.MAX_SAFE_INTEGER : 0, response, true)
  }

  #decide(run: Run, { body }: Asked, response: ServerResponse): unknown {
    if (run.decision) return answer(response, 409, failure('APPROVAL_ALREADY_DECIDED', {}, 'conflict'))
    run.decision = body!.decision as 'approve' | 'reject'
    for (const wake of this.#waiting.splice(0)) wake()
    this.#state(run, response)
  }

  #events({ id, decision }: Run): RunEvent[] {
    const events = eventsOf(id, this.#options.course)
    const gate = events.findIndex(({ type }) => type === 'approval.required')
    return gate < 0 || decision ? events : events.slice(0, gate + 1)
  }

  #response(run: Run): SolveResponse {
    const { course } = this.#options
    if (course !== 'approved') return responseOf(run.id, course)
    if (run.decision !== 'reject') return responseOf(run.id, run.decision ? 'completed' : 'awaiting_approval')
    const rejected = responseOf(run.id, 'failed')
    return { ...rejected, error: failure('APPROVAL_REJECTED', {}, 'approval').error } as SolveResponse
  }

  #state(run: Run, response: ServerResponse): void {
    const body = this.#response(run)
    answer(response, body.ok ? (body.execution.status === 'awaiting_approval' ? 202 : 200) : 422, body)
  }

  #stream(run: Run, after: number, response: ServerResponse, ofSolve: boolean): void {
    const { newline = '\n', staysOpen, cut } = this.#options
    const frame = (event: string, id: number | undefined, data: unknown) =>
      [`event: ${event}`, ...(id === undefined ? [] : [`id: ${id}`]), `data: ${JSON.stringify(data)}`, '', ''].join(
        newline,
      )
    const told = (from: number) =>
      this.#events(run)
        .filter(({ seq }) => seq > from)
        .map(event => frame(event.type, event.seq, event))
        .join('')
    this.streams.push(ofSolve ? 'POST' : `GET ${after}`)
    const loss = cut?.(this.streams.length)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.flushHeaders()
    const last = ofSolve ? frame('alx.response', undefined, this.#response(run)) : ''
    const bytes = Buffer.from(`: hello${newline}${newline}${told(after)}${last}`)
    this.lengths.push(bytes.length)
    if (loss && loss.bytes < bytes.length) {
      const part = bytes.subarray(0, loss.bytes)
      if (loss.clean) response.end(part)
      else response.write(part.length > 0 ? part : '', () => response.destroy())
      if (part.length === 0 && !loss.clean) response.destroy()
      return
    }
    const events = this.#events(run)
    const waits = events.at(-1)!.type === 'approval.required'
    if (ofSolve || !waits || !staysOpen) return void response.end(bytes)
    response.write(bytes)
    this.#waiting.push(() => response.end(told(Math.max(after, events.length))))
  }
}
