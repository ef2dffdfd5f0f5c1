// How a session stands (ALX-SESS-03 to -05, -13): it mirrors its latest run, a reset, and the time that has passed.
import type { SessionStatus } from '@alx/protocol'
import type { RunFold } from '../run/fold.ts'
import { statusOf } from '../server/response.ts'
import type { RunSummary, Session, SessionItem } from './session-index.ts'

export interface RunState {
  readonly status: 'running' | 'awaiting_approval' | 'completed' | 'failed'
  /** When it last changed. */
  readonly at: string
  readonly progress: number | null
  readonly code?: string | undefined
  readonly suggestion?: string | undefined
  readonly approval?: string | undefined
  readonly artifactId: string | null
}

export interface SessionState {
  readonly status: SessionStatus
  readonly progress: number | null
  readonly nextStep: string | null
  readonly updatedAt: string
}

export function runState(fold: RunFold): RunState {
  const { events, error, open, finishedAt } = fold
  return {
    status: statusOf(fold),
    at: finishedAt ?? events.at(-1)!.timestamp,
    progress: progressOf(fold),
    code: error?.code,
    suggestion: error?.suggestion,
    approval: open?.id,
    artifactId: fold.chosen?.artifact.artifactId ?? null,
  }
}

export function summaryOf(fold: RunFold): RunSummary | undefined {
  const { finishedAt, error } = fold
  if (finishedAt === null) return undefined
  const { code, suggestion, artifactId, progress } = runState(fold)
  return { finishedAt, ok: error === undefined, code, suggestion, artifactId, progress }
}

export function stateOfSummary({ finishedAt, ok, ...summary }: RunSummary): RunState {
  return { ...summary, status: ok ? 'completed' : 'failed', at: finishedAt }
}

/** ALX-SESS-05: of the latest attempt. */
function progressOf(fold: RunFold): number | null {
  const steps = fold.steps.filter(({ attempt }) => attempt === fold.attempt)
  if (steps.length === 0) return null
  if (statusOf(fold) === 'completed') return 1
  return steps.filter(({ told }) => told === 'completed' || told === 'skipped').length / steps.length
}

/** `latest`: the state of the session's latest run, if it has one. */
export function sessionState(
  session: Session,
  latest: RunState | undefined,
  now: string,
  abandonAfterMs: number,
): SessionState {
  const isReset = latestIs(session.items, 'reset')
  const recorded = millis(session.items.at(-1)?.at ?? session.createdAt)
  const updatedAt = latest !== undefined && latest.at > recorded ? latest.at : recorded
  const status = isReset || !latest ? 'active' : STATUS[latest.status]
  const waits = status === 'paused' || (status === 'active' && latest?.status !== 'running')
  const abandoned = waits && Date.parse(now) - Date.parse(updatedAt) >= abandonAfterMs
  const state = { updatedAt, progress: isReset ? 0 : (latest?.progress ?? null) }
  if (abandoned) return { ...state, status: 'abandoned', nextStep: 'A new solve opens the session again.' }
  return { ...state, status, nextStep: isReset ? null : nextStepOf(latest) }
}

const STATUS = {
  running: 'active',
  awaiting_approval: 'paused',
  completed: 'completed',
  failed: 'failed',
} as const satisfies Readonly<Record<RunState['status'], SessionStatus>>

function nextStepOf(latest: RunState | undefined): string | null {
  if (latest?.status === 'awaiting_approval') return `Decide about the approval ${latest.approval}.`
  if (latest?.status !== 'failed') return null
  return latest.suggestion ?? `The latest run failed with ${latest.code}; look at its error and solve again.`
}

/** Whether the last that happened to the working context, a run or a reset, is this. */
function latestIs(items: readonly SessionItem[], kind: 'reset' | 'run'): boolean {
  return items.findLast(item => item.kind === 'run' || item.kind === 'reset')?.kind === kind
}

/** A moment of the trail as ALX writes it. */
export function millis(at: string): string {
  return at.length > 24 ? `${at.slice(0, 23)}Z` : at
}
