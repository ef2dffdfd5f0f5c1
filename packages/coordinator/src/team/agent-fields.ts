// The fields of an agent in a team file: those of a command agent, with titles for editors, and the number of its slots; and
// the form in which a run keeps them.
import { type CommandAgent, CommandAgentSchema, parseBytes, parseDuration } from '@parley/agents'
import { type Static, Type } from '@parley/core'
import { teamDefaults, teamLimits } from './limits.ts'

const annotations: { readonly [Field in keyof typeof CommandAgentSchema.properties]: object } = {
  command: { title: 'Command', examples: [['node', 'checks/tests.mjs']] },
  prompt: { title: 'Prompt' },
  output: { title: 'Output' },
  env: { title: 'Environment' },
  pass: { title: 'Passed variables', examples: [['ANTHROPIC_API_KEY']] },
  timeout: { title: 'Timeout' },
  max_output: { title: 'Output limit' },
  preset: { title: 'Preset' },
  model: { title: 'Model' },
  args: { title: 'Arguments' },
}

export const AgentSchema = Type.Object(
  {
    ...annotated(CommandAgentSchema.properties, annotations),
    slots: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: teamLimits.slots,
        title: 'Slots',
        description: 'How many turns of this agent may run at once.',
        default: teamDefaults.slots,
      }),
    ),
  },
  {
    additionalProperties: false,
    title: 'Agent',
    description: 'A program that does the work of a task: either a command or a preset.',
  },
)

export type AgentFile = Static<typeof AgentSchema>

/** A command agent with milliseconds and bytes in place of words. */
export type AgentConfig = {
  readonly [Field in Exclude<keyof CommandAgent, 'timeout' | 'max_output'>]?: Readonly<
    NonNullable<CommandAgent[Field]>
  >
} & {
  readonly timeoutMs?: number
  readonly maxOutputBytes?: number
}

/** For fields that `planCommand` of @parley/agents accepts. */
export function agentConfig({ timeout, max_output, ...same }: CommandAgent): AgentConfig {
  return {
    ...same,
    ...(timeout !== undefined && { timeoutMs: parseDuration(timeout)! }),
    ...(max_output !== undefined && { maxOutputBytes: parseBytes(max_output)! }),
  }
}

/** A copy of each field with more keywords. What TypeBox notes on a field, such as that it is optional, cannot be enumerated. */
function annotated<Fields extends object>(
  fields: Fields,
  more: { readonly [Field in keyof Fields]: object },
): Fields {
  const copies = Object.entries(fields).map(([name, field]) => {
    const copy = Object.create(Object.getPrototypeOf(field), Object.getOwnPropertyDescriptors(field))
    return [name, Object.assign(copy, more[name as keyof Fields])]
  })
  return Object.fromEntries(copies) as Fields
}
