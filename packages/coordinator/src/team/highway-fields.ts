// The fields of a team file, and of a node's configuration, about presets, gates and escalation (W-HWY-01, -14).
import { durationPattern, parseDuration, type Static, Type } from '@parley/core'
import { HIGHWAY_PRESETS, type HighwayPreset } from '@parley/kernel'
import {
  ESCALATION_FALLBACKS,
  type EscalationFallback,
  GATE_FALLBACKS,
  GATE_TYPES,
  type GateFallback,
  type GateType,
} from '@parley/trail/events'
import { given } from '../given.ts'
import { choice, patterned, record, yesNo } from './fields.ts'
import { TIMEOUT_PATTERN } from './patterns.ts'

const timeout = (description: string) => patterned(TIMEOUT_PATTERN, 'Timeout', description, ['10m', 'never'])

const ABOUT: { readonly [Type in GateType]: string } = {
  task_approval: 'Before a task may be given to an agent.',
  workspace_create: 'Before a workspace is made for an agent.',
  envelope_delivery: 'Before a message reaches its receiver.',
  integration: 'Before finished work is merged.',
  conflict_resolution: 'Before a conflict is settled in the way that was proposed.',
  workspace_abort: 'Before the coordinator ends the work of an agent.',
}

const gate = (type: GateType) =>
  Type.Optional(
    record(type, ABOUT[type], {
      on: yesNo('On', 'Whether a person is asked.'),
      timeout: timeout('How long the gate waits for a person; never: for ever.'),
      fallback: choice(GATE_FALLBACKS, 'Fallback', 'What happens when nobody answers in time.'),
    }),
  )

const EscalationSchema = record('Escalation', 'Questions that agents ask people.', {
  on: yesNo('On', 'Whether questions of agents reach people.'),
  timeout: timeout('How long a question waits for a person; never: for ever.'),
  fallback: choice(
    ESCALATION_FALLBACKS,
    'Fallback',
    'When nobody answers: go on at its own judgement, end the work, or leave it to the coordinator.',
  ),
})

export const GatesSchema = record('Gates', 'Where a person is asked before work goes on.', {
  preset: choice(
    HIGHWAY_PRESETS,
    'Preset',
    'autonomous: people may look. supervised: they are asked, and work goes on without them. gated: nothing passes without them.',
  ),
  ...(Object.fromEntries(GATE_TYPES.map(type => [type, gate(type)])) as {
    [Name in GateType]: ReturnType<typeof gate>
  }),
  escalation: Type.Optional(EscalationSchema),
  injection: yesNo('Injection', 'Whether people may write to agents at work.'),
})
export type GatesFile = Static<typeof GatesSchema>

/** What is said of one gate; null is no timeout. What is not said is the preset's. */
interface GateChoice<Fallback> {
  readonly on?: boolean
  readonly timeoutMs?: number | null
  readonly fallback?: Fallback
}

export interface Gates {
  readonly preset?: HighwayPreset
  readonly gates: { readonly [Type in GateType]?: GateChoice<GateFallback> }
  readonly escalation?: GateChoice<EscalationFallback>
  readonly injection?: boolean
}

export function gatesOf({ preset, escalation, injection, ...types }: GatesFile): Gates {
  const gates = Object.entries(types).flatMap(([type, said]) => (said ? [[type, choiceOf(said)] as const] : []))
  const others = given({ preset, escalation: escalation && choiceOf(escalation), injection })
  return { gates: Object.fromEntries(gates), ...others }
}

function choiceOf<Fallback>({
  timeout,
  ...said
}: Omit<GateChoice<Fallback>, 'timeoutMs'> & { readonly timeout?: string }): GateChoice<Fallback> {
  if (timeout === undefined) return said
  return { ...said, timeoutMs: isDuration.test(timeout) ? (parseDuration(timeout) ?? null) : null }
}

const isDuration = new RegExp(durationPattern)
