// The fields of an agent in a team file, of its kind and of all, and the form in which a run keeps them.
import { durationPattern, kindFields, kindOf, parseDuration } from '@parley/agents'
import { type AgentKind, type AgentSettings, type TSchema, Type, unwrap } from '@parley/core'
import { closed, patterned, whole } from './fields.ts'
import { teamDefaults, teamLimits } from './limits.ts'
import { either } from './words.ts'

/** Beside those of its kind. */
const commonFields = {
  timeout: patterned(
    durationPattern,
    'Timeout',
    'How long a turn may take, such as 90s, 10m or 1h30m. Each kind of agent has its own default.',
  ),
  slots: whole(teamLimits.slots, 'Slots', 'How many turns of this agent may run at once.', teamDefaults.slots),
}

export function agentSchema(kinds: readonly AgentKind[]): TSchema {
  const fields = { ...kindFields(kinds), ...commonFields }
  const marks = either(kinds.flatMap(kind => kind.marks))
  return Type.Object(fields, {
    ...closed,
    title: 'Agent',
    description: `Who does the work of a task: an agent has ${marks}.`,
  })
}

export interface AgentFile {
  readonly timeout?: string
  readonly slots?: number
  readonly [field: string]: unknown
}

export type TeamAgent = AgentSettings & {
  readonly slots: number
}

/** Fields that are not for an agent of this kind. */
export function strangeFields({ fields }: AgentKind, names: readonly string[]): readonly string[] {
  return names.filter(name => !Object.hasOwn(fields, name) && !Object.hasOwn(commonFields, name))
}

export function teamAgent(kinds: readonly AgentKind[], file: AgentFile): TeamAgent {
  const { timeout, slots = teamDefaults.slots, ...fields } = file
  const settings = unwrap(kindOf(kinds, fields)!.read(fields))
  return { ...settings, ...(timeout !== undefined && { timeoutMs: parseDuration(timeout)! }), slots }
}
