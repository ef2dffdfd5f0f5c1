// How gates end (W-HWY-07, -09, -10): first the record, then the ordinary operation with all its checks.
import { durationMs, type GateId, ok, type Result } from '@parley/core'
import { type Capability, GATE_ACTIONS, type GateType } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { authorizeUser, inactiveUser } from '../user/authorize.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'
import { carryOut, drop, type Ending } from './effect.ts'
import {
  type Gate,
  type GateOutcome,
  modeOf,
  noteResult,
  type Resolution,
  workspaceOfGate,
  writeResolved,
} from './gate.ts'
import { changesTo } from './modify.ts'
import { addresseeOf } from './subject.ts'

export interface GateAnswer {
  readonly gate: unknown
  readonly action: unknown
  readonly modifications?: unknown
  readonly reason?: unknown
}

/** W-HWY-23: what it takes to answer, for what is the user's own and for everything. */
const CAPABILITIES: { readonly [Type in GateType]: { readonly own: Capability; readonly any: Capability } } = {
  task_approval: { own: 'create_workspace', any: 'create_workspace_any' },
  workspace_create: { own: 'create_workspace', any: 'create_workspace_any' },
  envelope_delivery: { own: 'inject_directive', any: 'inject_directive_any' },
  integration: { own: 'approve_integration', any: 'approve_integration_any' },
  conflict_resolution: { own: 'approve_integration', any: 'approve_integration_any' },
  workspace_abort: { own: 'abort_own', any: 'abort_any' },
}

/** W-HWY-07, in its order: active, capability and scope, pending, action, modifications. */
export function decideResolveGate(batch: Batch, user: string, answer: GateAnswer): Result<GateOutcome> {
  const gate = batch.run.gates.get(answer.gate as GateId)
  const denied = gate ? authorizeAnswer(batch, user, gate) : denyInactive(batch, user, answer.gate)
  if (denied) return denied
  if (!gate) return notPending(answer.gate)
  const action = GATE_ACTIONS.find(each => each === answer.action)
  if (!action) return invalidArgument(`A gate is answered by one of ${GATE_ACTIONS.join(', ')}.`)
  const { reason } = answer
  if (reason !== undefined && !isText(reason, kernelLimits.reasonLength))
    return invalidArgument(`The reason is a text of 1 to ${kernelLimits.reasonLength} characters.`)
  if (action !== 'modify') {
    if (answer.modifications !== undefined)
      return invalidArgument("Only 'modify' changes anything.", 'modification_not_allowed')
    return ok(writeEnd(batch, gate, { action, actor: user, reason }))
  }
  const changed = changesTo(batch, gate, answer.modifications, user)
  if (!changed.ok) return changed
  return ok(writeEnd(batch, gate, { action, actor: user, reason, modifications: changed.value }))
}

/** Owners and capabilities may have changed since the gate opened. */
function authorizeAnswer(batch: Batch, user: string, gate: Gate) {
  return authorizeUser(batch, user, {
    ...CAPABILITIES[gate.type],
    action: 'resolve_gate',
    target: gate.id,
    owned: addresseeOf(batch.run, batch.context.users, gate) === user,
  })
}

/** Of a gate that is over nobody knows what it would have taken to answer it. */
function denyInactive(batch: Batch, user: string, gate: unknown) {
  const message = inactiveUser(batch, user)
  if (message === undefined) return undefined
  return batch.denyUser(user, {
    capability: 'operation:resolve_gate',
    action: 'resolve_gate',
    ...(typeof gate === 'string' && { target: gate.slice(0, 64) }),
    reason: 'user_not_active',
    message,
  })
}

function notPending(gate: unknown): Result<never> {
  const id = typeof gate === 'string' ? gate.slice(0, 80) : ''
  return invalidState(`The gate ${id} does not wait: it has ended, or there never was one.`, 'gate_not_pending')
}

/** The coordinator's answer to a gate that its fallback handed over (W-HWY-10). */
export function decideAnswerGate(batch: Batch, caller: Workspace, id: unknown, action: unknown): Result<GateOutcome> {
  if (!isRoot(caller))
    return batch.denyOperation(caller, 'answer_gate', {
      message: `The ${caller.role} in ${caller.id} answers no gates; the coordinator does.`,
    })
  const gate = batch.run.gates.get(id as GateId)
  if (!gate) return notPending(id)
  if (gate.handedOver === undefined)
    return batch.denyOperation(caller, 'answer_gate', {
      target: gate.id,
      reason: 'not_permitted',
      code: 'invalid_state',
      message: `The gate ${gate.id} waits for ${gate.addressee}, not for the coordinator.`,
    })
  if (action !== 'approve' && action !== 'reject')
    return invalidArgument('The coordinator approves or rejects; it changes nothing.')
  return ok(writeEnd(batch, gate, { action, actor: actorOf(caller), reason: 'coordinator_decision' }))
}

/** Its time is over: the fallback acts (W-HWY-09), or the coordinator's silence counts as a rejection (W-HWY-10). */
export function writeGateDue(batch: Batch, gate: Gate): void {
  if (gate.handedOver !== undefined) {
    writeEnd(batch, gate, { action: 'reject', actor: 'fallback', reason: 'coordinator_no_decision' })
    return
  }
  batch.add('gate_timeout', workspaceOfGate(batch.run, gate), 'fallback', {
    gate_id: gate.id,
    gate_type: gate.type,
    fallback_action: gate.fallback,
    elapsed: Math.max(0, durationMs(gate.opened, batch.context.now)),
    ...modeOf(gate.paused),
  })
  if (gate.fallback !== 'escalate_to_coordinator') writeEnd(batch, gate, { action: gate.fallback, actor: 'fallback' })
}

function writeEnd(batch: Batch, gate: Gate, resolution: Resolution): GateOutcome {
  writeResolved(batch, gate, resolution)
  const effect = writeGateEffect(batch, gate, resolution)
  if (effect) noteResult(batch, gate, effect)
  return batch.gatesEnded.get(gate.id)!
}

/** What follows from the end of a gate; recovery calls it where a trail lacks just that (W-REC-24). */
export function writeGateEffect(batch: Batch, gate: Gate, ending: Ending): Result<unknown> | undefined {
  if (ending.action !== 'reject') return carryOut(batch, gate.paused, ending)
  // Who closed it as invalid dealt with what follows.
  if (ending.actor !== 'protocol') drop(batch, gate.paused, ending.actor)
  return undefined
}
