// The client of ALX Protocol v1 (ALX-SDK-04): one method for each thing that the protocol offers.
import {
  type ApprovalDecision,
  type FeedbackInput,
  type KbRegisterInput,
  type KbVerifyInput,
  kbHashFromEnvelope,
  ROUTES,
  type RunEvent,
  SESSION_TIMELINE_EVENT_TYPES,
  type SessionList,
  type SessionStatus,
  type SessionTimelineEvent,
  type SessionTimelineEventType,
  type SettlementInput,
  type SolveCallInput,
} from '@alx/protocol'
import { AlxError, AlxProtocolViolation, type FailedRun } from './errors.ts'
import type { Answer } from './http/answer.ts'
import { type CallOptions, nameOf, targetOf } from './http/request.ts'
import { Wire } from './http/wire.ts'
import { clientLimits } from './limits.ts'
import { everyItem } from './pages.ts'
import { type Followed, follow } from './stream/follow.ts'
import { type OnUnknownEvent, Position, type UnknownEvent } from './stream/position.ts'
import { RunningSolve, type SolveStream } from './stream/solve-stream.ts'
import { systemTiming, type Timing } from './timing.ts'
import { uuid } from './uuid.ts'

export interface ClientOptions {
  /** Where the server's `/v1` is: `https://example.org/alx`. */
  readonly baseUrl: string
  readonly token?: string | undefined
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined
  /** For one attempt of a call; for a stream, until its first byte. Default 60 000. */
  readonly timeoutMs?: number | undefined
  /** Default 2. For a stream: connections in a row that bring nothing. */
  readonly maxRetries?: number | undefined
  /** Is told of events whose type this version does not know. They are never an error. */
  readonly onUnknownEvent?: OnUnknownEvent | undefined
  /** For tests: the clock and the pauses between retries. */
  readonly timing?: Timing | undefined
}

export interface SessionQuery extends CallOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly status?: SessionStatus | undefined
  readonly userId?: string | undefined
}
export interface TimelineQuery extends CallOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly type?: SessionTimelineEventType | undefined
}
export type AlxClient = ReturnType<typeof createAlxClient>

export function createAlxClient(options: ClientOptions) {
  const {
    baseUrl,
    token,
    timeoutMs = 60_000,
    maxRetries = 2,
    onUnknownEvent = () => {},
    timing = systemTiming,
  } = options
  within('timeoutMs', timeoutMs, 1, clientLimits.timeoutMs)
  within('maxRetries', maxRetries, 0, clientLimits.retries)
  // Called as a plain function: a browser's `fetch` refuses any other `this`.
  const send = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request))
  const wire = new Wire({ target: targetOf(baseUrl, token), fetch: send, timing, timeoutMs }, maxRetries)
  const run = (executionId: string) => ({ path: { executionId } })
  const session = (sessionId: string) => ({ path: { sessionId } })
  const kb = (kbHash: string) => ({ path: { kbHash } })

  const solveCall = (input: SolveCallInput, call: CallOptions) => {
    // ALX-SDK-08: made once, so that every retry is the same solve.
    const idempotencyKey = input.options?.idempotencyKey ?? uuid()
    const body = { ...input, options: { ...input.options, idempotencyKey } }
    return { ...only(call), route: ROUTES.solve, body, idempotencyKey }
  }

  async function* watchRun(
    executionId: string,
    { after = 0, ...call }: CallOptions & { readonly after?: number } = {},
  ) {
    within('after', after, 0, Number.MAX_SAFE_INTEGER)
    const at = new Position(onUnknownEvent, executionId, after)
    yield* eventsOf(follow({ wire, options: only(call), at }))
  }

  async function getTimeline(sessionId: string, query: TimelineQuery = {}): Promise<Answer<'SessionTimelineEnvelope'>> {
    const { limit, cursor, type, ...call } = query
    const found = await wire.call({
      ...only(call),
      route: ROUTES.timeline,
      ...session(sessionId),
      query: { limit, cursor, type },
    })
    for (const event of found.timeline)
      if (!(SESSION_TIMELINE_EVENT_TYPES as readonly string[]).includes(event.type))
        onUnknownEvent(event as UnknownEvent, 'timeline')
    return found
  }

  function listSessions(query: SessionQuery = {}): Promise<Answer<'SessionListEnvelope'>> {
    const { limit, cursor, status, userId, ...call } = query
    return wire.call({ ...only(call), route: ROUTES.sessions, query: { limit, cursor, status, userId } })
  }

  return {
    /** Version and capabilities of the server. */
    protocol: (call: CallOptions = {}) => wire.call({ ...only(call), route: ROUTES.protocol }),

    /** Waits until the run has ended or waits for an approval. */
    solve: (input: SolveCallInput, call: CallOptions = {}) => wire.call(solveCall(input, call)),

    /** The same, with the run's events. The solve is sent at once. */
    solveStream(input: SolveCallInput, call: CallOptions = {}): SolveStream {
      const { idempotencyKey, ...start } = solveCall(input, call)
      const at = new Position(onUnknownEvent)
      const from = (position: Position, options: CallOptions): Followed => ({
        wire,
        options,
        at: position,
        start: { ...start, ...options, idempotencyKey, streamAfter: 0 },
      })
      // Events of unknown types were reported when they came the first time.
      const again = (after: number) => eventsOf(follow(from(new Position(() => {}, at.runId, after), only(call))))
      return new RunningSolve({ wire, options: only(call), idempotencyKey, at, from, again })
    },

    /**
     * Events of a run from the one after `after` on, live until the run ends or its server has no more to tell while it
     * waits for an approval. A lost connection is resumed.
     */
    watchRun,

    getRun: (executionId: string, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.run, ...run(executionId) }),

    async getRunEvents(executionId: string, query: CallOptions & { readonly afterSeq?: number | undefined } = {}) {
      const { afterSeq, ...call } = query
      const route = ROUTES.runEvents
      const found = await wire.call({ ...only(call), route, ...run(executionId), query: { afterSeq } })
      const name = nameOf({ route, ...run(executionId) })
      const at = new Position(onUnknownEvent, executionId, afterSeq)
      return { ...found, events: found.events.flatMap(event => at.event(event, name) ?? []) }
    },

    /** What was asked for is returned: a rejection that ends the run is no error here (ALX-SDK-05). */
    async decideApproval(
      executionId: string,
      decision: ApprovalDecision,
      call: CallOptions = {},
    ): Promise<Answer<'SolveResponse'> | FailedRun> {
      try {
        return await wire.call({ ...only(call), route: ROUTES.approval, ...run(executionId), body: decision })
      } catch (error) {
        const rejected = error instanceof AlxError && error.code === 'APPROVAL_REJECTED' ? error.run : undefined
        if (decision.decision === 'reject' && rejected) return rejected
        throw error
      }
    },

    sendFeedback: (feedback: FeedbackInput, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.feedback, body: feedback }),

    getSession: (sessionId: string, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.session, ...session(sessionId) }),

    listSessions,
    /** Every session of the query, over all pages. */
    eachSession: (query: SessionQuery = {}): AsyncGenerator<SessionList[number], void> =>
      everyItem(
        'GET /v1/sessions',
        cursor => listSessions({ ...query, cursor }),
        page => page.sessions,
        query.cursor,
      ),

    getTimeline,
    /** Every event of the query, over all pages. */
    eachTimelineEvent: (sessionId: string, query: TimelineQuery = {}): AsyncGenerator<SessionTimelineEvent, void> =>
      everyItem(
        nameOf({ route: ROUTES.timeline, ...session(sessionId) }),
        cursor => getTimeline(sessionId, { ...query, cursor }),
        page => page.timeline,
        query.cursor,
      ),

    resetSession: (sessionId: string, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.reset, ...session(sessionId) }),

    forkSession: (sessionId: string, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.fork, ...session(sessionId) }),

    registerKb: (registration: KbRegisterInput, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.registerKb, body: registration }),

    /** Recomputes the block's identity, unless told not to (ALX-SDK-07). */
    async getKb(kbHash: string, query: CallOptions & { readonly verify?: boolean } = {}): Promise<Answer<'KbRecord'>> {
      const { verify = true, ...call } = query
      const found = await wire.call({ ...only(call), route: ROUTES.kb, ...kb(kbHash) })
      const problem = verify ? identityProblem(kbHash, found) : undefined
      if (problem !== undefined)
        throw new AlxProtocolViolation('ALX-KB-05', problem, nameOf({ route: ROUTES.kb, ...kb(kbHash) }))
      return found
    },

    getLineage(
      kbHash: string,
      query: CallOptions & { readonly direction?: 'ancestors' | 'descendants' | undefined } = {},
    ) {
      const { direction, ...call } = query
      return wire.call({ ...only(call), route: ROUTES.lineage, ...kb(kbHash), query: { direction } })
    },

    verifyKb: (verification: KbVerifyInput, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.verifyKb, body: verification }),

    /** `queryId` is the idempotency key of a settlement (ALX-SETTLE-07). */
    settle: (settlement: SettlementInput, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.settle, body: settlement, idempotencyKey: settlement.queryId }),

    getSettlement: (queryId: string, call: CallOptions = {}) =>
      wire.call({ ...only(call), route: ROUTES.settlement, path: { queryId } }),
  }
}

async function* eventsOf(told: ReturnType<typeof follow>): AsyncGenerator<RunEvent, void> {
  for await (const { event } of told) yield event
}

function identityProblem(asked: string, { kbHash, envelope }: Answer<'KbRecord'>): string | undefined {
  if (kbHash !== asked) return `the answer is about ${kbHash}`
  try {
    const actual = kbHashFromEnvelope(envelope)
    return actual === asked ? undefined : `the envelope has the hash ${actual}`
  } catch (error) {
    return `the envelope has no hash: ${error instanceof Error ? error.message : error}`
  }
}

/** What every call takes, and nothing else that a caller may have passed along. */
function only({ signal, correlationId }: CallOptions): CallOptions {
  return { signal, correlationId }
}

function within(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new RangeError(`${name} must be an integer from ${least} to ${most}`)
}
