// The file of the daily ledger (ALP-BUD-02): sorted, compact ASCII JSON. Turns under way stand in a member of their
// own, which is left out when there are none: then the file is exactly what the reference writes.
import {
  Ledger,
  type LedgerDamage,
  type LedgerOptions,
  type LedgerState,
  type LedgerStore,
  ledgerDay,
  limits,
  type Reservation,
  type Spent,
  type Ticks,
  ticksPerSecond,
} from '@parley/core'
import { type Disk, machineDisk, writeWholeSync } from '@parley/keys/files'
import { type FileOptions, WatchedFile } from '../files/watched.ts'
import { parseWire } from '../json/parse.ts'
import { amountOf, countOf, float, isWireObject, numberOf, type WireObject, type WireValue } from '../json/value.ts'
import { sortedAsciiText } from '../json/write.ts'
import { linkLimits } from '../limits.ts'

const NOTHING_SPENT: Spent = { usd: 0, tokens: 0 }
const DAY_SECONDS = 86_400
const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/

/** The daily ledger that is kept in this file. */
export function openLedger(path: string, options: LedgerOptions & FileOptions): Ledger {
  return new Ledger(new LedgerFile(path, options), options)
}

interface Reading {
  readonly bytes: Buffer | undefined
  /** What the disk said instead of bytes. */
  readonly fault: unknown
  readonly state: LedgerState
  readonly damage: LedgerDamage | undefined
}

export class LedgerFile implements LedgerStore {
  readonly #path: string
  readonly #options: FileOptions
  readonly #disk: Disk
  readonly #file: WatchedFile<Buffer | undefined>
  #known: Reading | undefined

  constructor(path: string, options: FileOptions) {
    this.#path = path
    this.#options = options
    this.#disk = options.disk ?? machineDisk
    const most = linkLimits.ledgerFileBytes
    this.#file = new WatchedFile(path, { disk: this.#disk, most, parse: bytes => bytes })
  }

  read(): Reading {
    const bytes = this.#file.now()
    const { fault } = this.#file
    const now = this.#options.clock.now()
    const day = ledgerDay(now)
    const known = this.#known
    if (known && known.bytes === bytes && known.fault === fault && known.state.day === day) return known
    const read = fault === undefined ? readLedger(bytes, now) : undefined
    const damage = read ? undefined : this.#damaged(fault)
    // Once for each damage, not for each look at it.
    if (damage && !known?.damage) this.#options.failed?.(`${damage.problem} ${damage.remedy}`, fault)
    this.#known = { bytes, fault, state: read ?? unspent(day), damage }
    return this.#known
  }

  #damaged(fault: unknown): LedgerDamage {
    const why = fault instanceof Error ? fault.message : 'it holds no ledger'
    const when = fault === undefined ? ' while budget.daily_usd is set' : ''
    const problem = `${this.#path} cannot be read (${why}), so nobody knows what was spent today, and no turn is taken${when}.`
    const remedy = 'Restore it, or move it away: the day then begins at zero.'
    return { problem, remedy, fault }
  }

  write(state: LedgerState): void {
    writeWholeSync(this.#disk, this.#path, writeLedger(state))
  }

  setAside(): string {
    const aside = `${this.#path}.damaged`
    this.#disk.rename(this.#path, aside)
    return aside
  }
}

function unspent(day: string): LedgerState {
  return { day, profile: NOTHING_SPENT, byPeer: new Map(), history: new Map(), reserved: new Map() }
}

/** What the bytes say of today; undefined where they are no ledger. What another day spent is history. */
function readLedger(bytes: Buffer | undefined, now: Ticks): LedgerState | undefined {
  const file = bytes ? parseWire(bytes) : {}
  if (!isWireObject(file)) return undefined
  const today = ledgerDay(now)
  const day = typeof file.day === 'string' && DAY.test(file.day) ? file.day : undefined
  if (day === today && file.profile !== undefined && !isSpent(file.profile)) return undefined
  const profile = spentOf(file.profile)
  const history = spentByName(file.history)
  if (day !== undefined && day !== today) history.set(day, profile)
  const reserved = reservedOf(file.reserved, now)
  if (day !== today) return { ...unspent(today), history, reserved }
  return { day, profile, byPeer: spentByName(file.by_peer), history, reserved }
}

function writeLedger(state: LedgerState): Buffer {
  const days = [...state.history].toSorted(([a], [b]) => (a < b ? 1 : -1)).slice(0, linkLimits.ledgerDays)
  const reserved = [...state.reserved.values()].map(({ id, name, usd, at }) => [
    id,
    { peer: name, usd: float(usd), at: float(at) },
  ])
  const text = sortedAsciiText({
    by_peer: named(state.byPeer),
    day: state.day,
    history: named(days),
    profile: spent(state.profile),
    ...(reserved.length > 0 && { reserved: Object.fromEntries(reserved) }),
  })
  return Buffer.from(text)
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

function isSpent(value: WireValue): boolean {
  return isWireObject(value) && numberOf(value.usd) !== undefined
}

function spentOf(value: WireValue | undefined): Spent {
  return isWireObject(value) ? { usd: usdOf(value), tokens: countOf(value.tokens) } : NOTHING_SPENT
}

function usdOf({ usd }: WireObject): number {
  return Math.min(amountOf(usd), limits.ledgerUsd)
}

/** What a dead process had set aside counts for a day, unless it is settled. */
function reservedOf(value: WireValue | undefined, now: Ticks): Map<string, Reservation> {
  const found = new Map<string, Reservation>()
  for (const [key, entry] of isWireObject(value) ? Object.entries(value) : []) {
    if (!isWireObject(entry) || typeof entry.peer !== 'string' || found.size >= limits.reservations) continue
    const id = key.toWellFormed()
    const at = numberOf(entry.at) ?? 0
    if (Math.abs(now / ticksPerSecond - at) < DAY_SECONDS)
      found.set(id, { id, name: entry.peer.toWellFormed(), usd: usdOf(entry), at })
  }
  return found
}
