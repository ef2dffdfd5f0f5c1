// Sessions: status, list and timeline envelopes (section 6).
import { Type } from 'typebox'
import { fraction, id, integer, iso, nullable, oneOf, someText, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'
import { SESSION_STATUSES } from '../vocabulary.ts'
import { succeeded } from './envelope.ts'
import { sessionTimeline } from './timeline.ts'

const summary = {
  text: someText,
  runCount: integer(0),
  successCount: integer(0),
  avgImprovement: nullable(Type.Number()),
  lastArtifactId: nullable(Type.String()),
}
/** ALX-SESS-04. */
export const sessionSummary = Type.Object({ ...summary, updatedAt: Type.Optional(iso) })
export type SessionSummary = Wire<typeof sessionSummary>
export const { parse: parseSessionSummary, is: isSessionSummary } = sent(sessionSummary)

const status = oneOf(SESSION_STATUSES)

/** ALX-SESS-01. */
export const sessionStatusEnvelope = Type.Object({
  ...succeeded,
  sessionId: id,
  userId: Type.String(),
  intent: Type.String(),
  status,
  progress: nullable(fraction),
  nextStep: nullable(Type.String()),
  summary: Type.Object({ ...summary, updatedAt: iso }),
  createdAt: Type.Optional(iso),
})
export type SessionStatusEnvelope = Wire<typeof sessionStatusEnvelope>
export const { parse: parseSessionStatusEnvelope, is: isSessionStatusEnvelope } = sent(sessionStatusEnvelope)

/** ALX-SESS-07. */
export const sessionList = Type.Array(
  Type.Object({
    sessionId: id,
    intent: Type.String(),
    status,
    progress: nullable(fraction),
    updatedAt: iso,
    summary: Type.Optional(sessionSummary),
  }),
)
export type SessionList = Wire<typeof sessionList>
export const { parse: parseSessionList, is: isSessionList } = sent(sessionList)

const nextCursor = nullable(someText)

export const sessionListEnvelope = Type.Object({
  ...succeeded,
  userId: Type.String(),
  sessions: sessionList,
  nextCursor,
})
export type SessionListEnvelope = Wire<typeof sessionListEnvelope>
export const { parse: parseSessionListEnvelope, is: isSessionListEnvelope } = sent(sessionListEnvelope)

/** ALX-SESS-08. */
export const sessionTimelineEnvelope = Type.Object({
  ...succeeded,
  sessionId: id,
  userId: Type.String(),
  status,
  summary: Type.Optional(sessionSummary),
  timeline: sessionTimeline,
  nextCursor,
})
export type SessionTimelineEnvelope = Wire<typeof sessionTimelineEnvelope>
export const { parse: parseSessionTimelineEnvelope, is: isSessionTimelineEnvelope } = sent(sessionTimelineEnvelope)
