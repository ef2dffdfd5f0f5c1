// The highway's configuration (W-HWY-01, -14, -15): a preset and explicit fields expand into what the run keeps.
import { compile, ok, type Result, type Static, Type } from '@parley/core'
import {
  ESCALATION_FALLBACKS,
  type EscalationFallback,
  GATE_FALLBACKS,
  GATE_TYPES,
  type GateFallback,
  type GateType,
} from '@parley/trail/events'
import { invalidArgument } from '../refusal.ts'

export const HIGHWAY_PRESETS = ['autonomous', 'supervised', 'gated'] as const
export type HighwayPreset = (typeof HIGHWAY_PRESETS)[number]

interface GateSetting {
  readonly on: boolean
  readonly timeout: number | null
  readonly fallback: GateFallback
}

export interface Highway {
  /** False: this run has no highway at all, as below level 2; every draft is approved at once. */
  readonly enabled: boolean
  readonly visibility: boolean
  readonly gates: { readonly [Type in GateType]: GateSetting }
  readonly injection: boolean
  readonly escalation: {
    readonly enabled: boolean
    readonly timeout: number | null
    readonly fallback: EscalationFallback
  }
}

const OFF: GateSetting = { on: false, timeout: null, fallback: 'reject' }

export const HIGHWAY_OFF: Highway = {
  enabled: false,
  visibility: true,
  gates: forEachGate(() => OFF),
  injection: true,
  escalation: { enabled: false, timeout: null, fallback: 'reject' },
}

const closed = { additionalProperties: false } as const
/** Milliseconds; whether they are a duration is said in words of its own (W-CLOCK-04). */
const Time = Type.Number()
const Timeout = Type.Union([Time, Type.Null()])
const Fallback = Type.Enum([...GATE_FALLBACKS])
const Choice = Type.Object({ timeout: Type.Optional(Timeout), fallback: Type.Optional(Fallback) }, { ...closed })
const perGate = <S extends typeof Choice | ReturnType<typeof Type.Boolean>>(schema: S) =>
  Type.Object(
    Object.fromEntries(GATE_TYPES.map(type => [type, Type.Optional(schema)])) as {
      [Name in GateType]: ReturnType<typeof Type.Optional<S>>
    },
    closed,
  )

const ConfigurationSchema = Type.Object(
  {
    /** What the fields below change; without it the run's defaults are changed. */
    preset: Type.Optional(Type.Enum([...HIGHWAY_PRESETS])),
    visibility: Type.Optional(Type.Boolean()),
    gates: Type.Optional(perGate(Type.Boolean())),
    gate_defaults: Type.Optional(Choice),
    gate_overrides: Type.Optional(perGate(Choice)),
    injection: Type.Optional(Type.Boolean()),
    escalation: Type.Optional(
      Type.Object(
        {
          enabled: Type.Optional(Type.Boolean()),
          timeout: Type.Optional(Timeout),
          fallback: Type.Optional(Type.Enum([...ESCALATION_FALLBACKS])),
        },
        closed,
      ),
    ),
    /** What the presets mean by a short and a medium time (AMB-22). */
    times: Type.Optional(Type.Object({ short: Type.Optional(Time), medium: Type.Optional(Time) }, closed)),
  },
  closed,
)
export type HighwayConfiguration = Static<typeof ConfigurationSchema>

export type HighwayDraft = HighwayPreset | 'off' | HighwayConfiguration

const validator = compile(ConfigurationSchema, { name: 'highway' })

/** AMB-22, in milliseconds. */
const SHORT = 30_000
const MEDIUM = 10 * 60_000

/** One column of W-HWY-14: which gates stand, and the one timeout and fallback that they share. */
interface Profile {
  readonly gates: readonly GateType[]
  readonly time: 'short' | 'medium' | null
  readonly fallback: GateFallback
  readonly escalation: EscalationFallback
}

const ASKING = { time: 'medium', fallback: 'escalate_to_coordinator', escalation: 'reject' } as const

const PROFILES: { readonly [Name in HighwayPreset | 'none']: Profile } = {
  autonomous: { gates: ['task_approval'], time: 'short', fallback: 'approve', escalation: 'delegate_to_coordinator' },
  supervised: { gates: ['task_approval', 'integration'], ...ASKING },
  gated: { gates: GATE_TYPES, time: null, fallback: 'reject', escalation: 'reject' },
  // Not the `supervised` preset: it lacks the integration gate (AMB-23).
  none: { gates: ['task_approval'], ...ASKING },
}

/** W-HWY-15: the preset first, then explicit fields one by one. No draft: the defaults. */
export function expandHighway(draft: unknown): Result<Highway> {
  if (draft === 'off') return ok(HIGHWAY_OFF)
  if (typeof draft === 'string') {
    const preset = HIGHWAY_PRESETS.find(each => each === draft)
    if (preset) return ok(expand({ preset }))
    return invalidArgument(
      `There is no highway preset '${draft.slice(0, 80)}'; use ${HIGHWAY_PRESETS.join(', ')} or off.`,
    )
  }
  const checked = validator.check(draft ?? {})
  if (!checked.ok) return invalidArgument(checked.error.message)
  const bad = timesOf(checked.value).find(time => !Number.isSafeInteger(time) || time <= 0)
  if (bad !== undefined)
    return invalidArgument(
      `${bad} is no duration; use a positive whole number of milliseconds, or null for none.`,
      'invalid_duration',
    )
  return ok(expand(checked.value))
}

function expand(draft: HighwayConfiguration): Highway {
  const profile = PROFILES[draft.preset ?? 'none']
  const times = { short: SHORT, medium: MEDIUM, ...draft.times }
  const timeout = profile.time === null ? null : times[profile.time]
  const { gate_defaults, gate_overrides = {}, escalation } = draft
  return {
    enabled: true,
    visibility: draft.visibility ?? true,
    gates: forEachGate(type => ({
      on: draft.gates?.[type] ?? profile.gates.includes(type),
      timeout,
      fallback: profile.fallback,
      ...gate_defaults,
      ...gate_overrides[type],
    })),
    injection: draft.injection ?? true,
    escalation: { enabled: true, timeout, fallback: profile.escalation, ...escalation },
  }
}

function timesOf({ times, gate_defaults, gate_overrides = {}, escalation }: HighwayConfiguration): number[] {
  const timeouts = [gate_defaults, ...Object.values(gate_overrides), escalation].map(each => each?.timeout)
  return [...timeouts, times?.short, times?.medium].filter(time => time != null)
}

function forEachGate<T>(make: (type: GateType) => T): { readonly [Type in GateType]: T } {
  return Object.fromEntries(GATE_TYPES.map(type => [type, make(type)])) as { [Type in GateType]: T }
}
