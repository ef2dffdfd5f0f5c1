// Cursors (ALX-SESS-09). A list of sessions is as it was when its first page was made, so that every session is on just
// one page, whatever changes meanwhile; a timeline only grows, so that its cursor is a place in it.
import { limits, type ProtocolError, protocolErrorOf, type SessionTimelineEvent } from '@alx/protocol'
import type { Clock, IdSource } from '@parley/core'
import { alxLimits } from '../limits.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

interface Listing {
  /** Whose, and with which filter. */
  readonly query: string
  readonly ids: readonly string[]
  readonly until: number
}

/** Lists of which pages are still to be asked for. */
export class Listings {
  readonly #clock: Clock
  readonly #ids: IdSource
  /** The oldest first. */
  readonly #listings = new Map<string, Listing>()
  #held = 0

  constructor(clock: Clock, ids: IdSource) {
    this.#clock = clock
    this.#ids = ids
  }

  first(query: string, ids: readonly string[], limit: number): Page<string> {
    if (ids.length <= limit) return { items: ids, nextCursor: null }
    const name = this.#ids.next('list')
    this.#listings.set(name, { query, ids, until: this.#now() + alxLimits.listKeptMs })
    this.#held += ids.length
    this.#bound()
    return { items: ids.slice(0, limit), nextCursor: encode([name, limit]) }
  }

  next(query: string, cursor: string, limit: number): Page<string> | ProtocolError {
    const [name, from] = decode(cursor) ?? []
    const listing = typeof name === 'string' ? this.#listings.get(name) : undefined
    if (!listing || listing.query !== query || listing.until < this.#now() || !Number.isSafeInteger(from))
      return badCursor()
    const start = from as number
    const end = start + limit
    const nextCursor = end < listing.ids.length ? encode([name, end]) : null
    return { items: listing.ids.slice(start, end), nextCursor }
  }

  #now(): number {
    return this.#clock.now() / 1000
  }

  #bound(): void {
    const now = this.#now()
    for (const [name, { ids, until }] of this.#listings) {
      if (this.#held <= alxLimits.listedIds && until >= now) return
      this.#listings.delete(name)
      this.#held -= ids.length
    }
  }
}

export function timelinePage(
  timeline: readonly SessionTimelineEvent[],
  query: string,
  cursor: string | undefined,
  limit: number,
): Page<SessionTimelineEvent> | ProtocolError {
  const place = cursor === undefined ? [query, -1, 0] : decode(cursor)
  if (!place || place[0] !== query || !Number.isSafeInteger(place[1]) || !Number.isSafeInteger(place[2]))
    return badCursor()
  const [timestamp, seq] = [place[1] as number, place[2] as number]
  const rest = timeline.filter(each => each.timestamp > timestamp || (each.timestamp === timestamp && each.seq > seq))
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  const more = rest.length > items.length && last !== undefined
  return { items, nextCursor: more ? encode([query, last.timestamp, last.seq]) : null }
}

/** `limit` of a query, undefined if it is none. */
export function pageSize(text: string | undefined): number | undefined {
  if (text === undefined) return limits.defaultPageSize
  const size = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  return size >= 1 && size <= limits.pageSize ? size : undefined
}

function encode(place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function decode(cursor: string): readonly unknown[] | undefined {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(place) ? place : undefined
  } catch {
    return undefined
  }
}

function badCursor(): ProtocolError {
  return protocolErrorOf('INVALID_CURSOR', 'This cursor does not belong to this query, or it is too old.', {
    suggestion: 'Begin again with the first page.',
  })
}
