// What recovery (W-REC-11 to -18, -22), the end of degraded mode (W-REC-09) and the coordinator's own report of a
// systemic problem (W-REC-04, -05) write.
import {
  assertNever,
  compile,
  durationMs,
  type EnvelopeId,
  ok,
  type Result,
  type Timestamp,
  Type,
  type WorkspaceId,
} from '@parley/core'
import { bodyLimits, COORDINATOR_ACTIONS, DEGRADED_SCOPES, type EventBody } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { channelHead, decideArrival } from '../envelope/deliver.ts'
import { onItsWay } from '../envelope/envelope.ts'
import { PROOF_ALGORITHM } from '../integrity/keyed.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { writeUndelivered } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, notFound } from '../refusal.ts'
import { knownWorkspace, workspaceOf } from '../run/run.ts'
import { decideSignalArrival, writeDriven } from '../signal/decide.ts'
import { writeInterrupted } from '../workspace/migrate.ts'
import { ended, isRoot, type Workspace } from '../workspace/workspace.ts'
import { writeHalfApplied } from './half-applied.ts'
import type { RecoveryStep } from './plan.ts'

export function decideRecover(batch: Batch, step: RecoveryStep): Result<boolean> {
  const { run } = batch
  switch (step.type) {
    case 'quarantine':
      writeQuarantined(batch, step.entry)
      return ok(false)
    case 'migration': {
      const workspace = run.workspaces.get(step.workspace)
      if (workspace) writeInterrupted(batch, workspace)
      return ok(false)
    }
    case 'envelope':
      return ok(writeEnvelope(batch, step.envelope))
    case 'drive': {
      const from = run.workspaces.get(step.signal.from)
      if (from && !ended(from)) writeDriven(batch, from, step.signal)
      return ok(false)
    }
    case 'signal': {
      const receiver = run.workspaces.get(step.to)
      // One that has arrived meanwhile is no repetition by a transport.
      if (receiver && !receiver.known?.has(step.signal)) decideSignalArrival(batch, step.signal, receiver)
      return ok(batch.entries.length > 0)
    }
    case 'completed':
      batch.add('recovery_completed', null, 'protocol', {
        downtime: Math.max(0, durationMs(step.floor, batch.context.now)),
        ...step.counts,
        // A run of an older version, whose first entry says nothing: from here on its objects are proven.
        ...(batch.context.proofs && !run.contentProven && { content_proof: PROOF_ALGORITHM }),
      })
      return ok(false)
    case 'gate_effects':
    case 'abort':
    case 'close':
    case 'cascade':
    case 'checkpoint_signal':
    case 'initial_rights':
    case 'first_envelope':
    case 'task_status':
      writeHalfApplied(batch, step)
      return ok(false)
    default:
      return assertNever(step)
  }
}

/** W-REC-13: once for each, whatever happened to the recovery that found it first. */
function writeQuarantined(batch: Batch, id: string): void {
  const quarantined = batch.run.quarantined.get(id)
  if (!quarantined || quarantined.recorded) return
  batch.add('integrity_violation', null, 'protocol', {
    subject_type: 'trail_entry',
    subject_id: id,
    violation: 'chain_broken',
    expected: clipped(quarantined.expected),
    actual: clipped(quarantined.actual),
    action_taken: 'quarantined',
  })
}

function clipped(text: string | null): string | null {
  return text === null ? null : clip(text, bodyLimits.digestLength)
}

/** W-REC-17: looks at the target as it is now. Rights are not checked again. */
function writeEnvelope(batch: Batch, id: EnvelopeId): boolean {
  const { run } = batch
  const envelope = run.envelopes.get(id)
  if (!envelope) return false
  const receiver = knownWorkspace(run, envelope.to)
  if (onItsWay(envelope)) {
    if (STATE_RULES[receiver.status].mail === 'refused') {
      writeUndelivered(batch, envelope, receiver.status as EventBody<'envelope_undeliverable'>['reason'])
      return false
    }
    // Held, behind a gate, or behind an envelope that is: it waits as before.
    if (channelHead(run, envelope.from, envelope.to) !== envelope) return false
  } else if (envelope.status !== 'delivered') return false
  decideArrival(batch, id)
  return batch.entries.length > 0
}

/** W-REC-09: the first entry that can be written again says since when none could. */
export function decideDegradedOver(batch: Batch, from: Timestamp, reason: string): Result<void> {
  batch.add('system_degraded', null, 'protocol', {
    reason: clip(reason, kernelLimits.reasonLength),
    scope: 'trail_storage',
    affected_workspaces: [],
    coordinator_action: 'wait',
    degraded_from: from,
    degraded_to: batch.at,
  })
  return ok(undefined)
}

const validator = compile(
  Type.Object({
    reason: Type.String({ minLength: 1 }),
    scope: Type.Enum([...DEGRADED_SCOPES]),
    action: Type.Enum([...COORDINATOR_ACTIONS]),
    workspaces: Type.Optional(Type.Array(Type.String(), { maxItems: kernelLimits.reportedWorkspaces })),
  }),
  { name: 'report' },
)

export function decideReportDegraded(
  batch: Batch,
  caller: Workspace,
  report: {
    readonly reason: unknown
    readonly scope: unknown
    readonly action: unknown
    readonly workspaces?: unknown
  },
): Result<void> {
  if (!isRoot(caller))
    return batch.denyOperation(caller, 'report_degraded', {
      message: 'The coordinator alone judges the state of the whole system.',
    })
  const { reason, scope, action, workspaces = [] } = report
  const checked = validator.check({ reason, scope, action, workspaces })
  if (!checked.ok) return invalidArgument(checked.error.message)
  const affected: WorkspaceId[] = []
  for (const id of checked.value.workspaces ?? []) {
    const workspace = workspaceOf(batch.run, id)
    if (!workspace) return notFound('workspace', id)
    affected.push(workspace.id)
  }
  batch.add('system_degraded', null, actorOf(caller), {
    reason: clip(checked.value.reason, kernelLimits.reasonLength),
    scope: checked.value.scope,
    affected_workspaces: affected,
    coordinator_action: checked.value.action,
  })
  return ok(undefined)
}
