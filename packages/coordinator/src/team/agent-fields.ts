// The fields of an agent in a team file: those of all kinds of agents, and those that every agent has; and the form in
// which a run keeps them.
import { durationPattern, kindFields, kindOf, parseDuration } from '@parley/agents'
import { type AgentKind, type AgentSettings, type TSchema, Type, unwrap } from '@parley/core'
import { teamDefaults, teamLimits } from './limits.ts'
import { either } from './words.ts'

/** Beside those of its kind. */
const commonFields = {
  timeout: Type.Optional(
    Type.String({
      pattern: durationPattern,
      title: 'Timeout',
      description: 'How long a turn may take, such as 90s, 10m or 1h30m. Each kind of agent has its own default.',
    }),
  ),
  slots: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: teamLimits.slots,
      title: 'Slots',
      description: 'How many turns of this agent may run at once.',
      default: teamDefaults.slots,
    }),
  ),
}

export function agentSchema(kinds: readonly AgentKind[]): TSchema {
  const fields = { ...kindFields(kinds), ...commonFields }
  const marks = either(kinds.flatMap(kind => kind.marks))
  return Type.Object(fields, {
    additionalProperties: false,
    title: 'Agent',
    description: `Who does the work of a task: an agent has ${marks}.`,
  })
}

/** An agent that its schema accepts. */
export interface AgentFile {
  readonly timeout?: string
  readonly slots?: number
  readonly [field: string]: unknown
}

export type TeamAgent = AgentSettings & {
  /** Turns of this agent at once. */
  readonly slots: number
}

/** Fields that are not for an agent of this kind. */
export function strangeFields({ fields }: AgentKind, names: readonly string[]): readonly string[] {
  return names.filter(name => !Object.hasOwn(fields, name) && !Object.hasOwn(commonFields, name))
}

/** For an agent that its kind can read. */
export function teamAgent(kinds: readonly AgentKind[], file: AgentFile): TeamAgent {
  const { timeout, slots = teamDefaults.slots, ...fields } = file
  const settings = unwrap(kindOf(kinds, fields)!.read(fields))
  return { ...settings, ...(timeout !== undefined && { timeoutMs: parseDuration(timeout)! }), slots }
}
