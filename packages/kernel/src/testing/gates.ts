// Gates for tests: a gate by the id that an operation was answered with, all six types in one run, and the entries that
// gates leave, as rows.
import { type GateId, type Result, type TaskId, unwrap } from '@parley/core'
import type { GateType } from '@parley/trail/events'
import type { HighwayConfiguration } from '../highway/config.ts'
import { completedOn, overlap } from './conflicts.ts'
import { type Fixture, type Row, refused } from './fixture.ts'

/** One gate type on and all others off; no timeout unless it is given. */
export function only(type: GateType, choice: HighwayConfiguration['gate_defaults'] = {}): HighwayConfiguration {
  return {
    gates: { task_approval: false, [type]: true },
    gate_defaults: { timeout: null, fallback: 'reject', ...choice },
  }
}

/** The gate that an operation waits at; named `name`. */
export function gateOf(f: Fixture, result: Result<unknown>, name = 'G1'): GateId {
  const value = result.ok ? (result.value as { readonly gate?: GateId }).gate : undefined
  const gate = value ?? (result.ok ? undefined : (result.error.details.gate as GateId | undefined))
  if (gate === undefined) throw new Error(`This waits at no gate: ${refused(result)}`)
  f.name(gate, name)
  return gate
}

/** The newest gates that wait, named G1, G2, … in order of opening. */
export async function waiting(f: Fixture): Promise<readonly GateId[]> {
  const ids = await f.run.read(run => [...run.gates.keys()])
  for (const [index, id] of ids.entries()) f.name(id, `G${index + 1}`)
  return ids
}

/**
 * A transition of each type, asked for by the coordinator: what it answers, and the workspace that its gate is filed
 * under.
 */
export type Ask = (f: Fixture) => Promise<{ readonly result: Result<unknown>; readonly under: string | null }>

/** Prepares a run for each transition; nothing of it is gated by the type that is then asked for. */
export const TRANSITIONS: { readonly [Type in GateType]: Ask } = {
  async task_approval(f) {
    const result = await f.root.submitGraph([{ name: 'T', description: 'do it', priority: 'elevated' }])
    if (result.ok) {
      f.name(result.value.graph, 'graph')
      f.name(result.value.tasks[0] as TaskId, 'T')
    }
    return { result, under: null }
  },
  async workspace_create(f) {
    const directive = { format: 'markdown', content: 'work' }
    return { result: await f.root.createWorkspace({ role: 'worker', directive }), under: 'R' }
  },
  async envelope_delivery(f) {
    const result = await f.root.send(f.mail('W', 'feedback'))
    if (result.ok) f.name(result.value.envelope, 'E')
    return { result, under: 'W' }
  },
  async integration(f) {
    return { result: await f.root.beginIntegration(f.id('I')), under: 'I' }
  },
  async conflict_resolution(f) {
    const conflict = await f.run.read(run => run.workspaces.get(f.id('X'))!.conflicts![0]!.id)
    const result = await f.root.resolveConflict(f.id('X'), conflict, 'coordinator_resolve', 'keep both')
    return { result, under: 'X' }
  },
  async workspace_abort(f) {
    return { result: await f.root.abort(f.id('W')), under: 'W' }
  },
}

/** What a transition needs: W at work, I completed, X conflicted. The run must not gate what this takes. */
export async function prepare(f: Fixture, type: GateType): Promise<void> {
  // Its first letter would wait as well.
  if (type === 'envelope_delivery') await f.workspace('W')
  if (type === 'workspace_abort') await f.worker('W')
  if (type === 'integration') await completedOn(f, { I: ['f'] })
  if (type === 'conflict_resolution') {
    await completedOn(f, { X: ['f'] })
    unwrap(await f.root.beginIntegration(f.id('X'), 'evaluated'))
    for (const id of unwrap(await f.root.reportConflicts(f.id('X'), [overlap]))) f.name(id, 'X1')
  }
  await f.mark()
}

// Rows

export function triggered(gate: string, type: GateType, under: string | null, body: object = {}): Row {
  return ['gate_triggered', under, 'protocol', { gate_id: gate, gate_type: type, ...body }]
}

export function ended(
  gate: string,
  type: GateType,
  under: string | null,
  action: string,
  actor: string,
  extra: object = {},
): Row {
  return ['gate_resolved', under, actor, { gate_id: gate, gate_type: type, action, actor, ...extra }]
}

export function expired(
  gate: string,
  type: GateType,
  under: string | null,
  fallback_action: string,
  elapsed: number,
): Row {
  return ['gate_timeout', under, 'fallback', { gate_id: gate, gate_type: type, fallback_action, elapsed }]
}

/** Approves whatever waits, until nothing does. */
export async function approveAll(f: Fixture, user = 'ux'): Promise<void> {
  for (;;) {
    await f.settle()
    const [gate] = await f.run.read(run => [...run.gates.keys()])
    if (gate === undefined) return
    unwrap(await f.runtime.user(user).approve(f.run.id, gate))
  }
}
