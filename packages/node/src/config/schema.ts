// The shape of config.yaml, made of its settings. The same schema checks a file and helps editors
// (schema/config.schema.json).
import { GatesSchema } from '@parley/coordinator'
import { mapSchema, type Static, type TSchema, Type } from '@parley/core'
import { agentSchema, teamSchema } from '../agents/team-files.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import { PASSPHRASE_HASH } from '../profile/passphrase.ts'
import { SETTINGS } from './settings.ts'

/** As in a team file, and what is for the profile alone. */
const ProfileGatesSchema = object(
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
  { title: 'Gates', description: 'Where a person is asked before work goes on, and how they answer.' },
)

/** The settings whose names have two parts stand in these. */
const SECTIONS: Readonly<Record<string, { readonly title: string; readonly description: string }>> = {
  log: { title: 'Log', description: 'What the node writes down about itself.' },
  trail: { title: 'Record', description: 'How the record of runs is kept; docs/guide/operations.md.' },
  service: { title: 'Services', description: 'What the node offers to others.' },
  network: { title: 'Network', description: 'Where this machine can be reached.' },
  alp: { title: 'ALP', description: 'How peers reach this profile, and who answers them; docs/guide/alp.md.' },
  http: { title: 'HTTP', description: 'The HTTP surface of the node; docs/guide/http.md.' },
  alx: { title: 'ALX', description: 'Solves, sessions and Knowledge Blocks for programs; docs/guide/alx.md.' },
  notify: { title: 'Notifications', description: 'How you learn that something waits or has ended.' },
  budget: { title: 'Budget', description: 'What the profile may spend; docs/guide/budgets.md.' },
}

const accepted = (title: string) =>
  Type.Boolean({ title, description: 'A service of alpi that Parley does not have; accepted, without effect.' })

/** By section; those of no section, and the sections themselves, under `''`. */
const members: Record<string, Record<string, TSchema>> = { '': {} }
for (const { key, schema } of [
  ...Object.values(SETTINGS),
  // ALP-UNIX-01: a configuration as the protocol's text has it is taken.
  { key: 'service.gateway', schema: accepted('Gateway') },
  { key: 'service.schedule', schema: accepted('Scheduler') },
]) {
  const [name, section = ''] = key.split('.').toReversed()
  members[section] ??= {}
  members[section][name!] = Type.Optional(schema)
  if (section !== '') members['']![section] = Type.Optional(object(members[section], SECTIONS[section]))
}

export const ConfigSchema = object(
  {
    ...members[''],
    gates: Type.Optional(ProfileGatesSchema),
    agents: Type.Optional(mapSchema(Type.Unknown())),
  },
  {
    title: 'Parley configuration',
    description: 'config.yaml of a profile. The environment (PARLEY_…) and flags go before it.',
  },
)
/** What of it is no setting. */
export interface ConfigFile {
  readonly gates?: Static<typeof ProfileGatesSchema>
}

/** The names that may stand in a section; those of the whole file without one. */
export function namesIn(section: string | undefined): readonly string[] {
  if (section === undefined) return Object.keys(ConfigSchema.properties)
  return Object.keys(section === 'gates' ? ProfileGatesSchema.properties : (members[section] ?? {}))
}

/** config.yaml for editors, as JSON. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  // A file's agents are checked by the reader of team files, which knows more than a schema can say.
  const agents: TSchema = {
    ...mapSchema(agentSchema),
    title: 'Agents',
    description: 'Agents by name, in the format of the agents of a team file.',
  }
  return jsonSchema({ ...ConfigSchema, properties: { ...ConfigSchema.properties, agents } })
}

/** A team file for editors, as JSON. */
export function teamJsonSchema(): Readonly<Record<string, unknown>> {
  return jsonSchema(teamSchema)
}

function jsonSchema(schema: TSchema): Readonly<Record<string, unknown>> {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...JSON.parse(JSON.stringify(schema)) }
}
