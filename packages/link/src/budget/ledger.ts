// The profile's daily ledger (ALP-BUD-01 to -03): every turn draws from it. What a turn may cost is set aside before it begins and booked when
// it ended; both are on disk before anybody acts on them, so that a crash can only count too much.
import { randomBytes } from 'node:crypto'
import {
  type Clock,
  err,
  ok,
  type ParleyError,
  type Result,
  refuse,
  type TurnBudget,
  type Usage,
} from '@parley/core'
import { type Disk, machineDisk, writeWhole } from '../files/disk.ts'
import { WatchedFile } from '../files/watched.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import {
  add,
  dayOf,
  type LedgerState,
  NOTHING,
  type Reservation,
  readLedger,
  type Spent,
  writeLedger,
} from './ledger-file.ts'

/** Under which what is spent without a peer is booked. */
export const INTERACTIVE = '__interactive__'
/** Where a day has more names than the ledger keeps. */
const OTHERS = '__others__'
const MICROS = 1_000_000

export interface LedgerOptions {
  readonly clock: Clock
  /** `budget.daily_usd` of the profile's configuration, whatever stands there; asked every time. */
  readonly cap: () => unknown
  /** US dollars that are set aside for a turn of which nobody says what it may cost. */
  readonly turnUsd?: number
  readonly disk?: Disk
  readonly failed?: (what: string, cause: unknown) => void
}

/** The cap is reached: what the answer says (ALP-BUD-03). */
export interface Exhausted {
  readonly cap: number
  readonly used: number
}

/** A turn that has been paid for in advance. Settled once; what comes later changes nothing. */
export interface Grant {
  readonly id: string
  /** Under which it will be booked. */
  readonly name: string
  /** What the turn may spend: what was set aside, and never more than its caller wants to spend. */
  readonly budget: TurnBudget
  /**
   * Books what the turn cost; what was not measured costs nothing. Without an argument nobody knows what the turn cost, and all that was set
   * aside is booked. Returns what was booked. Throws where it cannot be written: then what was set aside stays so.
   */
  settle(usage?: Usage): Spent
}

/** ALP-BUD-01: a number above zero; otherwise there is no cap. */
export function capOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined
}

export class Ledger {
  readonly #path: string
  readonly #options: LedgerOptions
  readonly #disk: Disk
  readonly #file: WatchedFile<Buffer | undefined>
  /** What was read last, and what it means. */
  #known: { readonly bytes: Buffer | undefined; readonly state: LedgerState } | undefined
  /**
   * What turns of this process have set aside: other programs write the file too, and need not keep what they do not
   * know.
   */
  readonly #live = new Map<string, Reservation>()

  constructor(path: string, options: LedgerOptions) {
    this.#path = path
    this.#options = options
    this.#disk = options.disk ?? machineDisk
    this.#file = new WatchedFile(path, {
      disk: this.#disk,
      most: linkLimits.ledgerFileBytes,
      parse: bytes => bytes,
      failed: cause => options.failed?.(`${path} cannot be read, so today's spending is unknown`, cause),
    })
  }

  /** What today has cost, turns under way not among it. */
  today(): LedgerState {
    const state = this.#onDisk()
    const lost = [...this.#live].filter(([id]) => !state.reserved.has(id))
    return lost.length === 0 ? state : { ...state, reserved: new Map([...state.reserved, ...lost]) }
  }

  #onDisk(): LedgerState {
    const bytes = this.#file.now()
    const now = this.#options.clock.now()
    const known = this.#known
    if (known && known.bytes === bytes && known.state.day === dayOf(now)) return known.state
    const state = readLedger(bytes, now)
    this.#known = { bytes, state }
    return state
  }

  /** ALP-BUD-03: what was booked reaches the cap; undefined where there is money left, or no cap. */
  exhausted(): Exhausted | undefined {
    const cap = capOf(this.#options.cap())
    if (cap === undefined) return undefined
    const used = this.today().profile.usd
    return used >= cap ? { cap, used } : undefined
  }

  /**
   * Sets aside what a turn may cost. Refuses where the cap is reached, with what is set aside for other turns, or with `ledger_full`. Throws
   * where it cannot be written.
   */
  reserve(name: string, wanted: TurnBudget = {}): Result<Grant, Exhausted | ParleyError> {
    const now = this.#options.clock.now()
    const state = this.today()
    const cap = capOf(this.#options.cap())
    const used = committedIn(state)
    if (cap !== undefined && used >= cap) return err({ cap, used })
    if (state.reserved.size >= linkLimits.reservations)
      return refuse('ledger_full', 'More turns are under way than the ledger keeps; try again later.', {
        retryable: true,
      })
    const usd = cap === undefined ? wanted.usd : Math.min(cap - used, wanted.usd ?? this.#turnUsd)
    const id = randomBytes(6).toString('hex')
    const reservation: Reservation = { id, name, usd: usd ?? 0, at: now / MICROS }
    this.#write({ ...state, reserved: new Map(state.reserved).set(id, reservation) })
    this.#live.set(id, reservation)
    return ok(this.#grant(reservation, { ...wanted, ...(usd !== undefined && { usd }) }))
  }

  /**
   * What processes that are gone had set aside and nobody settled. Whoever can find out what those turns cost settles them; they count for a
   * day otherwise.
   */
  orphans(): readonly Grant[] {
    return [...this.today().reserved.values()].map(each => this.#grant(each, { usd: each.usd }))
  }

  get #turnUsd(): number {
    return this.#options.turnUsd ?? linkDefaults.turnUsd
  }

  #grant(reservation: Reservation, budget: TurnBudget): Grant {
    return {
      id: reservation.id,
      name: reservation.name,
      budget,
      settle: usage => this.#settle(reservation, usage),
    }
  }

  #settle({ id, name, usd }: Reservation, usage: Usage | undefined): Spent {
    const state = this.today()
    if (!state.reserved.has(id)) return NOTHING
    const reserved = new Map(state.reserved)
    reserved.delete(id)
    // Where the write fails, the file alone says whether it was booked: it must not be booked twice.
    this.#live.delete(id)
    const spent = usage ? spentIn(usage) : { usd, tokens: 0 }
    this.#write(booked({ ...state, reserved }, name, spent))
    return spent
  }

  #write(state: LedgerState): void {
    writeWhole(this.#disk, this.#path, writeLedger(state))
  }
}

/** ALP-BUD-07: what a turn's usage is to the ledger, and to a post that declares it. */
export function spentIn({ usd = 0, tokensIn = 0, tokensOut = 0 }: Usage): Spent {
  return { usd: sound(usd), tokens: Math.round(sound(tokensIn) + sound(tokensOut)) }
}

function sound(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

function committedIn({ profile, reserved }: LedgerState): number {
  let used = profile.usd
  for (const { usd } of reserved.values()) used += usd
  return used
}

function booked(state: LedgerState, name: string, spent: Spent): LedgerState {
  const full = state.byPeer.size >= linkLimits.ledgerNames - 1 && !state.byPeer.has(name)
  const under = full ? OTHERS : name
  const byPeer = new Map(state.byPeer).set(under, add(state.byPeer.get(under) ?? NOTHING, spent))
  return { ...state, profile: add(state.profile, spent), byPeer }
}
