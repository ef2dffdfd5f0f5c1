// What signal entries do to the state: who waits for a signal, and which ones arrived.
import type { EnvelopeId, SignalId, WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Folds } from '../fold.ts'
import { kernelLimits } from '../limits.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import { DELIVERY_EXHAUSTED } from './signal.ts'

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
    if (index >= 0) from.waiting?.splice(index, 1)
    if (from.waiting?.length === 0) {
      from.waiting = undefined
      run.signalling.delete(from)
    }
    remember(to, id, from.id)
  },
}

/** W-SIG-04: receipts and notices of the runtime go to the envelope's sender, every other signal to the parent. */
function destination(
  run: Run,
  from: Workspace,
  body: EventBody<'signal_emitted'>,
  actor: string,
): Workspace | undefined {
  const notice = actor === 'protocol' && body.type === 'failed' && body.reason === DELIVERY_EXHAUSTED
  if (!notice && !isReceipt(body.type, actor)) return from.parent ?? undefined
  const envelope = run.envelopes.get(body.ref as EnvelopeId)
  if (!envelope || envelope.from === from.id) return undefined
  return run.workspaces.get(envelope.from)
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
