// What waits for an answer of a person, as hosts show it (W-HWY-21, -22).
import { formatTimestamp, type SignalId, type Timestamp, type WorkspaceId } from '@parley/core'
import type { EscalationFallback } from '@parley/trail/events'
import type { UserDirectory } from '../../batch.ts'
import { availability, type Escalation, escalationDeadline } from '../../highway/escalation.ts'
import { knownWorkspace, type Run } from '../../run/run.ts'

export interface EscalationView {
  readonly signal: SignalId
  readonly workspace: WorkspaceId
  readonly reason: string
  readonly received: Timestamp
  /** When the fallback acts; null where it waits without end. */
  readonly deadline: Timestamp | null
  readonly fallback: EscalationFallback
  readonly addressee: string
  /** The addressee is away and gets it on return. */
  readonly queued: boolean
  /** The addressee is deactivated: nobody can answer it as its owner. */
  readonly rejected: boolean
  readonly answered: boolean
}

export function viewEscalations(run: Run, users: UserDirectory | undefined): readonly EscalationView[] {
  return Object.freeze([...run.escalations.values()].map(each => viewEscalation(run, users, each)))
}

function viewEscalation(run: Run, users: UserDirectory | undefined, escalation: Escalation): EscalationView {
  const { signal, workspace, reason, received, answer } = escalation
  const deadline = escalationDeadline(run, escalation)
  const addressee = knownWorkspace(run, workspace).owner
  const standing = availability(users, addressee)
  return Object.freeze({
    signal,
    workspace,
    reason,
    received: formatTimestamp(received),
    deadline: deadline === undefined ? null : formatTimestamp(deadline),
    fallback: run.highway.escalation.fallback,
    addressee,
    queued: standing === 'away',
    rejected: standing === 'gone',
    answered: answer !== undefined,
  })
}
