// The steps of a run: tasks of its plan as the trail shows them, and what events have said of them so far.
import type { ExecutionStep, ProtocolError } from '@alx/protocol'
import type { StoredStep } from './facts.ts'

export interface StepState {
  readonly stored: StoredStep
  readonly attempt: number
  readonly index: number
  /** What the trail says: another try at a task that failed does not take back that it began. */
  phase: 'waiting' | 'begun' | 'failed' | 'done'
  begunAt: string
  endedAt: string
  /** What events have said. */
  told: 'pending' | 'running' | 'completed' | 'failed' | 'skipped'
  startedAt: string | null
  finishedAt: string | null
  reason: string | undefined
  error: ProtocolError | undefined
}

export function newStep(stored: StoredStep, attempt: number, index: number): StepState {
  return {
    stored,
    attempt,
    index,
    phase: 'waiting',
    begunAt: '',
    endedAt: '',
    told: 'pending',
    startedAt: null,
    finishedAt: null,
    reason: undefined,
    error: undefined,
  }
}

export function shownStep(step: StepState): ExecutionStep {
  const { stored, index, attempt, told, startedAt, finishedAt, reason, error } = step
  const name = stored.name.slice(0, 256)
  const shown = { stepId: stored.stepId, index, attempt, name, startedAt, finishedAt }
  if (told === 'failed') return { ...shown, status: told, error: error! }
  if (told === 'skipped') return { ...shown, status: told, ...(reason !== undefined && { reason }) }
  return { ...shown, status: told }
}
