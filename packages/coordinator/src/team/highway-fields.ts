// The fields of a team file, and of a node's configuration, that say where people stand in the way: presets, gates,
// escalation (W-HWY-01, -14); and the form in which a run keeps them.
import { durationPattern, parseDuration } from '@parley/agents'
import { type Static, Type } from '@parley/core'
import { HIGHWAY_PRESETS, type HighwayPreset } from '@parley/kernel'
import {
  ESCALATION_FALLBACKS,
  type EscalationFallback,
  GATE_FALLBACKS,
  GATE_TYPES,
  type GateFallback,
  type GateType,
} from '@parley/trail/events'
import { TIMEOUT_PATTERN } from './patterns.ts'

const closed = { additionalProperties: false } as const

const timeout = (description: string) =>
  Type.String({ pattern: TIMEOUT_PATTERN, title: 'Timeout', description, examples: ['10m', 'never'] })

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
    Type.Object(
      {
        on: Type.Optional(Type.Boolean({ title: 'On', description: 'Whether a person is asked.', default: true })),
        timeout: Type.Optional(timeout('How long the gate waits for a person; never: for ever.')),
        fallback: Type.Optional(
          Type.Enum([...GATE_FALLBACKS], {
            title: 'Fallback',
            description: 'What happens when nobody answers in time.',
          }),
        ),
      },
      { ...closed, title: type, description: ABOUT[type] },
    ),
  )

const EscalationSchema = Type.Object(
  {
    on: Type.Optional(
      Type.Boolean({ title: 'On', description: 'Whether questions of agents reach people.', default: true }),
    ),
    timeout: Type.Optional(timeout('How long a question waits for a person; never: for ever.')),
    fallback: Type.Optional(
      Type.Enum([...ESCALATION_FALLBACKS], {
        title: 'Fallback',
        description: 'When nobody answers: go on at its own judgement, end the work, or leave it to the coordinator.',
      }),
    ),
  },
  { ...closed, title: 'Escalation', description: 'Questions that agents ask people.' },
)

export const GatesSchema = Type.Object(
  {
    preset: Type.Optional(
      Type.Enum([...HIGHWAY_PRESETS], {
        title: 'Preset',
        description:
          'autonomous: people may look. supervised: they are asked, and work goes on without them. gated: nothing passes without them.',
      }),
    ),
    ...(Object.fromEntries(GATE_TYPES.map(type => [type, gate(type)])) as {
      [Name in GateType]: ReturnType<typeof gate>
    }),
    escalation: Type.Optional(EscalationSchema),
    injection: Type.Optional(
      Type.Boolean({
        title: 'Injection',
        description: 'Whether people may write to agents at work.',
        default: true,
      }),
    ),
  },
  { ...closed, title: 'Gates', description: 'Where a person is asked before work goes on.' },
)
export type GatesFile = Static<typeof GatesSchema>

/** What is said of one gate; null is no timeout. What is not said is the preset's. */
export interface GateChoice<Fallback> {
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
  const gates = Object.entries(types).flatMap(([type, said]) => (said ? [[type, choice(said)] as const] : []))
  return {
    ...(preset && { preset }),
    gates: Object.fromEntries(gates),
    ...(escalation && { escalation: choice(escalation) }),
    ...(injection !== undefined && { injection }),
  }
}

function choice<Fallback>({
  timeout,
  ...said
}: {
  readonly on?: boolean
  readonly timeout?: string
  readonly fallback?: Fallback
}): GateChoice<Fallback> {
  if (timeout === undefined) return said
  return { ...said, timeoutMs: isDuration.test(timeout) ? (parseDuration(timeout) ?? null) : null }
}

const isDuration = new RegExp(durationPattern)
