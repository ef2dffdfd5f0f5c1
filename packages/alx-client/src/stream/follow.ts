// The events of one run over as many connections as it takes, and then its answer (ALX-RUN-06, -07, ALX-ERR-06).
import { ROUTES, type RunEvent, type SolveResponse } from '@alx/protocol'
import { AlxError, AlxTransportError } from '../errors.ts'
import { type Answer, answerOf } from '../http/answer.ts'
import type { Connection } from '../http/connection.ts'
import type { Call, CallOptions } from '../http/request.ts'
import { pauseMs, retryPause } from '../http/retry.ts'
import type { Wire } from '../http/wire.ts'
import { clientLimits } from '../limits.ts'
import type { Position } from './position.ts'
import { SseParser } from './sse.ts'

/** How the run stands when its stream is over. A failed run is its error. */
export type Ending = Answer<'SolveResponse'> | AlxError

export interface Followed {
  readonly wire: Wire
  readonly options: CallOptions
  readonly at: Position
  /** Starts the run; sent again with its key while the run's id is not known. */
  readonly start?: Call
}

/** An event with the length of its JSON: what it costs to keep it. */
export interface Told {
  readonly event: RunEvent
  readonly length: number
}

/**
 * Tells each event once, in order, and returns how the run stands: at its end, or while it waits for an approval. Then
 * the stream of a solve is over; one that was only watched goes on for as long as the server does not end it. Throws
 * what cannot be resumed.
 */
export async function* follow(followed: Followed): AsyncGenerator<Told, Ending> {
  const { wire, options, at } = followed
  for (let failures = 0; ; ) {
    const began = wire.timing.now()
    const before = at.seq
    at.heardMs = began
    let lost: unknown
    try {
      const ending = yield* connected(followed)
      if (ending) return ending
      if (at.ended) continue
      lost = new AlxTransportError('interrupted', brokenOff(at))
    } catch (error) {
      if (!resumable(error)) throw error
      lost = error
    }
    // A server that is silent does not make a connection a success, however long it lasts.
    const lasted = at.runId !== undefined && at.heardMs - began >= clientLimits.settledMs
    failures = lasted || at.seq > before ? 1 : failures + 1
    if (failures > wire.maxRetries) throw lost
    await wire.pause(retryPause(lost, failures) ?? pauseMs(failures), options.signal)
  }
}

function resumable(error: unknown): boolean {
  return (error instanceof AlxTransportError && error.reason === 'interrupted') || retryPause(error, 1) !== undefined
}

function brokenOff({ runId, seq }: Position): string {
  if (runId === undefined) return 'The stream broke off before its first event; the run may go on.'
  const next = `Go on with watchRun('${runId}', { after: ${seq} }), or read the run with getRun.`
  return `The stream of run ${runId} broke off after event ${seq}; the run may go on. ${next}`
}

function resumption({ runId, seq }: Position, options: CallOptions): Call {
  return { ...options, route: ROUTES.runEvents, path: { executionId: runId! }, streamAfter: seq }
}

/** What one connection tells; how the run stands, if that was said. Nothing here is tried twice: `follow` does that. */
async function* connected(followed: Followed): AsyncGenerator<Told, Ending | undefined> {
  const { wire, options, at, start } = followed
  if (at.ended) return await stateOf(followed)
  if (at.runId === undefined) {
    const again = at.sent
    at.sent = true
    const ending = yield* told(followed, await wire.open(start!), true)
    // The first stream was lost before its first event, and a replay has none (ALX-RUN-06).
    if (ending && again && at.seq === 0) yield* missed(followed, ending)
    return ending
  }
  const waited = start && at.waits ? yield* settled(followed) : undefined
  if (waited) return waited
  const before = at.seq
  const ending = yield* told(followed, await wire.open(resumption(at, options)), false)
  if (ending || at.ended) return ending
  return at.waits || at.seq === before ? yield* settled(followed) : undefined
}

async function* told(
  followed: Followed,
  connection: Connection,
  posts: boolean,
): AsyncGenerator<Told, Ending | undefined> {
  const { wire, at, start } = followed
  if (!connection.streams) {
    if (posts) return await endingOf(() => wire.answer('SolveResponse', connection))
    const { events } = await wire.answer('RunEventsEnvelope', connection)
    yield* listed(at, events)
    return undefined
  }
  const parser = new SseParser()
  for await (const chunk of connection.chunks()) {
    at.heardMs = wire.timing.now()
    for (const frame of parser.push(chunk)) {
      if (frame.event === 'alx.response')
        return await endingOf(async () => answerOf('SolveResponse', wire.received(connection, frame.data)))
      const event = at.frame(frame, connection.name)
      if (event) yield { event, length: frame.data.length }
      // Only the stream of a solve has an answer behind its last event.
      if (posts) continue
      if (at.ended) return undefined
      if (event && at.waits && start) {
        const state = yield* settled(followed)
        if (state) return state
      }
    }
  }
  return undefined
}

async function* missed({ wire, at, options }: Followed, ending: Ending): AsyncGenerator<Told, void> {
  const response: SolveResponse | undefined = ending instanceof AlxError ? ending.run : ending
  if (!response || response.execution.dryRun) return
  at.found(response.executionId)
  yield* rest(wire, at, options)
}

/**
 * Whether there is more to come, without a stream: a connection that ends and brings nothing may be the server's last
 * word or a proxy's. The state is read before the events, so a finished run's events are complete.
 */
async function* settled(followed: Followed): AsyncGenerator<Told, Ending | undefined> {
  const { wire, at, options } = followed
  const state = await stateOf(followed)
  yield* rest(wire, at, options)
  const status = state instanceof AlxError ? 'failed' : state.execution.status
  if (status === 'completed' || status === 'failed') return state
  return at.waits && status === 'awaiting_approval' ? state : undefined
}

async function* rest(wire: Wire, at: Position, options: CallOptions): AsyncGenerator<Told, void> {
  const path = { executionId: at.runId! }
  const { events } = await wire.once({ ...options, route: ROUTES.runEvents, path, query: { afterSeq: at.seq } })
  yield* listed(at, events)
}

function* listed(at: Position, events: readonly RunEvent[]): Generator<Told, void> {
  for (const value of events) {
    const event = at.event(value, `GET ${ROUTES.runEvents.path}`)
    if (event) yield { event, length: JSON.stringify(event).length }
  }
}

function stateOf({ wire, at, options }: Followed): Promise<Ending> {
  return endingOf(() => wire.once({ ...options, route: ROUTES.run, path: { executionId: at.runId! } }))
}

/** A failed run is an ending; a request that was refused is not. */
async function endingOf(answer: () => Promise<Answer<'SolveResponse'>>): Promise<Ending> {
  try {
    return await answer()
  } catch (error) {
    if (error instanceof AlxError && error.run) return error
    throw error
  }
}
