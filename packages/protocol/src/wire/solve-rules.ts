// What must hold between the members of a solve's answer (ALX-SOLVE-05 to -09, -16), for the side that makes it.
import type { Problem } from '../schema/problems.ts'
import { artifactProblem } from './artifact.ts'
import type { ExecutionInfo, SolveResponse } from './solve.ts'

/** The outcome matrix: what each status of the execution says of the answer (ALX-SOLVE-09). */
const OUTCOMES: Readonly<Record<ExecutionInfo['status'], { ok: boolean; success: boolean; finished: boolean }>> = {
  completed: { ok: true, success: true, finished: true },
  planned: { ok: true, success: true, finished: true },
  awaiting_approval: { ok: true, success: false, finished: false },
  running: { ok: true, success: false, finished: false },
  failed: { ok: false, success: false, finished: true },
}

export function executionProblem(execution: ExecutionInfo, path = ''): Problem | undefined {
  const { status, sessionId, startedAt, finishedAt, durationMs, dryRun } = execution
  const { finished } = OUTCOMES[status]
  return firstOf([
    [(finishedAt !== null) === finished, `${path}finishedAt`, `must ${finished ? 'not ' : ''}be null while ${status}`],
    [durationMs === between(startedAt, finishedAt), `${path}durationMs`, 'must be finishedAt − startedAt'],
    [sessionId !== null || dryRun, `${path}sessionId`, 'may be null for a dry run only'],
    [status !== 'planned' || dryRun, `${path}dryRun`, 'must be true while planned'],
  ])
}

function between(startedAt: string, finishedAt: string | null): number | null {
  return finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt)
}

/** ALX-SOLVE-07. */
export function stepsProblem({ steps }: Pick<SolveResponse, 'steps'>): Problem | undefined {
  const at = steps.findIndex((step, index) => step.index !== index)
  if (at >= 0) return { path: `steps[${at}].index`, issue: `must be ${at}` }
  const twice = steps.findIndex((step, index) => steps.findIndex(other => other.stepId === step.stepId) !== index)
  return twice < 0 ? undefined : { path: `steps[${twice}].stepId`, issue: 'must be unique in the run' }
}

export function solveProblem(response: SolveResponse): Problem | undefined {
  const { ok, success, executionId, artifact, confidence, result, execution, learning } = response
  const { status } = execution
  const outcome = OUTCOMES[status]
  const known = artifact !== null
  return (
    firstOf([
      [ok === outcome.ok, 'ok', `must be ${outcome.ok} while ${status}`],
      [success === outcome.success, 'success', `must be ${outcome.success} while ${status}`],
      [execution.executionId === executionId, 'execution.executionId', 'must equal executionId'],
      [known === (confidence !== null), 'confidence', 'must be null if and only if artifact is null'],
      [known || !needsArtifact(response), 'artifact', `must not be null while ${status}`],
      [!known || response.error?.code !== 'NO_ARTIFACT_SELECTED', 'artifact', 'must be null: none was selected'],
      [status !== 'completed' || result !== null, 'result', 'must not be null when completed'],
      [result === null || (ok && success), 'result', `must be null while ${status}`],
      [learning === null || status === 'completed', 'learning', 'must be null unless completed'],
    ]) ??
    (artifact && artifactProblem(artifact, 'artifact.')) ??
    aliasProblem(response)
  )
}

function needsArtifact({ execution, error }: SolveResponse): boolean {
  if (execution.status === 'running') return false
  return error?.code !== 'NO_ARTIFACT_SELECTED' && error?.code !== 'INTERNAL_ERROR'
}

/** An alias that is emitted equals what it repeats. */
function aliasProblem(response: SolveResponse): Problem | undefined {
  const { improvement, confidenceScore, reason, cached, fallbackUsed, idempotencyKey, selectMeta } = response
  const either = (value: unknown, holds: boolean) => value === undefined || holds
  return firstOf([
    [
      either(improvement, improvement === (response.learning?.improvement ?? null)),
      'improvement',
      'must equal learning.improvement',
    ],
    [either(confidenceScore, confidenceScore === response.confidence), 'confidenceScore', 'must equal confidence'],
    [either(reason, typeof reason === 'string'), 'reason', 'must be text'],
    [either(cached, typeof cached === 'boolean'), 'cached', 'must be a boolean'],
    [
      either(fallbackUsed, fallbackUsed === response.execution.attempt > 0),
      'fallbackUsed',
      'must be execution.attempt > 0',
    ],
    [either(idempotencyKey, typeof idempotencyKey === 'string'), 'idempotencyKey', 'must be text'],
    [either(selectMeta, typeof selectMeta === 'object' && selectMeta !== null), 'selectMeta', 'must be an object'],
    [response.ok || either(response.code, response.code === response.error.code), 'code', 'must equal error.code'],
  ])
}

function firstOf(checks: readonly (readonly [holds: boolean, path: string, issue: string])[]): Problem | undefined {
  const broken = checks.find(([holds]) => !holds)
  return broken && { path: broken[1], issue: broken[2] }
}
