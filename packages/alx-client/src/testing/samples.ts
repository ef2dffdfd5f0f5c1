// Messages of runs as a server sends them.
import type { RunEvent, SolveResponse } from '@alx/protocol'
import { PROTOCOL } from './http-server.ts'

export const CALL = { intent: { verb: 'deploy', target: 'api', domain: 'engineering' } }
export const HASH = `0x${'ab'.repeat(32)}`
const time = (seconds: number) => `2026-11-19T10:00:0${seconds}.000Z`
const error = { type: 'execution', code: 'EXECUTION_FAILED', message: 'Step 1 failed: ä 😀', retryable: false }
const artifact = {
  artifactId: HASH,
  kbHash: HASH,
  type: 'practice',
  domain: 'ops',
  tier: null,
  sources: [],
  origin: 'selected' as const,
}

/** How a run of these samples goes: to its end, to a failure, or over an approval. */
export type Course = 'completed' | 'failed' | 'approved'

export function eventsOf(runId: string, course: Course): RunEvent[] {
  const common = { runId, timestamp: time(1), correlationId: 'req_1', sessionId: 'ses_1' }
  const step = { stepId: 'step_0', index: 0 }
  const approval = { approvalId: 'gate_1', reason: 'It deploys: ä 😀 \u2028', expiresAt: null }
  const events = [
    { type: 'run.started', protocol: PROTOCOL },
    { type: 'step.started', ...step },
    ...(course === 'approved' ? [{ type: 'approval.required', ...step, stepId: 'step_0', approval }] : []),
    course === 'failed' ? { type: 'step.failed', ...step, error } : { type: 'step.completed', ...step },
    course === 'failed'
      ? { type: 'run.failed', ok: false, protocol: PROTOCOL, error }
      : { type: 'run.completed', ok: true, protocol: PROTOCOL },
  ]
  return events.map((event, index) => ({ ...common, seq: index + 1, ...event }) as RunEvent)
}

export function responseOf(runId: string, status: SolveResponse['execution']['status']): SolveResponse {
  const over = status === 'completed' || status === 'failed' || status === 'planned'
  const execution = {
    executionId: runId,
    sessionId: 'ses_1',
    status,
    startedAt: time(0),
    finishedAt: over ? time(2) : null,
    durationMs: over ? 2000 : null,
    dryRun: status === 'planned',
    forced: false,
    attempt: 0,
  }
  const common = {
    correlationId: 'req_1',
    protocol: PROTOCOL,
    executionId: runId,
    artifact,
    confidence: 0.8,
    execution,
  }
  const rest = { ...common, steps: [], learning: null }
  if (status === 'failed') return { ok: false, success: false, ...rest, result: null, error }
  const success = status === 'completed' || status === 'planned'
  return { ok: true, success, ...rest, result: status === 'completed' ? 'Done: ä 😀' : null }
}
