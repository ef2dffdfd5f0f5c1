// The daily ledger as its file has it (ALP-BUD-02): sorted, compact ASCII JSON. Turns under way stand in a member of their own, which is left
// out when there are none: then the file is exactly what the reference writes.
import { isUtf8 } from 'node:buffer'
import type { Ticks } from '@parley/core'
import { parseText } from '../json/parse.ts'
import { float, integerOf, isWireObject, numberOf, type WireObject, type WireValue } from '../json/value.ts'
import { sortedAsciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'

export interface Spent {
  readonly usd: number
  readonly tokens: number
}

/** What was set aside for a turn before it began. */
export interface Reservation {
  readonly id: string
  /** Under whose name it will be booked. */
  readonly name: string
  readonly usd: number
  /** Unix seconds. */
  readonly at: number
}

export interface LedgerState {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly profile: Spent
  readonly byPeer: ReadonlyMap<string, Spent>
  /** Totals of earlier days. */
  readonly history: ReadonlyMap<string, Spent>
  readonly reserved: ReadonlyMap<string, Reservation>
}

export const NOTHING: Spent = { usd: 0, tokens: 0 }
const MICROS = 1_000_000
const DAY_SECONDS = 86_400
/** No sum grows beyond what can be written. */
const MOST_USD = 1e12
const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/

export function dayOf(now: Ticks): string {
  return new Date(now / 1000).toISOString().slice(0, 10)
}

export function add(one: Spent, other: Spent): Spent {
  return {
    usd: Math.min(one.usd + other.usd, MOST_USD),
    tokens: Math.min(one.tokens + other.tokens, Number.MAX_SAFE_INTEGER),
  }
}

/** What the bytes say of today; nothing where they cannot be read (ALP-ERR-05). What another day spent is history. */
export function readLedger(bytes: Buffer | undefined, now: Ticks): LedgerState {
  const value = bytes && isUtf8(bytes) ? parseText(bytes.toString('utf8')) : undefined
  const file = isWireObject(value) ? value : {}
  const today = dayOf(now)
  const day = typeof file.day === 'string' && DAY.test(file.day) ? file.day : undefined
  const profile = spentOf(file.profile)
  const history = spentByName(file.history)
  if (day !== undefined && day !== today) history.set(day, profile)
  const reserved = reservedOf(file.reserved, now)
  if (day !== today) return { day: today, profile: NOTHING, byPeer: new Map(), history, reserved }
  return { day, profile, byPeer: spentByName(file.by_peer), history, reserved }
}

export function writeLedger(state: LedgerState): Buffer {
  const days = [...state.history].toSorted(([a], [b]) => (a < b ? 1 : -1)).slice(0, linkLimits.ledgerDays)
  const text = sortedAsciiText({
    by_peer: named(state.byPeer),
    day: state.day,
    history: named(days),
    profile: spent(state.profile),
    ...(state.reserved.size > 0 && {
      reserved: Object.fromEntries(
        [...state.reserved.values()].map(({ id, name, usd, at }) => [
          id,
          { peer: name, usd: float(usd), at: float(at) },
        ]),
      ),
    }),
  })
  return Buffer.from(text, 'utf8')
}

function named(entries: Iterable<readonly [string, Spent]>): WireObject {
  return Object.fromEntries([...entries].map(([name, each]) => [name, spent(each)]))
}

function spent({ usd, tokens }: Spent): WireObject {
  return { tokens, usd: float(usd) }
}

function spentByName(value: WireValue | undefined): Map<string, Spent> {
  const entries = isWireObject(value) ? Object.entries(value) : []
  return new Map(entries.map(([name, each]) => [name.toWellFormed(), spentOf(each)]))
}

function spentOf(value: WireValue | undefined): Spent {
  if (!isWireObject(value)) return NOTHING
  const tokens = integerOf(value.tokens)
  return { usd: sumOf(value.usd), tokens: typeof tokens === 'number' && tokens > 0 ? tokens : 0 }
}

function sumOf(value: WireValue | undefined): number {
  const usd = numberOf(value)
  return usd !== undefined && Number.isFinite(usd) && usd > 0 ? Math.min(usd, MOST_USD) : 0
}

/** What a process that died had set aside counts for a day, if nobody settles it. */
function reservedOf(value: WireValue | undefined, now: Ticks): Map<string, Reservation> {
  const found = new Map<string, Reservation>()
  for (const [key, entry] of isWireObject(value) ? Object.entries(value) : []) {
    if (!isWireObject(entry) || typeof entry.peer !== 'string' || found.size >= linkLimits.reservations)
      continue
    const id = key.toWellFormed()
    const at = numberOf(entry.at) ?? 0
    if (Math.abs(now / MICROS - at) < DAY_SECONDS)
      found.set(id, { id, name: entry.peer.toWellFormed(), usd: sumOf(entry.usd), at })
  }
  return found
}
