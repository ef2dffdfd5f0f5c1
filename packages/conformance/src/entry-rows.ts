// Rows that many scenarios expect, in the words of the sheets: SC is a state change, emit and deliver are a signal's
// two entries.
import type { Expected, Row } from './rows.ts'

type Fields = Readonly<Record<string, unknown>>

/** SC(W: from→to, trigger). By the runtime where nothing else is said; a failure's reason is its trigger. */
export function SC(
  workspace: string,
  from: string,
  to: string,
  trigger: Expected,
  more: Fields & { readonly actor?: string } = {},
): Row {
  const { actor = 'protocol', ...fields } = more
  const reason = to === 'failed' ? { reason: trigger } : {}
  const body = { workspace_id: workspace, from_state: from, to_state: to, trigger, ...reason, ...fields }
  return ['workspace_state_changed', workspace, actor, body]
}

/** `signal_emitted`; its id is bound to `more.signal_id` where one is given. */
export function emit(type: string, from: string, actor: string, more: Fields = {}): Row {
  return ['signal_emitted', from, actor, { from, type, ...more }]
}

export function deliver(from: string, to: string, more: Fields = {}): Row {
  return ['signal_delivered', to, 'protocol', { from, delivered_to: to, ...more }]
}

/** A signal of a worker that reaches its parent: emitted, then delivered, with one id. */
export function signalled(
  id: string,
  type: string,
  from: string,
  to: string,
  actor = 'worker',
  more: Fields = {},
): readonly [Row, Row] {
  const signal_id = `?${id}`
  return [emit(type, from, actor, { signal_id, ...more }), deliver(from, to, { signal_id })]
}

// Mail

export function created(
  envelope: string,
  from: string,
  to: string,
  type: string,
  more: Fields & { readonly actor?: string } = {},
): Row {
  const { actor = from === 'R' ? 'system' : 'worker', ...fields } = more
  return ['envelope_created', from, actor, { envelope_id: envelope, from, to, type, ...fields }]
}

export function delivered(envelope: string, from: string, to: string): Row {
  return ['envelope_delivered', to, 'protocol', { envelope_id: envelope, from, to }]
}

export function redelivered(envelope: string, from: string, to: string): Row {
  return ['envelope_redelivered', to, 'protocol', { envelope_id: envelope, from, to }]
}

/** The receipt (W-ENV-09): emitted at the receiver, delivered to the sender. */
export function receipt(envelope: string, from: string, to: string): readonly [Row, Row] {
  return [emit('acknowledged', to, 'protocol', { ref: envelope }), deliver(to, from)]
}

/** Accepted, placed, acknowledged. */
export function arrived(envelope: string, from: string, to: string, type: string, more: Fields = {}): readonly Row[] {
  return [created(envelope, from, to, type, more), delivered(envelope, from, to), ...receipt(envelope, from, to)]
}

export function rejected(from: string | null, reason: string, more: Fields = {}): Row {
  return ['envelope_rejected', from, 'protocol', { reason, ...more }]
}

export function undeliverable(envelope: string, from: string, to: string, reason: string): Row {
  return ['envelope_undeliverable', from, 'protocol', { envelope_id: envelope, from, to, reason }]
}

// Rights

export function right(
  type: string,
  holder: string,
  target: string,
  more: Fields & { readonly actor?: string } = {},
): Row {
  const { actor = 'system', ...fields } = more
  return ['port_right_created', holder, actor, { right_type: type, holder, target, ...fields }]
}

// Refusals

/** What an agent was denied (W-ROLE-13). */
export function denied(
  workspace: string | null,
  actor: string,
  capability: string,
  reason = 'permission_denied',
  more: Fields = {},
): Row {
  return ['capability_denied', workspace, actor, { user_id: null, capability, reason, ...more }]
}

/** What a user was denied. */
export function deniedUser(user: string, capability: Expected, reason: string, more: Fields = {}): Row {
  return ['capability_denied', null, user, { user_id: user, capability, reason, ...more }]
}

/** What does not reach a user: no act of theirs, so that the runtime says it (W-HWY-21). */
export function unreceived(user: string, reason: string, more: Fields = {}): Row {
  const [type, filed, , body] = deniedUser(user, 'receive_escalation', reason, more)
  return [type, filed, 'protocol', { ...body, action: 'escalation_delivery' }]
}

export function notCreated(by: string, reason: string): Row {
  return ['workspace_rejected', by, 'protocol', { reason }]
}

export function noCheckpoint(
  workspace: string,
  reason: string,
  more: Fields & { readonly under?: string | null } = {},
): Row {
  const { under = workspace, ...fields } = more
  return ['checkpoint_rejected', under, 'protocol', { workspace, reason, ...fields }]
}

// Tasks

export function taskStatus(task: string, from: string, to: string, actor = 'protocol', more: Fields = {}): Row {
  return ['task_status_changed', 'R', actor, { task_id: task, from_status: from, to_status: to, ...more }]
}

/** How a task leaves `draft` where no gate is configured (W-TASK-05). */
export function autoApproved(task: string): readonly [Row, Row] {
  const body = { task_id: task, approval_source: 'timeout-auto-approve' }
  return [['task_approved', 'R', 'fallback', body], taskStatus(task, 'draft', 'pending', 'fallback')]
}

/**
 * The failure of a workspace: its signal, its state, and the signal at its parent. The signal's actor is the
 * coordinator or the runtime unless an agent is named by its role (W-LIFE-10).
 */
export function failure(
  workspace: string,
  from: string,
  trigger: string,
  more: {
    readonly actor?: string
    readonly signal?: string
    readonly parent?: string
    readonly reason?: unknown
  } = {},
): readonly [Row, Row, Row] {
  const { actor = 'protocol', parent = 'R', reason = trigger } = more
  const { signal = actor === 'system' ? 'system' : 'protocol' } = more
  return [
    emit('failed', workspace, signal, { reason }),
    SC(workspace, from, 'failed', trigger, { actor }),
    deliver(workspace, parent),
  ]
}
