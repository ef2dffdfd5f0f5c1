// The settings of the record: when runs leave the log, how long they are kept where, the second copy, signatures
// (W-TRAIL-26, -28).
import { parseDuration } from '@parley/agents'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { readFlag, readFolder } from './readings.ts'
import type { Setting } from './settings.ts'

const compactMs: Setting<number | null> = {
  key: 'trail.compact',
  variable: 'PARLEY_TRAIL_COMPACT',
  flag: 'trail-compact',
  fallback: nodeDefaults.compactMs,
  expected: 'how long after the end of a run, such as 0, 1m or 12h, at most 30d, or off',
  read: value => {
    if (value === 'off' || value === false) return null
    return durationAtMost(value, nodeLimits.compactMs)
  },
  show: value => (value === null ? 'off' : daysText(value)),
}

const warmMs: Setting<number> = {
  key: 'trail.warm',
  variable: 'PARLEY_TRAIL_WARM',
  flag: 'trail-warm',
  fallback: nodeDefaults.warmMs,
  expected: 'a duration such as 30d or 12h, at most 36500d',
  read: value => durationAtMost(value, nodeLimits.retentionMs),
  show: daysText,
}

const coldMs: Setting<number | null> = {
  key: 'trail.cold',
  variable: 'PARLEY_TRAIL_COLD',
  flag: 'trail-cold',
  fallback: null,
  expected: 'a duration from 1d to 36500d, or forever',
  read: value => {
    if (value === 'forever') return null
    const ms = durationAtMost(value, nodeLimits.retentionMs)
    return ms !== undefined && ms >= nodeLimits.coldLeastMs ? ms : undefined
  },
  show: value => (value === null ? 'forever' : daysText(value)),
}

const replica: Setting<string | undefined> = {
  key: 'trail.replica',
  variable: 'PARLEY_TRAIL_REPLICA',
  flag: 'trail-replica',
  fallback: undefined,
  expected: 'the absolute path of a folder, by all means on another device',
  read: readFolder,
  show: value => value ?? null,
}

const sign: Setting<boolean> = {
  key: 'trail.sign',
  variable: 'PARLEY_TRAIL_SIGN',
  flag: 'trail-sign',
  fallback: true,
  expected: 'true or false',
  read: readFlag,
  show: value => String(value),
}

export const TRAIL_SETTINGS = { compactMs, warmMs, coldMs, replica, sign } as const

function durationAtMost(value: unknown, most: number): number | undefined {
  if (value === 0 || value === '0') return 0
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  return ms !== undefined && ms <= most ? ms : undefined
}

function daysText(ms: number): string {
  if (ms === 0) return '0'
  const parts = [
    [Math.floor(ms / 86_400_000), 'd'],
    [Math.floor(ms / 3_600_000) % 24, 'h'],
    [Math.floor(ms / 60_000) % 60, 'm'],
    [Math.floor(ms / 1000) % 60, 's'],
    [ms % 1000, 'ms'],
  ] as const
  return parts.map(([number, unit]) => (number === 0 ? '' : `${number}${unit}`)).join('')
}
