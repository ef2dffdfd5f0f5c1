// The profile's daily ledger (ALP-BUD-01 to -03), from which every turn draws. What a turn may cost is set aside before
// it begins and booked when it ended; both are stored before anybody acts, so that a crash can only count too much.
import { invariant } from './assert.ts'
import type { Clock } from './clock.ts'
import type { TurnBudget, Usage } from './contracts/agent.ts'
import { ParleyError } from './error.ts'
import { limits } from './limits.ts'
import { err, ok, type Result, refuse, unwrap } from './result.ts'
import { type Ticks, ticksPerMillisecond, ticksPerSecond } from './timestamp.ts'

export interface Spent {
  readonly usd: number
  readonly tokens: number
}

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

/** What keeps a ledger from being read, and what to do about it. */
export interface LedgerDamage {
  readonly problem: string
  readonly remedy: string
  /** What the disk said; undefined where what is there is no ledger. */
  readonly fault: unknown
}

export interface LedgerStore {
  /** What is stored of today. With `damage` that is unknown, and the state is that of a day without spending. */
  read(): { readonly state: LedgerState; readonly damage: LedgerDamage | undefined }
  /** All of it, or as it was. Throws what keeps it from being written. */
  write(state: LedgerState): void
  /** Puts away what is no ledger; under which name. Throws like `write`. */
  setAside(): string
}

/** Under which what is spent without a peer is booked. */
export const INTERACTIVE = '__interactive__'
const NOTHING_SPENT: Spent = { usd: 0, tokens: 0 }
/** Where a day has more names than the ledger keeps. */
const OTHERS = '__others__'

export interface LedgerOptions {
  readonly clock: Clock
  /** `budget.daily_usd` of the profile's configuration, whatever stands there; asked every time. */
  readonly cap: () => unknown
  /** US dollars that are set aside for a turn without a stated cost. */
  readonly turnUsd?: number
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
  /** What is left of the day when the turn begins, however little is set aside, or what the caller wants if less. */
  readonly budget: TurnBudget
  /**
   * Books what the turn cost; what was not measured costs nothing. Without an argument nobody knows what the turn cost,
   * and all that was set aside is booked. Returns what was booked. Throws where it cannot be written: then what was set
   * aside stays so.
   */
  settle(usage?: Usage): Spent
}

/** ALP-BUD-01: a number above zero; otherwise there is no cap. */
export function capOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined
}

export class Ledger {
  readonly #store: LedgerStore
  readonly #options: LedgerOptions
  /** What turns of this process set aside: other programs write the store too and may drop what they do not know. */
  readonly #live = new Map<string, Reservation>()

  constructor(store: LedgerStore, options: LedgerOptions) {
    this.#store = store
    this.#options = options
  }

  /** US dollars that a day may cost; undefined without a cap. */
  get cap(): number | undefined {
    return capOf(this.#options.cap())
  }

  /** `ledger_unavailable`: damaged although a cap needs it (section 27 of the sheet), or sound but unreadable. */
  get unusable(): ParleyError | undefined {
    const { damage } = this
    if (!damage || (damage.fault === undefined && this.cap === undefined)) return undefined
    return new ParleyError('ledger_unavailable', `${damage.problem} ${damage.remedy}`, { cause: damage.fault })
  }

  /** Undefined if the ledger is sound or absent. */
  get damage(): LedgerDamage | undefined {
    return this.#store.read().damage
  }

  /** What today has cost, turns under way not among it. */
  today(): LedgerState {
    const { state } = this.#store.read()
    const lost = [...this.#live].filter(([id]) => !state.reserved.has(id))
    return lost.length === 0 ? state : { ...state, reserved: new Map([...state.reserved, ...lost]) }
  }

  /** Never writes over a file that cannot be read: with a cap it stays; without one, a damaged ledger is set aside. */
  #writable(): Result<LedgerState> {
    const { unusable } = this
    if (unusable) return err(unusable)
    if (this.damage) {
      const aside = this.#store.setAside()
      this.#options.failed?.(`it is set aside as ${aside}, and the day begins at zero`, undefined)
    }
    return ok(this.today())
  }

  /** ALP-BUD-03: what was booked reaches the cap; undefined where there is money left, or no cap. */
  exhausted(): Exhausted | undefined {
    const { cap } = this
    if (cap === undefined) return undefined
    const used = this.today().profile.usd
    return used >= cap ? { cap, used } : undefined
  }

  /** Sets aside what a turn may cost. Reservations count toward the cap. Throws where it cannot be written. */
  reserve(name: string, wanted: TurnBudget = {}): Result<Grant, Exhausted | ParleyError> {
    const now = this.#options.clock.now()
    const writable = this.#writable()
    if (!writable.ok) return writable
    const state = writable.value
    const { cap } = this
    const used = committedIn(state)
    if (cap !== undefined && used >= cap) return err({ cap, used })
    if (state.reserved.size >= limits.reservations)
      return refuse('ledger_full', 'More turns are under way than the ledger keeps; try again later.', {
        retryable: true,
      })
    const left = cap === undefined ? undefined : cap - used
    const most = least(wanted.usd, left)
    const usd =
      left === undefined ? (wanted.usd ?? 0) : Math.min(left, wanted.usd ?? this.#options.turnUsd ?? limits.turnUsd)
    invariant(left === undefined || usd <= left, 'no more is set aside than is left of the day')
    const id = [...crypto.getRandomValues(new Uint8Array(6))].map(byte => byte.toString(16).padStart(2, '0')).join('')
    const reservation: Reservation = { id, name, usd, at: now / ticksPerSecond }
    this.#store.write({ ...state, reserved: new Map(state.reserved).set(id, reservation) })
    this.#live.set(id, reservation)
    return ok(this.#grant(reservation, { ...wanted, ...(most !== undefined && { usd: most }) }))
  }

  /** Reservations of processes that are gone; settle them if the cost can be found. Otherwise they count for a day. */
  orphans(): readonly Grant[] {
    return [...this.today().reserved.values()].map(each => this.#grant(each, { usd: each.usd }))
  }

  #grant(reservation: Reservation, budget: TurnBudget): Grant {
    const { id, name } = reservation
    return { id, name, budget, settle: usage => this.#settle(reservation, usage) }
  }

  #settle({ id, name, usd }: Reservation, usage: Usage | undefined): Spent {
    // Before what was set aside is forgotten: it counts on.
    const state = unwrap(this.#writable())
    if (!state.reserved.has(id)) return NOTHING_SPENT
    const reserved = new Map(state.reserved)
    reserved.delete(id)
    // Where the write fails, the file alone says whether it was booked: it must not be booked twice.
    this.#live.delete(id)
    const spent = usage ? spentIn(usage) : { usd, tokens: 0 }
    const after = booked({ ...state, reserved }, name, spent)
    invariant(after.profile.usd >= state.profile.usd, 'what a day has cost never becomes less')
    this.#store.write(after)
    return spent
  }
}

/** ALP-BUD-07: what a turn's usage is to the ledger, and to a post that declares it. */
export function spentIn({ usd = 0, tokensIn = 0, tokensOut = 0 }: Usage): Spent {
  return { usd: sound(usd), tokens: Math.round(sound(tokensIn) + sound(tokensOut)) }
}

function sound(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0
}

/** Undefined is no limit. */
function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

function committedIn({ profile, reserved }: LedgerState): number {
  return [...reserved.values()].reduce((used, { usd }) => used + usd, profile.usd)
}

function booked(state: LedgerState, name: string, spent: Spent): LedgerState {
  const full = state.byPeer.size >= limits.ledgerNames - 1 && !state.byPeer.has(name)
  const under = full ? OTHERS : name
  const byPeer = new Map(state.byPeer).set(under, addSpent(state.byPeer.get(under) ?? NOTHING_SPENT, spent))
  return { ...state, profile: addSpent(state.profile, spent), byPeer }
}

function addSpent(one: Spent, other: Spent): Spent {
  return {
    usd: Math.min(one.usd + other.usd, limits.ledgerUsd),
    tokens: Math.min(one.tokens + other.tokens, Number.MAX_SAFE_INTEGER),
  }
}

/** The day of a ledger is that of UTC (ALP-BUD-02). */
export function ledgerDay(now: Ticks): string {
  return new Date(now / ticksPerMillisecond).toISOString().slice(0, 10)
}
