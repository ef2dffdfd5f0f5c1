// /sessions: the sessions of ALX, everybody's, for the owner of the profile. Programs see their own over HTTP.
import type { ProtocolError } from '@alx/protocol'
import type { AlxServer } from '@parley/alx'
import { type Principal, refuse, Type } from '@parley/core'
import { alxLimits } from '../alx/limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { refusalOf } from './knowledge.ts'
import { answered, callError, caller, orNull, query, TRAIL, text } from './spec.ts'

const Status = Type.String({ description: 'active, completed, failed, paused or abandoned' })
const Cursor = text(alxLimits.cursorLength)
const SessionSchema = object({
  sessionId: Type.String(),
  user: Type.String(),
  intent: Type.String(),
  status: Status,
  progress: orNull(Type.Number(), 'From 0 to 1'),
  updatedAt: Type.String(),
  summary: Type.String(),
})
const EventSchema = object({
  type: Type.String(),
  timestamp: Type.Integer({ description: 'Milliseconds since 1970' }),
  executionId: orNull(Type.String()),
  summary: Type.String(),
})
const READ = ['not_found', 'invalid_argument', 'unavailable', ...TRAIL] as const

interface Listed {
  readonly sessionId: string
  readonly intent: string
  readonly status: string
  readonly progress: number | null
  readonly updatedAt: string
  readonly summary: { readonly text: string }
}

export function sessionService({ alx }: Pick<OperationDeps, 'alx'>) {
  const server = async () => {
    try {
      return await alx.server()
    } catch (thrown) {
      throw callError(thrown)
    }
  }
  return {
    '/sessions/list': query({
      description: 'Sessions of programs that solve over ALX, the one that changed last first.',
      input: object({
        user: Type.Optional(text(256, 'Only those of this user')),
        status: Type.Optional(text(32, 'active, completed, failed, paused or abandoned')),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: alxLimits.listed })),
        cursor: Type.Optional(Cursor),
      }),
      output: object({ sessions: Type.Array(SessionSchema), next: Type.Optional(Type.String()) }),
      refuses: READ,
      handle: async ({ user = null, status, limit = 50, cursor }) => {
        const { sessions, host } = await server()
        const { SESSION_STATUSES } = await import('@alx/protocol')
        if (status !== undefined && !SESSION_STATUSES.some(each => each === status))
          answered(refuse('invalid_argument', `A session is ${SESSION_STATUSES.join(', ')}, not ${status}.`))
        const { body } = told(await sessions.list(user, { limit, cursor, status }))
        const { sessions: listed, nextCursor } = body as unknown as {
          readonly sessions: readonly Listed[]
          readonly nextCursor: string | null
        }
        return {
          sessions: listed.map(({ summary, ...each }) => ({
            ...each,
            user: host.index.session(each.sessionId)?.userId ?? '',
            summary: summary.text,
          })),
          ...(nextCursor !== null && { next: nextCursor }),
        }
      },
    }),
    '/sessions/show': query({
      description: 'One session: how it stands, its runs, and what happened in it, the first events.',
      input: object({ session: text(128) }),
      output: object({
        session: SessionSchema,
        next_step: orNull(Type.String()),
        created: Type.String(),
        runs: Type.Array(Type.String()),
        timeline: Type.Array(EventSchema),
      }),
      refuses: READ,
      handle: async ({ session: id }, { identity }) => {
        const { sessions, host } = await server()
        const everybody = { ...asking(caller(identity)), development: true }
        const shown = told(await sessions.status(id, everybody)).body as unknown as Shown
        const { timeline } = told(await sessions.timeline(id, everybody, { limit: alxLimits.listed }))
          .body as unknown as { readonly timeline: readonly Event[] }
        const { sessionId, userId: user, intent, status, progress, summary, nextStep, createdAt } = shown
        return {
          session: { sessionId, user, intent, status, progress, updatedAt: summary.updatedAt, summary: summary.text },
          next_step: nextStep,
          created: createdAt,
          runs: host.index.session(id)?.items.flatMap(item => (item.kind === 'run' ? [item.run] : [])) ?? [],
          timeline: timeline.map(({ type, timestamp, executionId, summary }) => ({
            type,
            timestamp,
            executionId,
            summary,
          })),
        }
      },
    }),
  }
}

interface Shown extends Omit<Listed, 'summary' | 'updatedAt'> {
  readonly userId: string
  readonly nextStep: string | null
  readonly createdAt: string
  readonly summary: { readonly text: string; readonly updatedAt: string }
}

interface Event {
  readonly type: string
  readonly timestamp: number
  readonly executionId: string | null
  readonly summary: string
}

const asking = (principal: Principal) => ({ principal, correlationId: 'sessions' })

/** An answer of ALX, or its refusal as callers of operations get it. */
function told(answer: Awaited<ReturnType<AlxServer['sessions']['status']>>) {
  const { error } = answer.body as { readonly error?: ProtocolError }
  if (error) throw callError(refusalOf(error))
  return answer
}
