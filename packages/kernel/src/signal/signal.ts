// The eleven signals (W-SIG-01): their effect on state, their emission and delivery (W-SIG-03 to -11).
import type { SignalId, WorkspaceId } from '@parley/core'
import type { SignalType, WorkspaceState } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Trigger } from '../lifecycle/states.ts'
import { knownWorkspace } from '../run/run.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'

interface SignalRule {
  readonly reasonRequired: boolean
  readonly moves: { readonly [From in WorkspaceState]?: WorkspaceState }
  readonly trigger?: Trigger
  /** Emitted by the runtime for an operation; from the coordinator it is that operation (W-SIG-05). */
  readonly operation?: 'integrate' | 'suspend' | 'migrate'
}

const NOTHING: SignalRule = { reasonRequired: false, moves: {} }

/** W-SIG-01. `started` leaves `idle` only where W-LIFE-06 allows it, which the rule for leaving `idle` checks. */
export const SIGNAL_RULES: { readonly [T in SignalType]: SignalRule } = {
  ready: NOTHING,
  started: {
    reasonRequired: false,
    moves: { blocked: 'active', idle: 'active' },
    trigger: 'agent_started',
  },
  blocked: { reasonRequired: true, moves: { active: 'blocked' }, trigger: 'agent_blocked' },
  checkpoint: NOTHING,
  complete: { reasonRequired: false, moves: { active: 'integrating' }, trigger: 'agent_complete' },
  failed: {
    reasonRequired: true,
    moves: { idle: 'failed', active: 'failed', blocked: 'failed' },
    trigger: 'agent_failed',
  },
  integrate: { ...NOTHING, operation: 'integrate' },
  acknowledged: NOTHING,
  escalation: { reasonRequired: true, moves: {} },
  suspend: { ...NOTHING, operation: 'suspend' },
  migrate: { ...NOTHING, operation: 'migrate' },
}

export interface WaitingSignal {
  readonly id: SignalId
  readonly to: WorkspaceId
  /** It goes to the parent, whoever that is; receipts and notices go to the sender of an envelope (W-SIG-04). */
  readonly upward: boolean
  readonly type: SignalType
  readonly reason: string | undefined
  readonly ref: string | undefined
  readonly seq: number
}

export type KnownSignals = Map<SignalId, WorkspaceId>

/** The notice of W-ENV-15; it never changes a state. */
export const DELIVERY_EXHAUSTED = 'delivery_exhausted'

export interface Emitted {
  readonly id: SignalId
  readonly from: Workspace
  readonly to: Workspace | undefined
}

interface Emission {
  readonly type: SignalType
  readonly actor: string
  readonly reason?: string | undefined
  readonly ref?: string | undefined
  readonly mode?: 'salvage'
  readonly to?: Workspace | undefined
}

export function writeEmitted(batch: Batch, from: Workspace, emission: Emission): Emitted {
  const id = batch.newId<SignalId>('sig')
  const { type, actor, reason, ref, mode } = emission
  const gone = batch.isEnded(from)
  batch.add('signal_emitted', from, actor, {
    signal_id: id,
    from: from.id,
    type,
    ...(reason !== undefined && { reason }),
    ...(ref !== undefined && { ref }),
    ...(mode && { mode }),
    timestamp: batch.at,
  })
  const to = 'to' in emission ? emission.to : (batch.parentOf(from) ?? undefined)
  return { id, from, to: gone ? undefined : to }
}

export function writeDelivered(batch: Batch, { id, from, to }: Emitted): void {
  if (!to || batch.context.carriesSignals || batch.isEnded(to)) return
  if (!takesSignals(to, to.status, to === batch.parentOf(from))) return
  // Order of emission: nothing overtakes what already waits (W-SIG-06).
  if (from.waiting?.some(signal => signal.to === to.id)) return
  writeDelivery(batch, id, from, to)
}

export function writeDelivery(batch: Batch, id: SignalId, from: Workspace, to: Workspace): void {
  batch.add('signal_delivered', to, 'protocol', {
    signal_id: id,
    from: from.id,
    delivered_to: to.id,
    delivered_at: batch.at,
  })
}

/** a parent other than the root takes none while it is blocked; nobody does while suspended or migrating. */
export function takesSignals(to: Workspace, status: WorkspaceState, fromChild: boolean): boolean {
  if (isRoot(to)) return true
  return status !== 'suspended' && status !== 'migrating' && !(status === 'blocked' && fromChild)
}

export function writeReleased(batch: Batch, to: Workspace, status: WorkspaceState): void {
  if (batch.context.carriesSignals) return
  const waiting = [...batch.run.signalling]
    .flatMap(from => (from.waiting ?? []).map(signal => ({ from, signal })))
    .filter(({ from, signal }) => signal.to === to.id && takesSignals(to, status, to === from.parent))
    .toSorted((one, other) => one.signal.seq - other.signal.seq)
  for (const { from, signal } of waiting) writeDelivery(batch, signal.id, from, to)
}

/** The oldest waiting signal of each pair that could be delivered now: for a transport that carries them. */
export function* deliverableSignals(
  run: Batch['run'],
): Generator<{ id: SignalId; from: Workspace; to: Workspace; seq: number }> {
  for (const from of run.signalling) {
    const seen = new Set<string>()
    for (const signal of from.waiting ?? []) {
      if (seen.has(signal.to)) continue
      seen.add(signal.to)
      const to = knownWorkspace(run, signal.to)
      if (takesSignals(to, to.status, to === from.parent)) yield { id: signal.id, from, to, seq: signal.seq }
    }
  }
}
