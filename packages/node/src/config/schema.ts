// The shape of config.yaml. The same schema checks a file and helps editors (schema/config.schema.json).
import { CommandAgentSchema, durationPattern } from '@parley/agents'
import { GatesSchema } from '@parley/coordinator'
import { mapSchema, type Static, type TSchema, Type } from '@parley/core'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { LOG_LEVELS } from '../log.ts'

const closed = { additionalProperties: false } as const

export const ConfigSchema = Type.Object(
  {
    turns: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: nodeLimits.turns,
        default: nodeDefaults.turns,
        title: 'Turns at once',
        description: 'How many turns of agents may run at once, over all runs.',
      }),
    ),
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Optional(
            Type.Enum([...LOG_LEVELS], {
              default: nodeDefaults.logLevel,
              title: 'Log level',
              description: 'What is written to logs/node.log: this and everything more serious.',
            }),
          ),
        },
        { ...closed, title: 'Log', description: 'What the node writes down about itself.' },
      ),
    ),
    idle_timeout: Type.Optional(
      Type.Union([Type.String({ pattern: durationPattern }), Type.Literal('0'), Type.Literal(0)], {
        default: '10m',
        title: 'Idle timeout',
        description:
          'A node that was started on demand stops after this long without runs and without clients: 10m, 1h30m, 90s. 0 means never.',
      }),
    ),
    default_agent: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        title: 'Default agent',
        description: 'The agent that solves an intent without a team file: one of `agents`, or a preset.',
      }),
    ),
    gates: Type.Optional(GatesSchema),
    agents: Type.Optional(mapSchema(Type.Unknown())),
  },
  {
    ...closed,
    title: 'Parley configuration',
    description: 'config.yaml of a profile. The environment (PARLEY_…) and flags go before it.',
  },
)
export type ConfigFile = Static<typeof ConfigSchema>

/** An agent, for editors. A file's agents are checked by the reader of team files, which knows more than a schema can say. */
const AgentSchema = Type.Object(
  {
    ...CommandAgentSchema.properties,
    slots: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 64, description: 'How many turns of this agent may run at once.' }),
    ),
  },
  { ...closed, title: 'Agent', description: 'A program that does the work: either a command or a preset.' },
)

/** config.yaml for editors, as JSON. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const agents: TSchema = {
    ...mapSchema(AgentSchema),
    title: 'Agents',
    description: 'Agents by name, in the format of the agents of a team file.',
  }
  const whole = { ...ConfigSchema, properties: { ...ConfigSchema.properties, agents } }
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...JSON.parse(JSON.stringify(whole)) }
}
