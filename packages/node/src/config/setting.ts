// What a setting with a single value is: how it is named in the file, the environment and on the command line, what it
// may be; and the forms that several settings share.
import { isAbsolute } from 'node:path'
import { parseDuration, type TSchema, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'

export interface Setting<T> {
  /** The name in config.yaml, with dots. */
  readonly key: string
  readonly variable: string
  /** A variable that other programs know too; it takes precedence over ours. */
  readonly override?: string
  readonly flag: string
  /** Its value in config.yaml, with a title and a description for editors. */
  readonly schema: TSchema
  readonly fallback: T
  /** What it must be, in words. */
  readonly expected: string
  /** From text, or from a value of the file; undefined for what it cannot be. */
  read(value: unknown): T | undefined
  /** As it is shown to people. */
  show(value: T): string | number | null
}

type Given<T> = Omit<Setting<T>, 'variable' | 'flag' | 'show'> & Partial<Setting<T>>

/** `alp.tcp_port` is `PARLEY_ALP_TCP_PORT` and `--alp-tcp-port`, unless it is given otherwise. */
export function setting<T>(given: Given<T>): Setting<T> {
  return {
    variable: `PARLEY_${given.key.toUpperCase().replaceAll('.', '_')}`,
    flag: given.key.replaceAll(/[._]/g, '-'),
    show: value => (typeof value === 'boolean' ? String(value) : ((value ?? null) as string | number | null)),
    ...given,
  }
}

/** For editors. */
export interface About {
  readonly title: string
  readonly description: string
}

export function yesOrNo(key: string, fallback: boolean, about: About): Setting<boolean> {
  return setting({
    key,
    schema: Type.Boolean({ default: fallback, ...about }),
    fallback,
    expected: 'true or false',
    read: value =>
      typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined,
  })
}

/** A whole number from 1 on. */
export function wholeNumber(key: string, most: number, fallback: number, about: About): Setting<number> {
  return setting({
    key,
    schema: Type.Integer({ minimum: 1, maximum: most, default: fallback, ...about }),
    fallback,
    expected: `a whole number from 1 to ${most}`,
    read: value => readInteger(value, 1, most),
  })
}

export function oneOf<T extends string>(key: string, words: readonly T[], fallback: T, about: About): Setting<T> {
  return setting({
    key,
    schema: Type.Enum([...words], { default: fallback, ...about }),
    fallback,
    expected: `one of ${words.join(', ')}`,
    read: value => words.find(word => word === value),
  })
}

export function agentName(key: string, about: About): Setting<string | undefined> {
  return setting<string | undefined>({
    key,
    schema: Type.String({ minLength: 1, maxLength: 64, ...about }),
    fallback: undefined,
    expected: 'the name of an agent or a preset, at most 64 characters',
    read: value => (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined),
  })
}

export function folder(key: string, expected: string, about: About): Setting<string | undefined> {
  return setting<string | undefined>({
    key,
    schema: Type.String({ minLength: 1, maxLength: nodeLimits.pathLength, ...about }),
    fallback: undefined,
    expected,
    read: value =>
      typeof value === 'string' && isAbsolute(value) && value.length <= nodeLimits.pathLength ? value : undefined,
  })
}

/** A whole number within bounds, also as text. */
export function readInteger(value: unknown, least: number, most: number): number | undefined {
  const number = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
    ? number
    : undefined
}

export function readDuration(value: unknown, most: number): number | undefined {
  if (value === 0 || value === '0') return 0
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  return ms !== undefined && ms <= most ? ms : undefined
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
  [1, 'ms'],
] as const

/** `1h30m`; 36 hours are `36h`, or `1d12h` in days. */
export function durationText(ms: number, days: boolean): string {
  if (ms === 0) return '0'
  let left = ms
  const part = ([unit, name]: (typeof UNITS)[number]) => {
    const number = Math.floor(left / unit)
    left -= number * unit
    return number === 0 ? '' : `${number}${name}`
  }
  return UNITS.slice(days ? 0 : 1)
    .map(part)
    .join('')
}
