// The shape of config.yaml. The same schema checks a file and helps editors (schema/config.schema.json).
import { durationPattern } from '@parley/agents'
import { GatesSchema } from '@parley/coordinator'
import { mapSchema, type Static, type TSchema, Type } from '@parley/core'
import { DEPLOYMENT_MODEL } from '@parley/kernel'
import { DEPLOYMENT_MODELS } from '@parley/trail/events'
import { agentSchema, teamSchema } from '../agents/team-files.ts'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { LOG_LEVELS } from '../log/log.ts'
import { PASSPHRASE_HASH } from '../profile/passphrase.ts'
import { AlpSchema, BudgetSchema, NetworkSchema, PublicBio, ServiceSchema } from './link-schema.ts'

const closed = { additionalProperties: false } as const

const Duration = Type.String({ pattern: durationPattern })
const Zero = [Type.Literal('0'), Type.Literal(0)]

export const TrailSchema = Type.Object(
  {
    compact: Type.Optional(
      Type.Union([Duration, ...Zero, Type.Literal('off'), Type.Literal(false)], {
        default: '1m',
        title: 'Compaction',
        description:
          'How long after its end a run leaves the log for files of its own: 0, 1m, 12h; at most 30d. off: only when `parley trail compact` asks for it.',
      }),
    ),
    warm: Type.Optional(
      Type.Union([Duration, ...Zero], {
        default: '30d',
        title: 'Warm retention',
        description: 'How long after its end a run stays at hand before it goes to the cold tier.',
      }),
    ),
    cold: Type.Optional(
      Type.Union([Duration, Type.Literal('forever')], {
        default: 'forever',
        title: 'Cold retention',
        description:
          'How long an archive is kept in the cold tier, at least 1d, before it is deleted. forever: nothing is ever deleted.',
      }),
    ),
    replica: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nodeLimits.pathLength,
        title: 'Replica',
        description:
          'A folder on another device for a second copy of the cold tier, as an absolute path. It must be there: one that is missing is never made.',
      }),
    ),
    sign: Type.Optional(
      Type.Boolean({
        default: true,
        title: 'Signatures',
        description: 'Whether every entry is signed with the key of the profile.',
      }),
    ),
  },
  {
    ...closed,
    title: 'Record',
    description: 'How the record of runs is kept; docs/guide/operations.md.',
  },
)

/** As in a team file, and what is for the profile alone. */
export const ProfileGatesSchema = Type.Object(
  {
    ...GatesSchema.properties,
    confirm: Type.Optional(
      Type.String({
        pattern: PASSPHRASE_HASH,
        maxLength: nodeLimits.passphraseHash,
        title: 'Passphrase',
        description:
          'The hash of a passphrase that every answer of a person needs: approve, reject, modify, reply. `parley passphrase` writes it.',
      }),
    ),
  },
  {
    ...closed,
    title: 'Gates',
    description: 'Where a person is asked before work goes on, and how they answer.',
  },
)

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
    deployment: Type.Optional(
      Type.Enum([...DEPLOYMENT_MODELS, ...DEPLOYMENT_MODELS.map(model => model.replaceAll('-', '_'))], {
        default: DEPLOYMENT_MODEL,
        title: 'Deployment model',
        description:
          'What the node vouches for: single-runtime (access control and file modes), shared-infrastructure (and content encrypted at rest), zero-trust (and a key for each workspace). docs/guide/security.md says what each protects.',
      }),
    ),
    trusted_keys: Type.Optional(
      Type.Array(Type.String({ minLength: 44, maxLength: 44 }), {
        maxItems: nodeLimits.trustedKeys,
        title: 'Trusted keys',
        description:
          'Public keys of others whose exported runs may be imported without naming a key, as `parley trail keys` shows them.',
      }),
    ),
    trail: Type.Optional(TrailSchema),
    service: Type.Optional(ServiceSchema),
    network: Type.Optional(NetworkSchema),
    alp: Type.Optional(AlpSchema),
    budget: Type.Optional(BudgetSchema),
    public_bio: Type.Optional(PublicBio),
    gates: Type.Optional(ProfileGatesSchema),
    agents: Type.Optional(mapSchema(Type.Unknown())),
  },
  {
    ...closed,
    title: 'Parley configuration',
    description: 'config.yaml of a profile. The environment (PARLEY_…) and flags go before it.',
  },
)
export type ConfigFile = Static<typeof ConfigSchema>

/** config.yaml for editors, as JSON. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  // A file's agents are checked by the reader of team files, which knows more than a schema can say.
  const agents: TSchema = {
    ...mapSchema(agentSchema),
    title: 'Agents',
    description: 'Agents by name, in the format of the agents of a team file.',
  }
  const whole = { ...ConfigSchema, properties: { ...ConfigSchema.properties, agents } }
  return jsonSchema(whole)
}

/** A team file for editors, as JSON. */
export function teamJsonSchema(): Readonly<Record<string, unknown>> {
  return jsonSchema(teamSchema)
}

function jsonSchema(schema: TSchema): Readonly<Record<string, unknown>> {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...JSON.parse(JSON.stringify(schema)) }
}
