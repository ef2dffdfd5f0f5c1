// Numbers, times and ids as people read them. Everything here is short and has no locale: two people see the same.
import {
  durationMs,
  durationText,
  parseTimestamp,
  shortId,
  shortIds,
  sizeText,
  type Ticks,
  ticksPerMillisecond,
} from '@parley/core'
import type { RunSummaryView, UsageView } from '../node/views.ts'

export { shortId, shortIds, sizeText as bytes }

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const two = (value: number) => String(value).padStart(2, '0')

/** `0.4s`, `12s`, `1m05s`, `2h03m`, `3d04h`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`
  if (ms < minute) return `${Math.floor(ms / second)}s`
  if (ms < hour) return `${Math.floor(ms / minute)}m${two(Math.floor((ms % minute) / second))}s`
  if (ms < day) return `${Math.floor(ms / hour)}h${two(Math.floor((ms % hour) / minute))}m`
  return `${Math.floor(ms / day)}d${two(Math.floor((ms % day) / hour))}h`
}

/** `12 s`, `9 min 56 s`, `2 h 3 min`, `3 d 4 h`: for sentences about time that passes. */
export function inWords(milliseconds: number): string {
  return durationText(Math.ceil(milliseconds / second) * second)
}

export function between(from: string | undefined, to: string | undefined, now: Ticks): number | undefined {
  const start = from === undefined ? undefined : ticksOf(from)
  if (start === undefined) return undefined
  return durationMs(start, (to === undefined ? undefined : ticksOf(to)) ?? now)
}

export function lasted(from: string | undefined, to: string | undefined, now: Ticks): string {
  const passed = between(from, to, now)
  return passed === undefined ? '' : duration(passed)
}

type Times = { readonly working: number; readonly person: number; readonly slot: number }

/** How the time of a run has passed, up to now if it is not over. */
export function timesUntil({ times, ended }: Pick<RunSummaryView, 'times' | 'ended'>, now: Ticks): Times {
  if (!times) return { working: 0, person: 0, slot: 0 }
  const { working, person, slot, doing, since } = times
  const more = ended === undefined ? (between(since, undefined, now) ?? 0) : 0
  const spent = { working, person, slot }
  return doing === 'other' ? spent : { ...spent, [doing]: spent[doing] + more }
}

/** Any ISO timestamp in UTC; that of the trail to the microsecond. */
export function ticksOf(text: string): Ticks | undefined {
  const exact = parseTimestamp(text)
  if (exact !== undefined) return exact
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ((ms * ticksPerMillisecond) as Ticks)
}

/** `just now`, `5m ago`, `3h ago`, `2d ago`. */
export function ago(timestamp: string, now: Ticks): string {
  const passed = between(timestamp, undefined, now)
  if (passed === undefined) return timestamp
  if (passed < minute) return 'just now'
  if (passed < hour) return `${Math.floor(passed / minute)}m ago`
  if (passed < 2 * day) return `${Math.floor(passed / hour)}h ago`
  return `${Math.floor(passed / day)}d ago`
}

/** `2026-01-01 12:00:00 UTC`. */
export function moment(timestamp: string): string {
  const ticks = ticksOf(timestamp)
  if (ticks === undefined) return timestamp
  return `${new Date(ticks / ticksPerMillisecond).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** `12:00:00.123`, the time of day in UTC. */
export function timeOfDay(timestamp: string): string {
  return ticksOf(timestamp) === undefined ? timestamp : timestamp.slice(11, 23)
}

/** `$0.02`; what is too little for that is `<$0.01`. */
export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return '<$0.01'
  return `$${usd.toFixed(2)}`
}

/** `950`, `1.2k`, `3.4M`. */
export function count(value: number): string {
  if (value < 1000) return String(value)
  if (value < 999_950) return `${short(value / 1000)}k`
  return `${short(value / 1_000_000)}M`
}

function short(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`
}

export function spend(usage: UsageView): string {
  if (usage.usd !== undefined) return money(usage.usd)
  const tokens = tokensOf(usage)
  return tokens === undefined ? '' : `${count(tokens)} tok`
}

export function tokensOf(usage: UsageView): number | undefined {
  if (usage.tokens_in === undefined && usage.tokens_out === undefined) return undefined
  return (usage.tokens_in ?? 0) + (usage.tokens_out ?? 0)
}

/** `1.2k in, 300 out tokens · $0.02`: all that is known of what was spent. */
export function spendInFull(usage: UsageView): string {
  return spendParts(usage).toReversed().join(' · ')
}

export function spendParts(usage: UsageView): readonly string[] {
  const parts = usage.usd === undefined ? [] : [money(usage.usd)]
  if (tokensOf(usage) === undefined) return parts
  const cached = usage.tokens_cached ? ` (${count(usage.tokens_cached)} cached)` : ''
  return [...parts, `${count(usage.tokens_in ?? 0)} tokens in${cached}, ${count(usage.tokens_out ?? 0)} out`]
}

export function shortHash(hash: string): string {
  return hash.slice(0, 10)
}
