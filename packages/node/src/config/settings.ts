// The settings that have a single value: how each is named in the file, the environment and on the command line, and
// what it may be.
import { parseDuration } from '@parley/agents'
import { DEPLOYMENT_MODEL, deploymentModel } from '@parley/kernel'
import { isPublicKey } from '@parley/keys'
import { DEPLOYMENT_MODELS, type DeploymentModel } from '@parley/trail/events'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { LOG_LEVELS, type LogLevel } from '../log/log.ts'
import { LINK_SETTINGS } from './link-settings.ts'
import { TRAIL_SETTINGS } from './trail-settings.ts'

export interface Setting<T> {
  /** The name in config.yaml, with dots. */
  readonly key: string
  readonly variable: string
  /** A variable that other programs know too; it goes before ours. */
  readonly override?: string
  readonly flag: string
  readonly fallback: T
  /** What it must be, in words. */
  readonly expected: string
  /** From text, or from a value of the file; undefined for what it cannot be. */
  read(value: unknown): T | undefined
  /** As it is shown to people. */
  show(value: T): string | number | null
}

const turns: Setting<number> = {
  key: 'turns',
  variable: 'PARLEY_TURNS',
  flag: 'turns',
  fallback: nodeDefaults.turns,
  expected: `a whole number from 1 to ${nodeLimits.turns}`,
  read: value => {
    const number = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value
    return Number.isInteger(number) && (number as number) >= 1 && (number as number) <= nodeLimits.turns
      ? (number as number)
      : undefined
  },
  show: value => value,
}

const logLevel: Setting<LogLevel> = {
  key: 'log.level',
  variable: 'PARLEY_LOG_LEVEL',
  flag: 'log-level',
  fallback: nodeDefaults.logLevel,
  expected: `one of ${LOG_LEVELS.join(', ')}`,
  read: value => LOG_LEVELS.find(level => level === value),
  show: value => value,
}

const idleTimeoutMs: Setting<number> = {
  key: 'idle_timeout',
  variable: 'PARLEY_IDLE_TIMEOUT',
  flag: 'idle-timeout',
  fallback: nodeDefaults.idleTimeoutMs,
  expected: 'a duration such as 10m, 1h30m or 90s, at most 720h, or 0 for never',
  read: value => {
    if (value === 0 || value === '0') return 0
    const ms = typeof value === 'string' ? parseDuration(value) : undefined
    return ms !== undefined && ms <= nodeLimits.idleTimeoutMs ? ms : undefined
  },
  show: durationText,
}

const defaultAgent: Setting<string | undefined> = {
  key: 'default_agent',
  variable: 'PARLEY_DEFAULT_AGENT',
  flag: 'default-agent',
  fallback: undefined,
  expected: 'the name of an agent or a preset, at most 64 characters',
  read: value => (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined),
  show: value => value ?? null,
}

const deployment: Setting<DeploymentModel> = {
  key: 'deployment',
  variable: 'PARLEY_DEPLOYMENT',
  flag: 'deployment',
  fallback: DEPLOYMENT_MODEL,
  expected: `one of ${DEPLOYMENT_MODELS.join(', ')}`,
  read: value => (typeof value === 'string' ? deploymentModel(value) : undefined),
  show: value => value,
}

const trustedKeys: Setting<readonly string[]> = {
  key: 'trusted_keys',
  variable: 'PARLEY_TRUSTED_KEYS',
  flag: 'trusted-keys',
  fallback: [],
  expected: `up to ${nodeLimits.trustedKeys} public keys as \`parley trail keys\` shows them`,
  read: value => {
    const keys = typeof value === 'string' ? value.split(/[\s,]+/).filter(key => key !== '') : value
    if (!Array.isArray(keys) || keys.length > nodeLimits.trustedKeys) return undefined
    return keys.every(key => typeof key === 'string' && isPublicKey(key)) ? (keys as string[]) : undefined
  },
  show: value => (value.length > 0 ? value.join(' ') : null),
}

export const SETTINGS = {
  turns,
  logLevel,
  idleTimeoutMs,
  defaultAgent,
  deployment,
  trustedKeys,
  ...TRAIL_SETTINGS,
  ...LINK_SETTINGS,
} as const

export type SettingValues = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}

function durationText(ms: number): string {
  if (ms === 0) return '0'
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'm'],
    [Math.floor(ms / 1000) % 60, 's'],
    [ms % 1000, 'ms'],
  ] as const
  return parts.map(([number, unit]) => (number === 0 ? '' : `${number}${unit}`)).join('')
}
