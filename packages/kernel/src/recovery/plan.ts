// Steps 1 to 4 of recovery (W-REC-11): what has to be written, in order. Each step is decided on the state of its
// moment, so that taking one twice does nothing.
import type { CheckpointId, EnvelopeId, SignalId, Ticks, WorkspaceId } from '@parley/core'
import type { SignalType } from '@parley/trail/events'
import { countTimers } from '../due/due.ts'
import { type Envelope, inboxSize, onItsWay } from '../envelope/envelope.ts'
import type { Run } from '../run/run.ts'
import { ended } from '../workspace/workspace.ts'
import { halfApplied } from './half-applied.ts'
import type { ResolvedGate, Trace } from './trace.ts'

export interface RecoveryPlan {
  /** Each is carried out whole before the next one begins. Timers come last of all and are asked for by the clock. */
  readonly phases: readonly (readonly RecoveryStep[])[]
  readonly open: readonly WorkspaceId[]
  readonly signals: number
  readonly timers: number
  readonly examined: number
  readonly quarantined: number
  readonly lost: number
}

export function planRecovery(run: Run, trace: Trace): RecoveryPlan {
  const quarantined = [...run.quarantined.values()]
  const signals = waitingSignals(run)
  return {
    phases: [
      quarantined.filter(each => !each.recorded).map(({ entry }) => ({ type: 'quarantine', entry }) as const),
      migrationsOf(run, trace),
      halfApplied(run, trace),
      envelopesOf(run),
      [...idleWithMail(run), ...signalsOf(trace, signals)],
    ],
    open: [...run.workspaces.values()].filter(each => !ended(each)).map(each => each.id),
    signals: signals.length,
    timers: countTimers(run),
    examined: trace.examined,
    quarantined: quarantined.length,
    lost: quarantined.filter(each => each.type === 'workspace_created').length,
  }
}

/** W-REC-24. One whose `failed` signal is on record is finished by that (W-REC-16). */
function migrationsOf(run: Run, trace: Trace): readonly RecoveryStep[] {
  const failing = (id: WorkspaceId) => trace.driving.get(id)?.some(({ type }) => type === 'failed') ?? false
  return [...run.workspaces.values()]
    .filter(each => (each.migration || each.status === 'migrating') && !ended(each) && !failing(each.id))
    .flatMap(({ id: workspace, status }) => {
      const step = { type: 'migration', workspace } as const
      return status === 'migrating' ? [step] : [step, step]
    })
}

/** W-REC-17, in order of creation, which is the order of every channel (W-REC-19). */
function envelopesOf(run: Run): readonly RecoveryStep[] {
  const waits = (envelope: Envelope) =>
    onItsWay(envelope) || (envelope.status === 'delivered' && !endedReceiver(run, envelope))
  return [...run.envelopes.values()]
    .filter(waits)
    .toSorted((one, other) => one.seq - other.seq)
    .map(({ id }) => ({ type: 'envelope', envelope: id }) as const)
}

function endedReceiver(run: Run, { to }: Envelope): boolean {
  const receiver = run.workspaces.get(to)
  return !receiver || ended(receiver)
}

/** W-REC-16: mail arrived, and the workspace has not left `idle`. */
function idleWithMail(run: Run): readonly RecoveryStep[] {
  return [...run.workspaces.values()]
    .filter(each => each.status === 'idle' && inboxSize(each.inbox) > 0)
    .map(({ id: workspace }) => ({ type: 'first_envelope', workspace }) as const)
}

interface Waiting {
  readonly step: RecoveryStep
  readonly seq: number
}

/** W-REC-18: whoever they are for is not terminal, since what waits for the terminal is dropped. */
function waitingSignals(run: Run): readonly Waiting[] {
  return [...run.signalling].flatMap(from =>
    (from.waiting ?? []).map(({ id, to, seq }) => ({ step: { type: 'signal', signal: id, to } as const, seq })),
  )
}

/** In order of emission; what a signal causes comes before its own delivery. */
function signalsOf(trace: Trace, signals: readonly Waiting[]): readonly RecoveryStep[] {
  const driving = [...trace.driving.values()]
    .flat()
    .map(signal => ({ step: { type: 'drive', signal } as const, seq: signal.seq }))
  return [...driving, ...signals].toSorted((one, other) => one.seq - other.seq).map(({ step }) => step)
}

export type RecoveryStep =
  /** An entry that replay left out is on record as such (W-REC-13). */
  | { readonly type: 'quarantine'; readonly entry: string }
  /** A migration that a stop left open or half ended (W-REC-24). */
  | { readonly type: 'migration'; readonly workspace: WorkspaceId }
  | HalfApplied
  /** Accepted and not placed, or placed and not acknowledged (W-REC-17). */
  | { readonly type: 'envelope'; readonly envelope: EnvelopeId }
  /** A signal whose transition may be missing (W-REC-16). */
  | { readonly type: 'drive'; readonly signal: DrivingSignal }
  /** Emitted and not delivered (W-REC-18). */
  | { readonly type: 'signal'; readonly signal: SignalId; readonly to: WorkspaceId }
  /** The marker with its eight numbers (W-REC-22); `floor` is the newest moment that was on record before. */
  | { readonly type: 'completed'; readonly counts: Omit<RecoveryCounts, 'downtime'>; readonly floor: Ticks }

/** W-REC-24: decisions of which only the first part is on record. */
export type HalfApplied =
  /** In one batch, so that what follows the end of one gate is not taken for the effect of another. */
  | { readonly type: 'gate_effects'; readonly resolved: readonly ResolvedGate[] }
  | { readonly type: 'abort'; readonly workspace: WorkspaceId; readonly by: string }
  | { readonly type: 'close'; readonly workspace: WorkspaceId; readonly by: string }
  | { readonly type: 'cascade'; readonly workspace: WorkspaceId }
  | { readonly type: 'checkpoint_signal'; readonly checkpoint: CheckpointId }
  | { readonly type: 'initial_rights'; readonly workspace: WorkspaceId }
  /** It has mail and is still idle (W-REC-16). */
  | { readonly type: 'first_envelope'; readonly workspace: WorkspaceId }
  | { readonly type: 'task_status'; readonly workspace: WorkspaceId; readonly reason: string | undefined }

export interface DrivingSignal {
  readonly id: SignalId
  readonly from: WorkspaceId
  readonly type: Extract<SignalType, 'started' | 'blocked' | 'complete' | 'failed'>
  readonly reason: string | undefined
  readonly ref: string | undefined
  readonly actor: string
  readonly seq: number
}

export interface RecoveryCounts {
  readonly downtime: number
  readonly workspaces_recovered: number
  readonly workspaces_failed: number
  readonly envelopes_redelivered: number
  readonly signals_requeued: number
  readonly timers_reconstructed: number
  readonly trail_entries_examined: number
  readonly quarantined_entries: number
}
