// When a service works again, as its answers and the programs in front of it write it.
import { deadline, formatTimestamp, type Ticks, type Timestamp, ticksPerMillisecond } from '@parley/core'
import { agentLimits } from '../limits.ts'

const UNITS: { readonly [unit: string]: number } = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** `resets 3:15pm (Europe/Berlin)`, `resets Nov 21, 9am`, `try again at Nov 21st, 2026 9:04 AM.` */
const AT =
  /(?:resets|try again) (?:at )?(?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? (?:(\d{4}),? )?(?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap]m)(?: \(([\w/+-]+)\))?/i
/** `try again in 2 days 3 hours 5 minutes`, `Please try again in 20s`, `reset after 1h3m`. */
const IN = /(?:try again in|resets in|reset after) ((?:(?:about )?\d+(?:\.\d+)? ?[dhms][a-z]*[ ,]*)+)/i

/** Seconds or milliseconds since 1970, as different versions write them. */
export function resetAt(value: unknown, now: Ticks): Timestamp | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  return coming(value < 1e11 ? value * 1000 : value, now)
}

export function resetIn(text: string, now: Ticks): Timestamp | undefined {
  const span = IN.exec(text)?.[1]
  if (span !== undefined) {
    const parts = [...span.matchAll(/(\d+(?:\.\d+)?) ?([dhms])/gi)]
    const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!.toLowerCase()]!, 0)
    return coming(now / ticksPerMillisecond + ms, now)
  }
  const at = AT.exec(text)
  return at ? clockTime(at, now) : undefined
}

function clockTime(found: RegExpExecArray, now: Ticks): Timestamp | undefined {
  const [, month, day, year, hour, minute, half, zone] = found
  const nowMs = now / ticksPerMillisecond
  const hours = (Number(hour) % 12) + (half!.toLowerCase() === 'pm' ? 12 : 0)
  const offset = offsetOf(zone, nowMs)
  if (offset === undefined) return undefined
  const here = new Date(nowMs + offset)
  const named = month === undefined ? -1 : MONTHS.indexOf(month.toLowerCase())
  const date: readonly [number, number, number] =
    named < 0
      ? [here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate()]
      : [Number(year ?? here.getUTCFullYear()), named, Number(day)]
  const then = Date.UTC(...date, hours, Number(minute ?? 0)) - offset
  if (then > nowMs || year !== undefined) return coming(then, now)
  // A time that is over is meant for tomorrow, and a day that is over for next year.
  const next =
    named < 0 ? then + UNITS.d! : Date.UTC(date[0] + 1, date[1], date[2], hours, Number(minute ?? 0)) - offset
  return coming(next, now)
}

/** Milliseconds that the clocks of a zone are ahead of UTC; of this machine's own without a name. */
function offsetOf(zone: string | undefined, ms: number): number | undefined {
  if (zone === undefined) return -new Date(ms).getTimezoneOffset() * UNITS.m!
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours) * UNITS.h! + Number(minutes) * UNITS.m!)
  } catch {
    return undefined
  }
}

/** Nothing that is over, and nothing so far away that it can only be a mistake. */
function coming(ms: number, now: Ticks): Timestamp | undefined {
  const ticks = deadline(0 as Ticks, Math.round(ms))
  return ticks > now && ticks <= deadline(now, agentLimits.resetMs) ? formatTimestamp(ticks) : undefined
}
