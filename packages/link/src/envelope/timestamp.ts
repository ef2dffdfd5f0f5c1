// `alp.ts` (ALP-ENV-07): written in UTC with the fraction left out when it is zero; read with any explicit offset,
// exact to the microsecond.
import { formatTimestamp, type Ticks, ticksPerSecond } from '@parley/core'

/** Characters up to the second, and all of them with microseconds. */
const SECOND = 19
const WHOLE = 27
const FRACTION = /^\.[0-9]{6}Z$/

/** The last second that was written and the last one that was read: messages of one exchange mostly share theirs. */
let written = { second: Number.NaN, text: '' }
let known = { text: '', micros: 0 }

/** ISO-US of the sheet. */
export function writeTs(now: Ticks): string {
  const micros = now % ticksPerSecond
  const second = now - micros
  if (second !== written.second) written = { second, text: formatTimestamp(second as Ticks).slice(0, SECOND) }
  return micros === 0 ? `${written.text}Z` : `${written.text}.${String(micros).padStart(6, '0')}Z`
}

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
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{3}|[0-9]{6}))?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?)$/
const LONGEST = 40
/** Python's years begin with 1. */
const FIRST = '0001'

function parseTs(text: string): number | undefined {
  // Long texts are not even matched.
  const [, head, fraction = '', sign, ...offset] = (text.length <= LONGEST && FORM.exec(text)) || []
  if (head === undefined || head < FIRST) return undefined
  const local = Date.parse(`${head}Z`)
  // A day or an hour that the calendar does not have comes back as another one.
  if (Number.isNaN(local) || new Date(local).toISOString().slice(0, SECOND) !== head) return undefined
  const [hours = 0, minutes = 0, seconds = 0] = offset.map(part => Number(part ?? 0))
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  const ahead = (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds)
  return local * 1000 - ahead * ticksPerSecond + Number(fraction.padEnd(6, '0'))
}
