// The settings that have a single value. Those of the record say when runs leave the log, how long they are kept where,
// the second copy, signatures (W-TRAIL-26, -28).
import { durationPattern, Type } from '@parley/core'
import { DEPLOYMENT_MODEL, deploymentModel } from '@parley/kernel'
import { isPublicKey } from '@parley/keys'
import { DEPLOYMENT_MODELS, type DeploymentModel } from '@parley/trail/events'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { LOG_LEVELS, type LogLevel } from '../log/log.ts'
import { ALX_SETTINGS } from './alx-settings.ts'
import { HTTP_SETTINGS } from './http-settings.ts'
import { LINK_SETTINGS } from './link-settings.ts'
import { NOTIFY_SETTINGS } from './notify-settings.ts'
import {
  agentName,
  durationText,
  folder,
  oneOf,
  readDuration,
  type Setting,
  setting,
  wholeNumber,
  yesOrNo,
} from './setting.ts'

const Duration = Type.String({ pattern: durationPattern })
const Zero = [Type.Literal('0'), Type.Literal(0)]

const turns = wholeNumber('turns', nodeLimits.turns, nodeDefaults.turns, {
  title: 'Turns at once',
  description: 'How many turns of agents may run at once, over all runs.',
})

const runs = wholeNumber('runs', nodeLimits.runs, nodeDefaults.runs, {
  title: 'Runs of one principal at once',
  description:
    'How many runs each principal (you, a peer) may have at work at once. Runs that wait for a person do not count.',
})

const logLevel = oneOf<LogLevel>('log.level', LOG_LEVELS, nodeDefaults.logLevel, {
  title: 'Log level',
  description: 'What is written to logs/node.log: this and everything more serious.',
})

const idleTimeoutMs = setting<number>({
  key: 'idle_timeout',
  schema: Type.Union([Duration, ...Zero], {
    default: '10m',
    title: 'Idle timeout',
    description:
      'A node that was started on demand stops after this long without runs and without clients: 10m, 1h30m, 90s. 0 means never.',
  }),
  fallback: nodeDefaults.idleTimeoutMs,
  expected: 'a duration such as 10m, 1h30m or 90s, at most 720h, or 0 for never',
  read: value => readDuration(value, nodeLimits.idleTimeoutMs),
  show: value => durationText(value, false),
})

const defaultAgent = agentName('default_agent', {
  title: 'Default agent',
  description: 'The agent that solves an intent without a team file: one of `agents`, or a preset.',
})

const deployment = setting<DeploymentModel>({
  key: 'deployment',
  schema: Type.Enum([...DEPLOYMENT_MODELS, ...DEPLOYMENT_MODELS.map(model => model.replaceAll('-', '_'))], {
    default: DEPLOYMENT_MODEL,
    title: 'Deployment model',
    description:
      'What the node vouches for: single-runtime (access control and file modes), shared-infrastructure (and content encrypted at rest), zero-trust (and a key for each workspace). docs/guide/security.md says what each protects.',
  }),
  fallback: DEPLOYMENT_MODEL,
  expected: `one of ${DEPLOYMENT_MODELS.join(', ')}`,
  read: value => (typeof value === 'string' ? deploymentModel(value) : undefined),
})

const trustedKeys = setting<readonly string[]>({
  key: 'trusted_keys',
  schema: Type.Array(Type.String({ minLength: 44, maxLength: 44 }), {
    maxItems: nodeLimits.trustedKeys,
    title: 'Trusted keys',
    description:
      'Public keys of others whose exported runs may be imported without naming a key, as `parley trail keys` shows them.',
  }),
  fallback: [],
  expected: `up to ${nodeLimits.trustedKeys} public keys as \`parley trail keys\` shows them`,
  read: value => {
    const keys = typeof value === 'string' ? value.split(/[\s,]+/).filter(key => key !== '') : value
    if (!Array.isArray(keys) || keys.length > nodeLimits.trustedKeys) return undefined
    return keys.every(key => typeof key === 'string' && isPublicKey(key)) ? (keys as string[]) : undefined
  },
  show: value => (value.length > 0 ? value.join(' ') : null),
})

const compactMs = setting<number | null>({
  key: 'trail.compact',
  schema: Type.Union([Duration, ...Zero, Type.Literal('off'), Type.Literal(false)], {
    default: '1m',
    title: 'Compaction',
    description:
      'How long after its end a run leaves the log for files of its own: 0, 1m, 12h; at most 30d. off: only when `parley trail compact` asks for it.',
  }),
  fallback: nodeDefaults.compactMs,
  expected: 'how long after the end of a run, such as 0, 1m or 12h, at most 30d, or off',
  read: value => (value === 'off' || value === false ? null : readDuration(value, nodeLimits.compactMs)),
  show: value => (value === null ? 'off' : durationText(value, true)),
})

const warmMs = setting<number>({
  key: 'trail.warm',
  schema: Type.Union([Duration, ...Zero], {
    default: '30d',
    title: 'Warm retention',
    description: 'How long after its end a run stays at hand before it goes to the cold tier.',
  }),
  fallback: nodeDefaults.warmMs,
  expected: 'a duration such as 30d or 12h, at most 36500d',
  read: value => readDuration(value, nodeLimits.retentionMs),
  show: value => durationText(value, true),
})

const coldMs = setting<number | null>({
  key: 'trail.cold',
  schema: Type.Union([Duration, Type.Literal('forever')], {
    default: 'forever',
    title: 'Cold retention',
    description:
      'How long an archive is kept in the cold tier, at least 1d, before it is deleted. forever: nothing is ever deleted.',
  }),
  fallback: null,
  expected: 'a duration from 1d to 36500d, or forever',
  read: value => {
    if (value === 'forever') return null
    const ms = readDuration(value, nodeLimits.retentionMs)
    return ms !== undefined && ms >= nodeLimits.coldLeastMs ? ms : undefined
  },
  show: value => (value === null ? 'forever' : durationText(value, true)),
})

const replica = folder('trail.replica', 'the absolute path of a folder, by all means on another device', {
  title: 'Replica',
  description:
    'A folder on another device for a second copy of the cold tier, as an absolute path. It must be there: one that is missing is never made.',
})

const sign = yesOrNo('trail.sign', true, {
  title: 'Signatures',
  description: 'Whether every entry is signed with the key of the profile.',
})

export const SETTINGS = {
  turns,
  runs,
  logLevel,
  idleTimeoutMs,
  defaultAgent,
  deployment,
  trustedKeys,
  compactMs,
  warmMs,
  coldMs,
  replica,
  sign,
  ...LINK_SETTINGS,
  ...HTTP_SETTINGS,
  ...ALX_SETTINGS,
  ...NOTIFY_SETTINGS,
} as const

export type SettingValues = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}
