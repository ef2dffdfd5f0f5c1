// The fields of an agent in a team file, of its kind and of all, and the form in which a run keeps them.
import { kindOf } from '@parley/agents'
import {
  type AgentKind,
  type AgentSettings,
  durationPattern,
  invariant,
  parseDuration,
  type TSchema,
  Type,
  unwrap,
} from '@parley/core'
import { closed, patterned, whole } from './fields.ts'
import { type FolderFile, type Furnishing, folderFields, furnishingOf } from './folder-fields.ts'
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

/** Beside those, where the agents of the kind see a folder. */
const fieldsOf = ({ fields, folderless }: AgentKind) => ({
  ...fields,
  ...commonFields,
  ...(folderless !== true && folderFields),
})

export function agentSchema(kinds: readonly AgentKind[]): TSchema {
  const fields = { ...kindFields(kinds), ...commonFields, ...folderFields }
  const marks = either(kinds.flatMap(kind => kind.marks))
  return Type.Object(fields, {
    ...closed,
    title: 'Agent',
    description: `Who does the work of a task: an agent has ${marks}.`,
  })
}

function kindFields(kinds: readonly AgentKind[]): AgentKind['fields'] {
  const all: Record<string, AgentKind['fields'][string]> = {}
  for (const { fields } of kinds)
    for (const [name, field] of Object.entries(fields)) {
      all[name] ??= field
      invariant(all[name] === field, `the field ${name} means one thing in all kinds of agents`)
    }
  return all
}

export interface AgentFile extends FolderFile {
  readonly timeout?: string
  readonly slots?: number
  readonly [field: string]: unknown
}

export type TeamAgent = AgentSettings &
  Furnishing & {
    readonly slots: number
  }

/** Fields that are not for an agent of this kind. */
export function strangeFields(kind: AgentKind, names: readonly string[]): readonly string[] {
  const known = fieldsOf(kind)
  return names.filter(name => !Object.hasOwn(known, name))
}

/** The fields that are its kind's own. */
export function ownFields({ timeout: _, slots: _1, setup: _2, carry: _3, ...fields }: AgentFile) {
  return fields
}

/** `all`: what the file says for every agent that has a folder. */
export function teamAgent(kinds: readonly AgentKind[], file: AgentFile, all: FolderFile): TeamAgent {
  const { timeout, slots = teamDefaults.slots } = file
  const fields = ownFields(file)
  const kind = kindOf(kinds, fields)!
  return {
    ...unwrap(kind.read(fields)),
    ...(timeout !== undefined && { timeoutMs: parseDuration(timeout)! }),
    slots,
    ...(kind.folderless !== true && furnishingOf(file, all)),
  }
}
