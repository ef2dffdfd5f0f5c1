// The settings of ALX: which team solves in which domain, and the numbers that the protocol leaves to its server.
import { resolve } from 'node:path'
import { mapSchema, type Static, Type } from '@parley/core'
import { alxDefaults, alxLimits } from '../alx/limits.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import { type About, durationText, readDuration, readInteger, setting, yesOrNo } from './setting.ts'

const path = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: nodeLimits.pathLength, description }))

const DomainSchema = object(
  {
    team: path('A team file, absolute or relative to the profile. Without it the answers are Knowledge Blocks.'),
    project: path('The folder that its runs work on, absolute or relative to the profile.'),
  },
  { title: 'Domain' },
)
/** How one domain is solved; without a team its Knowledge Blocks are the answers. */
export type DomainSetting = Readonly<Static<typeof DomainSchema>>
export type Domains = Readonly<Record<string, DomainSetting>>

function isDomain(value: unknown): value is DomainSetting {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { team, project, ...rest } = value as Record<string, unknown>
  const fits = (each: unknown) =>
    each === undefined || (typeof each === 'string' && each !== '' && each.length <= nodeLimits.pathLength)
  return fits(team) && fits(project) && Object.keys(rest).length === 0 && !(project !== undefined && team === undefined)
}

function readDomains(value: unknown): Domains | undefined {
  const all = typeof value === 'string' ? parsed(value) : value
  if (typeof all !== 'object' || all === null || Array.isArray(all)) return undefined
  const entries = Object.entries(all)
  if (entries.length > alxLimits.domains) return undefined
  const fit = entries.every(
    ([name, each]) => name.trim() === name && name !== '' && name.length <= alxLimits.domainLength && isDomain(each),
  )
  return fit ? Object.fromEntries(entries) : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function duration(key: string, least: number, most: number, fallback: number, expected: string, about: About) {
  return setting<number>({
    key,
    schema: Type.String({ default: durationText(fallback, true), ...about }),
    fallback,
    expected,
    read: value => {
      const ms = readDuration(value, most)
      return ms !== undefined && ms >= least ? ms : undefined
    },
    show: value => durationText(value, true),
  })
}

const { day } = alxLimits

export const ALX_SETTINGS = {
  alxDomains: setting<Domains>({
    key: 'alx.domains',
    schema: {
      ...mapSchema(DomainSchema),
      title: 'Domains',
      description:
        'Which team solves in which domain: `DOMAIN: { team: FILE, project: FOLDER }`, `{}` for one whose answers are Knowledge Blocks, `"*"` for all others.',
    },
    fallback: {},
    expected: `a map of at most ${alxLimits.domains} domains, each with \`team\` and perhaps \`project\`, or empty`,
    read: readDomains,
    show: value => {
      const all = Object.entries(value).map(([name, { team }]) => `${name}: ${team ?? 'Knowledge Blocks'}`)
      return all.length > 0 ? all.join(', ') : null
    },
  }),
  alxMinConfidence: setting<number>({
    key: 'alx.min_confidence',
    schema: Type.Number({
      minimum: 0,
      maximum: 1,
      default: alxDefaults.minConfidence,
      title: 'Least confidence',
      description: 'A solve whose best artifact fits less than this is refused, unless it is forced.',
    }),
    fallback: alxDefaults.minConfidence,
    expected: 'a number from 0 to 1',
    read: value => {
      const number = typeof value === 'string' && /^[01](?:\.\d{1,6})?$/.test(value) ? Number(value) : value
      return typeof number === 'number' && number >= 0 && number <= 1 ? number : undefined
    },
  }),
  alxRunLimitMs: duration(
    'alx.run_limit',
    1000,
    day,
    alxDefaults.runLimitMs,
    'a duration from 1s to 1d, such as 2m or 1h',
    {
      title: 'Time of a solve',
      description: 'How long a solve may work, where its team has no limit. Waiting for people does not count.',
    },
  ),
  alxEventsMs: duration(
    'alx.events_retention',
    0,
    30 * day,
    alxDefaults.eventsMs,
    'a duration such as 5m or 1h, at most 30d, or 0',
    { title: 'Run events', description: 'How long the events of a run can be read after its end.' },
  ),
  alxAbandonMs: duration(
    'alx.abandon_after',
    60_000,
    366 * day,
    alxDefaults.abandonMs,
    'a duration from 1m to 366d, such as 1d',
    {
      title: 'Abandoned sessions',
      description: 'A session without work that changed longer ago than this is abandoned.',
    },
  ),
  alxApprovalMs: duration(
    'alx.approval_timeout',
    1000,
    366 * day,
    alxDefaults.approvalMs,
    'a duration from 1s to 366d, such as 1d',
    { title: 'Approvals', description: 'How long an approval waits for a person before the run fails.' },
  ),
  alxFeeBps: setting<number>({
    key: 'alx.protocol_fee_bps',
    schema: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: alxDefaults.feeBps,
      title: 'Protocol fee',
      description: 'What a settlement keeps before it is split, in hundredths of a percent.',
    }),
    fallback: alxDefaults.feeBps,
    expected: 'a whole number from 0 to 10000',
    read: value => readInteger(value, 0, 10_000),
  }),
  alxSettlementPaused: yesOrNo('alx.settlement_paused', false, {
    title: 'Settlements paused',
    description: 'Whether new settlements are refused for now.',
  }),
  alxAliases: yesOrNo('alx.aliases', true, {
    title: 'Alias members',
    description:
      'Whether answers repeat some members under other names, as ALX allows (`confidenceScore`, `cached`, …).',
  }),
  alxChainId: setting<string | undefined>({
    key: 'alx.chain_id',
    schema: Type.Integer({
      minimum: 1,
      title: 'Chain of signed requests',
      description:
        'With it signed requests are checked (`x-alx-signed-request`): the chain id that they are signed for.',
    }),
    fallback: undefined,
    expected: 'a whole number from 1 on',
    read: value => {
      const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
      return typeof text === 'string' && /^[1-9]\d{0,15}$/.test(text) ? text : undefined
    },
  }),
  alxContract: setting<string>({
    key: 'alx.verifying_contract',
    schema: Type.String({
      pattern: '^0x[0-9a-fA-F]{40}$',
      default: alxDefaults.contract,
      title: 'Contract of signed requests',
      description: 'The verifying contract that they are signed for; zeros where no contract verifies them as well.',
    }),
    fallback: alxDefaults.contract,
    expected: 'an address: 0x and 40 hexadecimal digits',
    read: value => (typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value) ? value : undefined),
  }),
} as const

/** How a domain is solved here: by its own entry, or that of all others. Undefined: by its Knowledge Blocks. */
export function domainSetting(domains: Domains, domain: string, folder: string) {
  const { team, project } = (Object.hasOwn(domains, domain) ? domains[domain] : domains['*']) ?? {}
  if (team === undefined) return undefined
  return { file: resolve(folder, team), ...(project !== undefined && { project: resolve(folder, project) }) }
}
