// Gates as hosts read them: what waits, with its whole subject, and how one ended.
import { asParleyError, err, type GateId, type ObjectId, ok, type Result } from '@parley/core'
import type { Entry } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { UserDirectory } from '../../batch.ts'
import type { GateOutcome, GateRecord } from '../../highway/gate.ts'
import { type GateView, viewGates } from '../../highway/view.ts'
import { deepFreeze } from '../../plain.ts'
import { invalidArgument, invalidState, notFound } from '../../refusal.ts'
import type { RunHandle } from './run-handle.ts'

export async function readGates(run: RunHandle, users: UserDirectory | undefined): Promise<readonly GateView[]> {
  const waiting = await run.read(state => viewGates(state, users))
  const read = await Promise.all(waiting.map(each => withSubject(run, each)))
  return read.flatMap(each => (each.ok ? [each.value] : []))
}

export async function readGate(
  run: RunHandle,
  users: UserDirectory | undefined,
  id: GateId,
): Promise<Result<GateView>> {
  const waiting = await run.tryRead(state => viewGates(state, users).find(each => each.id === id))
  if (!waiting.ok) return waiting
  if (waiting.value) return withSubject(run, waiting.value)
  return invalidState(`The gate ${id} does not wait: it has ended, or there never was one.`, 'gate_not_pending')
}

async function withSubject(run: RunHandle, gate: Omit<GateView, 'subject'>): Promise<Result<GateView>> {
  const stored = await run.object(gate.id as string as ObjectId)
  if (!stored.ok) return err(stored.error)
  if (!stored.value) return notFound('subject of the gate', gate.id)
  return ok(deepFreeze({ ...gate, subject: (stored.value.value as GateRecord).subject }))
}

/** Waits until the gate has ended. Of one that had ended before, the effect is not known any more. */
export async function settled(run: RunHandle, id: GateId, signal?: AbortSignal): Promise<Result<GateOutcome>> {
  const ending = Promise.withResolvers<Result<GateOutcome>>()
  const off = run.subscribe(notice => {
    if (notice.kind !== 'gate_ended' || notice.gate !== id) return
    const { kind: _kind, to: _to, ...outcome } = notice
    ending.resolve(ok(outcome))
  })
  const stop = () => ending.resolve(invalidArgument('Waiting for the gate was given up.', 'aborted'))
  signal?.addEventListener('abort', stop)
  try {
    if (signal?.aborted) stop()
    else if (!(await run.read(state => state.gates.has(id)))) return ended(await run.entries(), id)
    return await ending.promise
  } catch (cause) {
    return err(asParleyError(cause))
  } finally {
    off()
    signal?.removeEventListener('abort', stop)
  }
}

function ended(entries: readonly Entry[], id: GateId): Result<GateOutcome> {
  const entry = entries.findLast(
    ({ event_type, body }) => event_type === 'gate_resolved' && (body as EventBody<'gate_resolved'>).gate_id === id,
  )
  if (!entry) return notFound('gate', id)
  const { gate_type: type, action, actor, reason } = entry.body as EventBody<'gate_resolved'>
  return ok({ gate: id, type, action, actor, reason, asked: undefined, result: undefined })
}
