// `alp.ts` (ALP-ENV-07): written in UTC with the fraction left out when it is zero; read with any explicit offset,
// exact to the microsecond.
import { formatTimestamp, type Ticks } from '@parley/core'

/**
 * The last second that was written, and the last that was read: those who speak with each other do so in the same one.
 */
let written = { second: Number.NaN, text: '' }
let known = { text: '', micros: 0 }

/** ISO-US of the sheet. */
export function writeTs(now: Ticks): string {
  const micros = now % MICROS
  const second = now - micros
  if (second !== written.second) written = { second, text: formatTimestamp(second as Ticks).slice(0, SECOND) }
  return micros === 0 ? `${written.text}Z` : `${written.text}.${String(micros).padStart(6, '0')}Z`
}

const MICROS = 1_000_000
/** Characters up to the second, and all of them with microseconds. */
const SECOND = 19
const WHOLE = 27
const FRACTION = /^\.[0-9]{6}Z$/

/** Microseconds since the epoch, which may lie before it; undefined where the text names no instant. */
export function readTs(text: string): number | undefined {
  const head = text.slice(0, SECOND)
  const tail = text.slice(SECOND)
  // As our own senders write it, within a second that is known.
  if (head === known.text && text.length === WHOLE && FRACTION.test(tail))
    return known.micros + Number(tail.slice(1, -1))
  const micros = parseTs(text)
  if (micros !== undefined && FRACTION.test(tail)) known = { text: head, micros: micros - Number(tail.slice(1, -1)) }
  return micros
}

const FORM =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{3}|[0-9]{6}))?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?)$/
const LONGEST = 40

function parseTs(text: string): number | undefined {
  // Long texts are not even matched.
  const found = text.length <= LONGEST ? FORM.exec(text) : null
  if (!found) return undefined
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as Six
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  date.setUTCHours(hour, minute, second)
  const real =
    year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
  if (!real) return undefined
  const micros = Number((found[7] ?? '').padEnd(6, '0'))
  const offset = offsetSeconds(found[8], found[9], found[10], found[11])
  return offset === undefined ? undefined : (date.getTime() - offset * 1000) * 1000 + micros
}

type Six = [number, number, number, number, number, number]

function offsetSeconds(sign: string | undefined, hours = '0', minutes = '0', seconds = '0'): number | undefined {
  if (sign === undefined) return 0
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  return sign === '-' ? -size : size
}
