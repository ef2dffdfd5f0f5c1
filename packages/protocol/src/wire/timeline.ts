// Timeline events of a session: historical and coarser, with epoch milliseconds (ALX-TL-01 to -04).
import { Type } from 'typebox'
import { VOCABULARY } from '../schema/modes.ts'
import { epochMs, id, integer, nullable, oneOf, someText, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'
import { EXECUTION_STATUSES, SESSION_TIMELINE_EVENT_TYPES, type SessionTimelineEventType } from '../vocabulary.ts'
import { protocolError } from './envelope.ts'

const event = <T extends SessionTimelineEventType>(type: T) => ({
  type: Type.Literal(type),
  timestamp: epochMs,
  eventId: id,
  seq: integer(1),
  sessionId: id,
  summary: someText,
})
const ofRun = { executionId: id }
const ofNoRun = { executionId: Type.Null() }
/** ALX-TL-03 says what is in it; what more there may be is up to the server. */
const data = <P extends Parameters<typeof Type.Object>[0]>(members: P) =>
  Type.Optional(Type.Object(members, { additionalProperties: true }))
const noData = data({})
const artifactId = Type.String()

/** In `read`, an event of an unknown `type` fits too: nothing but its `type` is known of it (ALX-TL-06). */
export const sessionTimelineEvent = Type.Union(
  [
    Type.Object({
      ...event('execution'),
      ...ofRun,
      ok: Type.Boolean(),
      data: data({
        status: oneOf(EXECUTION_STATUSES),
        confidence: nullable(Type.Number()),
        artifactId: nullable(artifactId),
      }),
    }),
    Type.Object({
      ...event('step'),
      ...ofRun,
      stepId: id,
      stepStatus: oneOf(['completed', 'skipped']),
      data: noData,
    }),
    Type.Object({
      ...event('step'),
      ...ofRun,
      stepId: id,
      stepStatus: Type.Literal('failed'),
      error: protocolError,
      data: noData,
    }),
    Type.Object({
      ...event('fallback'),
      ...ofRun,
      data: data({ fromArtifactId: artifactId, toArtifactId: artifactId, reason: Type.String() }),
    }),
    Type.Object({ ...event('error'), ...ofRun, error: protocolError, data: noData }),
    Type.Object({ ...event('reset'), ...ofNoRun, data: data({ contextCleared: Type.Literal(true) }) }),
    Type.Object({
      ...event('fork'),
      ...ofNoRun,
      data: data({ forkedSessionId: Type.Optional(id), parentSessionId: Type.Optional(id) }),
    }),
  ],
  { [VOCABULARY]: SESSION_TIMELINE_EVENT_TYPES },
)
export type SessionTimelineEvent = Wire<typeof sessionTimelineEvent>
export const { parse: parseSessionTimelineEvent, is: isSessionTimelineEvent } = sent(sessionTimelineEvent)

export const sessionTimeline = Type.Array(sessionTimelineEvent)
export type SessionTimeline = Wire<typeof sessionTimeline>
export const { parse: parseSessionTimeline, is: isSessionTimeline } = sent(sessionTimeline)
