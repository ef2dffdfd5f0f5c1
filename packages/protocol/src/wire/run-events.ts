// Run events: live and fine-grained, with ISO timestamps (ALX-RUN-01, -02, -07).
import { Type } from 'typebox'
import { VOCABULARY } from '../schema/modes.ts'
import { id, integer, iso, nullable, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'
import { RUN_EVENT_TYPES, type RunEventType } from '../vocabulary.ts'
import { artifactProblem, solveArtifact } from './artifact.ts'
import { correlationId, protocolError, protocolInfo, succeeded } from './envelope.ts'

const event = <T extends RunEventType>(type: T) => ({
  type: Type.Literal(type),
  runId: id,
  seq: integer(1),
  timestamp: iso,
  correlationId,
  sessionId: id,
})
const ofStep = { stepId: id, index: integer(0) }
const maybeOfStep = { stepId: Type.Optional(id) }
const approval = Type.Object({ approvalId: id, reason: Type.String(), expiresAt: nullable(iso) })

/** In `read`, an event of an unknown `type` fits too: nothing but its `type` is known of it (ALX-RUN-10). */
export const runEvent = Type.Union(
  [
    Type.Object({ ...event('run.started'), protocol: protocolInfo }),
    Type.Object({ ...event('step.started'), ...ofStep }),
    Type.Object({ ...event('step.completed'), ...ofStep }),
    Type.Object({ ...event('step.failed'), ...ofStep, error: protocolError }),
    Type.Object({ ...event('step.skipped'), ...ofStep, reason: Type.Optional(Type.String()) }),
    Type.Object({ ...event('artifact.created'), ...maybeOfStep, artifact: solveArtifact }),
    Type.Object({ ...event('approval.required'), ...maybeOfStep, approval }),
    Type.Object({ ...event('run.completed'), ok: Type.Literal(true), protocol: protocolInfo }),
    Type.Object({ ...event('run.failed'), ok: Type.Literal(false), protocol: protocolInfo, error: protocolError }),
  ],
  { [VOCABULARY]: RUN_EVENT_TYPES },
)
export type RunEvent = Wire<typeof runEvent>
export const { parse: parseRunEvent, is: isRunEvent } = sent(runEvent, {
  emit: event => (event.type === 'artifact.created' ? artifactProblem(event.artifact, 'artifact.') : undefined),
})

export const runEventsEnvelope = Type.Object({ ...succeeded, runId: id, events: Type.Array(runEvent) })
export type RunEventsEnvelope = Wire<typeof runEventsEnvelope>
export const { parse: parseRunEventsEnvelope, is: isRunEventsEnvelope } = sent(runEventsEnvelope)
