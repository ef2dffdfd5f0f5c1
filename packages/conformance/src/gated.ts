// What scenarios about people share: runs one after the other under different highways, gates that are answered, rows
// of their entries.
import type { Kit } from './kit.ts'
import type { Expected, Row } from './rows.ts'
import { must } from './stage.ts'

/** The six, closed (W-HWY-03). */
export const GATE_TYPES = [
  'task_approval',
  'workspace_create',
  'envelope_delivery',
  'integration',
  'conflict_resolution',
  'workspace_abort',
] as const
export type GateType = (typeof GATE_TYPES)[number]

/** What one needs to answer every gate of one's own (W-HWY-23). */
export const ANSWERING = ['create_workspace', 'inject_directive', 'approve_integration', 'abort_own'] as const

/** A highway on which only this gate is on; it waits without end unless a time is given. */
export function only(type: GateType, more: { timeout?: number | null; fallback?: string } = {}): object {
  return {
    gates: { task_approval: false, [type]: true },
    gate_defaults: { timeout: null, fallback: 'reject', ...more },
  }
}

/** Another run of the same system, its root in `active`; calls and rows are about it from here on. */
export async function another(kit: Kit, highway: unknown): Promise<void> {
  must(await kit.start({ highway }), 'Starting another run')
  await kit.emit('R', 'started')
  await kit.mark()
}

/** Approves whatever waits, and what comes to wait by that. */
export async function approveAll(kit: Kit, user = 'ux'): Promise<void> {
  for (;;) {
    await kit.settle()
    const [gate] = await kit.do('runtime', 'list_gates')
    if (gate === undefined) return
    await kit.do(user, 'answer_gate', { gate: gate.id, action: 'approve' })
  }
}

/** The workspace that was created last, with a name. */
export async function lastMade(kit: Kit, name: string, parent = 'R'): Promise<void> {
  await kit.settle()
  const made = (await kit.entries()).filter(entry => entry.event_type === 'workspace_created')
  kit.adopt(String(made.at(-1)?.body.workspace_id), name, parent)
}

/** An active worker of a run in which creations or letters wait. */
export async function approvedWorker(
  kit: Kit,
  name: string,
  draft: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const directive = { format: 'markdown', content: 'work' }
  kit.gate(await kit.call('R', 'create_workspace', { role: 'worker', directive, ...draft }), `made ${name}`)
  await approveAll(kit)
  await lastMade(kit, name)
  await kit.do(name, 'consume_envelope')
  await kit.mark()
}

/** `gate_triggered` with everything that it says (W-HWY-04). */
export function triggered(
  gate: string,
  type: GateType,
  under: string | null,
  more: Readonly<Record<string, Expected>> = {},
): Row {
  const subject = (value: unknown) => {
    const { kind, id, digest } = (value ?? {}) as Readonly<Record<string, unknown>>
    return [kind, id, digest].every(each => typeof each === 'string' && each !== '')
  }
  return [
    'gate_triggered',
    under,
    'protocol',
    { gate_id: gate, gate_type: type, subject, workspace: under, task_ref: null, graph_ref: null, ...more },
  ]
}

/** `gate_resolved`; who decided stands in the header and in the body (W-HWY-24). */
export function resolved(
  gate: string,
  type: GateType,
  under: string | null,
  action: string,
  actor: string,
  more: Readonly<Record<string, Expected>> = {},
): Row {
  return ['gate_resolved', under, actor, { gate_id: gate, gate_type: type, action, actor, ...more }]
}

/** A gate whose subject is gone. What it was about may be terminal, and then it is filed under nobody. */
export function invalidated(gate: string, type: GateType, under: string | null): Row {
  return resolved(gate, type, under, 'reject', 'protocol', { reason: 'subject_invalidated' })
}

export function expired(gate: string, type: GateType, under: string | null, fallback: string, timeout: number): Row {
  const elapsed = (value: unknown) => typeof value === 'number' && value >= timeout
  return ['gate_timeout', under, 'fallback', { gate_id: gate, gate_type: type, fallback_action: fallback, elapsed }]
}
