// What signal entries do to the state: who waits for a signal, and which ones arrived.
import type { EnvelopeId, SignalId, WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { countSignal } from '../budget/charge.ts'
import { kernelLimits } from '../limits.ts'
import { type Folds, knownWorkspace, type Run } from '../run/run.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import { DELIVERY_EXHAUSTED, type WaitingSignal } from './signal.ts'

export const signalFolds: Folds = {
  signal_emitted(run, body, entry) {
    const from = knownWorkspace(run, body.from)
    if (body.type === 'ready') from.ready = true
    if (isReceipt(body.type, entry.actor)) {
      const envelope = run.envelopes.get(body.ref as EnvelopeId)
      if (envelope?.status === 'delivered') envelope.status = 'acknowledged'
    }
    // A late signal is filed under no workspace and goes to nobody (W-SIG-10).
    if (entry.workspace === null) return
    const to = destination(run, from, body, entry.actor)
    if (to === undefined || ended(to)) return
    from.waiting ??= []
    from.waiting.push({
      id: body.signal_id as SignalId,
      to: to.id,
      upward: goesUp(body, entry.actor),
      type: body.type,
      reason: body.reason,
      ref: body.ref,
      seq: run.seq,
    })
    run.signalling.add(from)
  },

  signal_delivered(run, body) {
    const from = knownWorkspace(run, body.from)
    const to = knownWorkspace(run, body.delivered_to)
    const id = body.signal_id as SignalId
    const index = from.waiting?.findIndex(signal => signal.id === id) ?? -1
    const [signal] = index < 0 ? [] : from.waiting!.splice(index, 1)
    if (signal && run.counting) countSignal(run, from, signal)
    if (from.waiting?.length === 0) forget(run, from)
    remember(to, id, from.id)
  },
}

/** W-SIG-11: nothing is delivered to an ended workspace; signals of its living children wait for their fate. */
export function dropSignals(run: Run, receiver: Workspace): void {
  for (const emitter of run.signalling) {
    const survives = emitter.parent === receiver && !ended(emitter)
    keep(run, emitter, signal => signal.to !== receiver.id || survives)
  }
  // A workspace that fell with its parent has no other.
  if (receiver.parent && ended(receiver.parent)) keep(run, receiver, signal => signal.to !== receiver.parent?.id)
}

/** W-SIG-11: what a workspace sent to its parent goes to the new one. */
export function rerouteSignals(run: Run, from: Workspace, old: Workspace, parent: Workspace): void {
  const moved = from.waiting?.map(signal =>
    signal.upward && signal.to === old.id ? { ...signal, to: parent.id } : signal,
  )
  from.waiting = moved
  keep(run, from, signal => signal.to !== old.id || !ended(old))
}

function keep(run: Run, from: Workspace, wanted: (signal: WaitingSignal) => boolean): void {
  if (!from.waiting) return
  from.waiting = from.waiting.filter(wanted)
  if (from.waiting.length === 0) forget(run, from)
}

function forget(run: Run, from: Workspace): void {
  from.waiting = undefined
  run.signalling.delete(from)
}

/** W-SIG-04: receipts and notices of the runtime go to the envelope's sender, every other signal to the parent. */
function destination(
  run: Run,
  from: Workspace,
  body: EventBody<'signal_emitted'>,
  actor: string,
): Workspace | undefined {
  if (goesUp(body, actor)) return from.parent ?? undefined
  const envelope = run.envelopes.get(body.ref as EnvelopeId)
  if (!envelope || envelope.from === from.id) return undefined
  return run.workspaces.get(envelope.from)
}

function goesUp(body: EventBody<'signal_emitted'>, actor: string): boolean {
  const notice = actor === 'protocol' && body.type === 'failed' && body.reason === DELIVERY_EXHAUSTED
  return !notice && !isReceipt(body.type, actor)
}

/** The coordinator may emit `acknowledged` by hand; only the runtime's own is a receipt. */
function isReceipt(type: string, actor: string): boolean {
  return type === 'acknowledged' && actor === 'protocol'
}

function remember(to: Workspace, id: SignalId, from: WorkspaceId): void {
  to.known ??= new Map()
  to.known.set(id, from)
  if (to.known.size <= kernelLimits.knownSignals) return
  const oldest = to.known.keys().next()
  if (!oldest.done) to.known.delete(oldest.value)
}
