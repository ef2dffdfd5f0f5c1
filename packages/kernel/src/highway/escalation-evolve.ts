// What the entries and objects of escalations do to the state.
import { invariant, parseTimestamp, type SignalId, type WorkspaceId } from '@parley/core'
import type { Folds, Run } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { AnswerRecord } from './answer.ts'

export const escalationFolds: Folds = {
  escalation_received(run, body, entry) {
    const received = parseTimestamp(entry.timestamp)
    invariant(received !== undefined, 'a recorded timestamp is well-formed')
    const signal = body.signal_id as SignalId
    const workspace = body.workspace as WorkspaceId
    const { reason, queued } = body
    run.escalations.set(signal, { signal, workspace, reason, received, queued, answer: undefined })
  },
  escalation_resolved(run, body) {
    run.escalations.delete(body.signal_id as SignalId)
  },
}

export function answerEscalation(run: Run, { signal, user, envelope }: AnswerRecord): void {
  const escalation = run.escalations.get(signal)
  if (escalation) escalation.answer = { user, envelope }
}

/** The envelope will never arrive: the question waits again. */
export function answerLost(run: Run, envelope: string): void {
  for (const escalation of run.escalations.values())
    if (escalation.answer?.envelope === envelope) escalation.answer = undefined
}

export function dropEscalations(run: Run, workspace: Workspace): void {
  for (const { signal, workspace: from } of run.escalations.values())
    if (from === workspace.id) run.escalations.delete(signal)
}
