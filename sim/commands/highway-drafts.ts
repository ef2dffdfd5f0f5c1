// What runs are started with, and what people hand in: configurations of the highway, answers, changes, limits. Mostly
// sensible, often enough wrong.
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import type { GateModel } from '../model/records.ts'
import type { Dice } from '../random.ts'
import { PEERS } from '../world/config.ts'
import { budgetDraft, payload } from './drafts.ts'

type Draft = Record<string, unknown>

const TIMES = { short: 2000, medium: 5000 }

export function runDraft(dice: Dice): Draft {
  const draft: Draft = { highway: highwayDraft(dice), owner: dice.pick(['ux', 'ux', 'ux', 'uy']) }
  if (dice.chance(0.05)) draft.owner = dice.pick(['uz', 'nobody', 'system', 'worker', undefined])
  if (dice.chance(0.6)) draft.taxonomy = PEERS
  if (dice.chance(0.2)) draft.budget_warning = dice.pick([50, 90, 100])
  if (dice.chance(0.03)) draft.taxonomy = { id: 'broken' }
  if (dice.chance(0.03)) draft.nonsense = true
  if (dice.chance(0.02)) draft.budget_warning = 0
  return draft
}

function highwayDraft(dice: Dice): unknown {
  if (dice.chance(0.03)) return dice.pick(['wild', { gates: { nothing: true } }, { gate_defaults: { timeout: 0 } }, 7])
  if (dice.chance(0.25)) return 'off'
  const preset = dice.pick(['autonomous', 'supervised', 'gated'] as const)
  if (dice.chance(0.15)) return preset
  if (dice.chance(0.4)) return { preset, times: TIMES }
  const gates = Object.fromEntries(GATE_TYPES.filter(() => dice.chance(0.6)).map(type => [type, dice.chance(0.5)]))
  const overrides = GATE_TYPES.filter(() => dice.chance(0.3)).map(type => [type, choice(dice)])
  return {
    ...(dice.chance(0.6) && { preset }),
    times: TIMES,
    gates,
    gate_defaults: choice(dice),
    gate_overrides: Object.fromEntries(overrides),
    injection: dice.chance(0.85),
    visibility: dice.chance(0.8),
    escalation: {
      enabled: dice.chance(0.85),
      timeout: dice.pick([null, 800, 4000]),
      fallback: dice.pick(['approve', 'reject', 'delegate_to_coordinator']),
    },
  }
}

function choice(dice: Dice): Draft {
  return {
    ...(dice.chance(0.8) && { timeout: dice.pick([null, 500, 3000, 20_000]) }),
    ...(dice.chance(0.7) && { fallback: dice.pick(['approve', 'reject', 'escalate_to_coordinator']) }),
  }
}

/** Changes that a human asks for at a gate. */
export function modifications(dice: Dice, run: RunModel, gate: GateModel | undefined): Draft {
  if (!gate || dice.chance(0.15)) return dice.pick<Draft>([{}, { owner: 'uy' }, { strategy: 'magic' }])
  const changes: { readonly [Type in GateType]: () => Draft } = {
    task_approval: () => dice.pick([{ priority: 'urgent' }, { name: 'another name' }, { description: 'other words' }]),
    workspace_create: () =>
      dice.pick([
        { priority: 'critical' },
        { budget: budgetDraft(dice) },
        { visibility: [...run.workspaces.keys()].slice(0, 1) },
      ]),
    envelope_delivery: () => ({ payload: payload(dice) }),
    integration: () => ({ strategy: dice.pick(['direct', 'layered', 'evaluated']) }),
    conflict_resolution: () =>
      dice.pick([
        { strategy: dice.pick(['coordinator_resolve', 'escalate', 'agent_rework']) },
        { resolution: 'as I say' },
      ]),
    workspace_abort: () => ({ reason: 'enough of it' }),
  }
  return changes[gate.type]()
}

export function escalationAnswer(dice: Dice): Draft {
  if (dice.chance(0.08)) return dice.pick<Draft>([{ type: 'shrug' }, { type: 'envelope' }, {}])
  const type = dice.pick(['envelope', 'envelope', 'abort', 'delegation'])
  return type === 'envelope' ? { type, payload: payload(dice) } : { type }
}
