// The fields of an agent in a team file: those of a command agent, with titles for editors, the peer that may stand in their place, and the
// number of its slots; and the form in which a run keeps them.
import { type CommandAgent, CommandAgentSchema, parseBytes, parseDuration } from '@parley/agents'
import { type Static, Type } from '@parley/core'
import { teamDefaults, teamLimits } from './limits.ts'
import { PEER_PATTERN } from './patterns.ts'

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
    peer: Type.Optional(
      Type.String({
        pattern: PEER_PATTERN,
        title: 'Peer',
        description:
          'A pinned peer that does the work on its own machine, by its name in the list of peers. Instead of a command or a preset.',
        examples: ['home-server'],
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
  },
  {
    additionalProperties: false,
    title: 'Agent',
    description: 'Who does the work of a task: a command, a preset, or a peer.',
  },
)

export type AgentFile = Static<typeof AgentSchema>

/** What an agent that is a peer may say beside that; the rest is the peer's own business. */
export const PEER_FIELDS: readonly string[] = ['peer', 'timeout', 'slots']

/** An agent with milliseconds and bytes in place of words: a command agent, or nothing but a peer with its time limit. */
export type AgentConfig = {
  readonly [Field in Exclude<keyof CommandAgent, 'timeout' | 'max_output'>]?: Readonly<
    NonNullable<CommandAgent[Field]>
  >
} & {
  readonly peer?: string
  readonly timeoutMs?: number
  readonly maxOutputBytes?: number
}

/** For fields that `planCommand` of @parley/agents accepts, or those of a peer. */
export function agentConfig({ timeout, max_output, ...same }: Omit<AgentFile, 'slots'>): AgentConfig {
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
