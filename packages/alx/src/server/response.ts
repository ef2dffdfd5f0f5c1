// The answer about a run in whatever state it is (ALX-SOLVE-04, -09): made of its fold alone, but for what was learned.
import { ERRORS, type ErrorCode, type LearningInfo, type ProtocolError } from '@alx/protocol'
import type { SolveFacts } from '../run/facts.ts'
import type { RunFold } from '../run/fold.ts'
import { shownStep } from '../run/steps.ts'
import type { Answer } from './answer.ts'

export interface ResponseParts {
  readonly learning: LearningInfo | null
  readonly aliases: boolean
  readonly replayed?: boolean
}

export function runAnswer(fold: RunFold, { learning, aliases, replayed = false }: ResponseParts): Answer {
  const { error, chosen, result, run } = fold
  const status = statusOf(fold)
  const completed = status === 'completed'
  const body = {
    success: completed,
    executionId: run.runId,
    artifact: chosen?.artifact ?? null,
    result: completed ? result : null,
    confidence: chosen?.confidence ?? null,
    execution: executionOf(fold, status),
    steps: fold.steps.map(shownStep),
    learning: completed ? learning : null,
    ...(error && { error }),
  }
  return { status: httpOf(status, error), body: aliases ? { ...body, ...aliasesOf(fold, body, replayed) } : body }
}

export function statusOf({ finishedAt, error, open }: RunFold) {
  if (finishedAt !== null) return error ? 'failed' : 'completed'
  return open ? 'awaiting_approval' : 'running'
}

type Status = ReturnType<typeof statusOf> | 'planned'

export function httpOf(status: Status, error: ProtocolError | undefined): number {
  if (error) return ERRORS[error.code as ErrorCode].http[0]
  return status === 'awaiting_approval' ? 202 : 200
}

function executionOf({ run, events, finishedAt, attempt }: RunFold, status: Status) {
  const startedAt = events[0]!.timestamp
  return {
    executionId: run.runId,
    sessionId: run.facts.session,
    status,
    startedAt,
    finishedAt,
    durationMs: finishedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt),
    dryRun: false,
    forced: run.facts.forced,
    attempt,
  }
}

/** ALX-SOLVE-16: repeated for convenience, equal to what they repeat. */
function aliasesOf(
  { run: { facts }, attempt }: RunFold,
  body: { readonly learning: LearningInfo | null; readonly confidence: number | null; readonly error?: ProtocolError },
  replayed: boolean,
) {
  const { error, learning, confidence } = body
  return {
    improvement: learning?.improvement ?? null,
    confidenceScore: confidence,
    reason: reasonOf(facts),
    fallbackUsed: attempt > 0,
    selectMeta: facts.selection,
    ...(replayed && { cached: true }),
    ...(facts.key !== undefined && { idempotencyKey: facts.key }),
    ...(error && { code: error.code }),
  }
}

export function reasonOf({ refusal, attempts, forced }: Pick<SolveFacts, 'refusal' | 'attempts' | 'forced'>): string {
  if (refusal) return refusal.message
  const [first] = attempts
  if (!first) return 'Nothing was selected.'
  const made =
    first.artifact.origin === 'generated' ? 'The plan of the team is the artifact' : 'It fits the intent best'
  return forced ? `${made}; its confidence is below the limit, and the caller insisted.` : `${made}.`
}
