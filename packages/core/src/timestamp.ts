// Ticks are microseconds, a timestamp has one fixed-width form (W-CLOCK-08), durations are milliseconds (W-CLOCK-04).
import type { Brand } from './brand.ts'
import { ParleyError } from './error.ts'

/** Microseconds since the Unix epoch: a non-negative integer below 2^53, which lasts until the year 2255. */
export type Ticks = Brand<number, 'Ticks'>

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`, 27 characters. Order as text is order in time. */
export type Timestamp = Brand<string, 'Timestamp'>

export const ticksPerMillisecond = 1000
export const ticksPerSecond = 1_000_000
const timestampLength = 27

export function isTicks(value: unknown): value is Ticks {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** From one instant to a later one in whole milliseconds, rounded down. */
export function durationMs(from: Ticks, to: Ticks): number {
  // Exact where a division would round: the remainder goes first.
  const ticks = to - from
  const rest = ticks % ticksPerMillisecond
  return (ticks - rest) / ticksPerMillisecond - (rest < 0 ? 1 : 0)
}

export function deadline(from: Ticks, milliseconds: number): Ticks {
  return (from + milliseconds * ticksPerMillisecond) as Ticks
}

const threeDigits = Array.from({ length: 1000 }, (_, value) => String(value).padStart(3, '0'))
const endings = threeDigits.map(digits => `${digits}Z`)

// Stamps come in order and close together, so the last second and millisecond are kept as text.
let second = -1
let secondText = ''
let millisecond = -1
let millisecondText = ''

export function formatTimestamp(ticks: Ticks): Timestamp {
  const offset = ticks - millisecond
  if (millisecond >= 0 && offset >= 0 && offset < ticksPerMillisecond && Number.isInteger(offset)) {
    return (millisecondText + endings[offset]!) as Timestamp
  }
  if (!isTicks(ticks)) throw new ParleyError('invalid_timestamp', `expected a tick count, got ${String(ticks)}`)
  const micros = ticks % ticksPerSecond
  if (ticks - micros !== second) {
    second = ticks - micros
    secondText = new Date(second / ticksPerMillisecond).toISOString().slice(0, 20)
  }
  const ending = micros % ticksPerMillisecond
  millisecond = ticks - ending
  millisecondText = secondText + threeDigits[(micros - ending) / ticksPerMillisecond]!
  return (millisecondText + endings[ending]!) as Timestamp
}

/** The ticks of a text in exactly this form that names a real instant from 1970 to 2255; of all else, undefined. */
export function parseTimestamp(text: string): Ticks | undefined {
  if (text.length !== timestampLength) return undefined
  if (second >= 0 && text.startsWith(secondText)) return parseInSecond(text)
  const ticks = Date.parse(`${text.slice(0, 23)}Z`) * ticksPerMillisecond + Number(text.slice(23, 26))
  // Date.parse is lenient; writing the result again is not.
  return isTicks(ticks) && formatTimestamp(ticks) === text ? ticks : undefined
}

/** The six digits and the `Z` behind the second that is kept as text. */
function parseInSecond(text: string): Ticks | undefined {
  let micros = 0
  for (let index = 20; index < 26; index++) {
    const digit = text.charCodeAt(index) - 48
    if (digit < 0 || digit > 9) return undefined
    micros = micros * 10 + digit
  }
  return text.charCodeAt(26) === 90 ? ((second + micros) as Ticks) : undefined
}

export function isTimestamp(text: unknown): text is Timestamp {
  return typeof text === 'string' && parseTimestamp(text) !== undefined
}
