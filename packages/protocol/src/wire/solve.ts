// The answer to a solve and to every later read of its run (ALX-SOLVE-04 to -09, -16).
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { fraction, id, integer, iso, nullable, oneOf, text, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'
import { EXECUTION_STATUSES } from '../vocabulary.ts'
import { solveArtifact } from './artifact.ts'
import { failed, protocolError, succeeded } from './envelope.ts'
import { executionProblem, solveProblem, stepsProblem } from './solve-rules.ts'

export const executionInfo = Type.Object({
  executionId: id,
  sessionId: nullable(id),
  status: oneOf(EXECUTION_STATUSES),
  startedAt: iso,
  finishedAt: nullable(iso),
  durationMs: nullable(integer(0)),
  dryRun: Type.Boolean(),
  forced: Type.Boolean(),
  attempt: integer(0),
})
export type ExecutionInfo = Wire<typeof executionInfo>
export const { parse: parseExecutionInfo, is: isExecutionInfo } = sent(executionInfo, { emit: executionProblem })

const step = {
  stepId: id,
  index: integer(0),
  attempt: integer(0),
  name: text(limits.stepNameLength),
  startedAt: nullable(iso),
  finishedAt: nullable(iso),
}
export const executionStep = Type.Union([
  Type.Object({ ...step, status: oneOf(['pending', 'running']) }),
  Type.Object({ ...step, status: Type.Literal('completed'), output: Type.Optional(Type.Unknown()) }),
  Type.Object({ ...step, status: Type.Literal('skipped'), reason: Type.Optional(Type.String()) }),
  Type.Object({ ...step, status: Type.Literal('failed'), error: protocolError }),
])
export type ExecutionStep = Wire<typeof executionStep>
export const { parse: parseExecutionStep, is: isExecutionStep } = sent(executionStep)

export const learningInfo = Type.Object({
  eligible: Type.Boolean(),
  feedbackId: nullable(id),
  recordedAt: nullable(iso),
  improvement: nullable(Type.Number({ minimum: -1, maximum: 1 })),
})
export type LearningInfo = Wire<typeof learningInfo>
export const { parse: parseLearningInfo, is: isLearningInfo } = sent(learningInfo)

/** Members that repeat others for convenience. Nobody's answer is refused for one of them (ALX-SOLVE-16). */
const alias = Type.Optional(Type.Unknown())
const aliases = {
  improvement: alias,
  confidenceScore: alias,
  reason: alias,
  cached: alias,
  fallbackUsed: alias,
  idempotencyKey: alias,
  selectMeta: alias,
}

const run = {
  executionId: id,
  artifact: nullable(solveArtifact),
  result: nullable(Type.String()),
  confidence: nullable(fraction),
  execution: executionInfo,
  steps: Type.Array(executionStep),
  learning: nullable(learningInfo),
  ...aliases,
}
/** The answer once a run exists; what was refused before has a `ProtocolErrorEnvelope`. */
export const solveResponse = Type.Union([
  Type.Object({ ...succeeded, success: Type.Boolean(), ...run }),
  Type.Object({ ...failed, success: Type.Literal(false), ...run, code: alias }),
])
export type SolveResponse = Wire<typeof solveResponse>
export const { parse: parseSolveResponse, is: isSolveResponse } = sent(solveResponse, {
  emit: response =>
    executionProblem(response.execution, 'execution.') ?? stepsProblem(response) ?? solveProblem(response),
})
