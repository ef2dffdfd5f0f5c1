// What each route does with a request whose form is right. One entry for each of ALX-HTTP-01.
import {
  type ApprovalDecision,
  type FeedbackInput,
  type KbRegisterInput,
  type KbVerifyInput,
  type Result,
  SESSION_STATUSES,
  SESSION_TIMELINE_EVENT_TYPES,
  type SettlementInput,
  type SolveCallInput,
} from '@alx/protocol'
import type { LiveRun } from '../run/live-run.ts'
import { type AlxServer, unknownRun } from '../server/alx-server.ts'
import { type Answer, refusal, refused } from '../server/answer.ts'
import type { Caller } from '../server/host.ts'
import { isSolved, userMismatch } from '../server/solves.ts'
import { pageSize } from '../session/paging.ts'
import type { RouteName } from './scopes.ts'

export interface Asked {
  readonly caller: Caller
  /** As its shape has parsed it. */
  readonly body: unknown
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** The client takes an event stream, and may have seen events before. */
  readonly stream: boolean
  readonly lastEventId: string | undefined
}

/** An answer that is a stream of a run's events. */
export interface Streamed {
  readonly live: LiveRun
  readonly after: number
  /** Of a solve: what the last frame says. */
  readonly last?: () => Answer
  /** It has nothing but the last frame (ALX-SOLVE-15). */
  readonly replayed?: boolean
}

export type Handler = (server: AlxServer, asked: Asked) => Promise<Answer | Streamed>

const SEQ = /^(0|[1-9][0-9]{0,14})$/
const HASH = /^0x[0-9a-f]{64}$/

export const HANDLERS: Readonly<Record<RouteName, Handler>> = {
  protocol: async () => ({ status: 200, body: {} }),

  async solve(server, { caller, body, stream }) {
    const solved = await server.solve(body as SolveCallInput, caller)
    if (!isSolved(solved)) return solved
    const { live, replayed } = solved
    if (!stream) return server.settled(solved)
    return { live, after: 0, replayed, last: () => server.answer(live, replayed) }
  },

  async run(server, { caller, params: { executionId = '' } }) {
    const live = await server.run(executionId, caller)
    return live ? server.answer(live) : unknownRun(executionId)
  },

  async runEvents(server, { caller, params: { executionId = '' }, query, stream, lastEventId }) {
    const after = (stream ? lastEventId : undefined) ?? query.afterSeq ?? '0'
    if (typeof after !== 'string' || !SEQ.test(after)) return invalid('afterSeq', 'must be an integer from 0 on')
    const live = await server.run(executionId, caller)
    if (!live) return unknownRun(executionId)
    const fold = live.at(server.host.now())
    if (!server.hasEvents(fold))
      return refusal('RUN_EVENTS_EXPIRED', 'The events of this run are no longer kept; its timeline is.')
    if (stream) return { live, after: Number(after) }
    return { status: 200, body: { runId: executionId, events: fold.events.slice(Number(after)) } }
  },

  approval: (server, { caller, body, params: { executionId = '' } }) =>
    server.decide(executionId, body as ApprovalDecision, caller),

  feedback: (server, { caller, body }) => server.feedback(body as FeedbackInput, caller),

  async sessions(server, { caller, query }) {
    const { userId = caller.principal.id, status } = query
    const page = pageOf(query)
    if ('body' in page) return page
    if (typeof userId !== 'string') return invalid('userId', 'must be given once')
    if (status !== undefined && !isOneOf(SESSION_STATUSES, status)) return invalid('status', 'must be a session status')
    return userMismatch(caller, userId) ?? server.sessions.list(userId, { ...page, status })
  },

  session: (server, { caller, params: { sessionId = '' } }) => server.sessions.status(sessionId, caller),

  async timeline(server, { caller, params: { sessionId = '' }, query }) {
    const { type } = query
    const page = pageOf(query)
    if ('body' in page) return page
    if (type !== undefined && !isOneOf(SESSION_TIMELINE_EVENT_TYPES, type))
      return invalid('type', 'must be a type of timeline events')
    return server.sessions.timeline(sessionId, caller, { ...page, type })
  },

  reset: (server, { caller, params: { sessionId = '' } }) => server.sessions.reset(sessionId, caller),
  fork: (server, { caller, params: { sessionId = '' } }) => server.sessions.fork(sessionId, caller),

  async registerKb({ knowledge }, { caller, body }) {
    const made = await knowledge.register(body as KbRegisterInput, caller.principal)
    return answered(made, ({ isNew }) => (isNew ? 201 : 200))
  },

  async kb({ knowledge }, { caller, params: { kbHash = '' } }) {
    return HASH.test(kbHash) ? answered(await knowledge.read(kbHash, caller.principal)) : notAHash()
  },

  async lineage({ knowledge }, { caller, params: { kbHash = '' }, query: { direction = 'ancestors' } }) {
    if (!HASH.test(kbHash)) return notAHash()
    if (direction !== 'ancestors' && direction !== 'descendants')
      return invalid('direction', 'must be ancestors or descendants')
    return answered(await knowledge.lineage(kbHash, direction, caller.principal))
  },

  verifyKb: async ({ knowledge }, { body }) => answered(await knowledge.verify(body as KbVerifyInput)),

  async settle({ knowledge }, { caller, body }) {
    const made = await knowledge.settle(body as SettlementInput, caller.principal)
    return made.ok ? { status: made.value.isNew ? 201 : 200, body: made.value.body } : refused(made.error)
  },

  settlement: async ({ knowledge }, { caller, params: { queryId = '' } }) =>
    answered(await knowledge.readSettlement(queryId, caller.principal)),
}

function answered<T extends object>(made: Result<T>, status: (body: T) => number = () => 200): Answer {
  return made.ok ? { status: status(made.value), body: made.value as unknown as Answer['body'] } : refused(made.error)
}

function pageOf({ limit, cursor }: Asked['query']) {
  const size = limit === undefined || typeof limit === 'string' ? pageSize(limit) : undefined
  if (size === undefined) return invalid('limit', 'must be an integer from 1 to 200')
  if (cursor !== undefined && typeof cursor !== 'string') return invalid('cursor', 'must be given once')
  return { limit: size, cursor }
}

function isOneOf<const T extends readonly string[]>(all: T, value: unknown): value is T[number] {
  return all.some(each => each === value)
}

export function invalid(path: string, issue: string): Answer {
  return refusal('INVALID_REQUEST', `${path} ${issue}`, { details: [{ path, issue }] })
}

function notAHash(): Answer {
  return invalid('kbHash', 'must be 0x and 64 lower-case hex digits')
}
