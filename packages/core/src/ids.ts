// Ids: opaque text, globally unique, ordered by time of creation inside one process (which no reader may rely
// on, W-TRAIL-01). `<prefix>_` and 26 characters of Crockford base 32: 48 bits of milliseconds, 80 random bits.
import { invariant } from './assert.ts'
import type { Brand } from './brand.ts'
import { limits } from './limits.ts'

export type RunId = Brand<string, 'RunId'>
export type WorkspaceId = Brand<string, 'WorkspaceId'>
export type EntryId = Brand<string, 'EntryId'>
export type ObjectId = Brand<string, 'ObjectId'>
export type UserId = Brand<string, 'UserId'>
export type TaskId = Brand<string, 'TaskId'>
export type GraphId = Brand<string, 'GraphId'>
export type EnvelopeId = Brand<string, 'EnvelopeId'>
export type SignalId = Brand<string, 'SignalId'>
export type CheckpointId = Brand<string, 'CheckpointId'>
export type GateId = Brand<string, 'GateId'>
export type RightId = Brand<string, 'RightId'>

export interface IdSource {
  /** A new id, greater than every one before it with the same prefix. A prefix is 1 to 32 of `a-z 0-9 _`. */
  next(prefix: string): string
}

const idForm = new RegExp(`^[\\x21-\\x7e]{1,${limits.idLength}}$`)
const prefixForm = /^[a-z][a-z0-9_]{0,31}$/

/** Whether a text can be an id at all: 1 to 64 visible ASCII characters. */
export function isId(text: unknown): text is string {
  return typeof text === 'string' && idForm.test(text)
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** The two characters of every 10-bit value. */
const pairs = Array.from({ length: 1024 }, (_, value) => `${alphabet[value >> 5]}${alphabet[value & 31]}`)

const bits20 = 2 ** 20
const bits40 = 2 ** 40

function encode20(value: number): string {
  return pairs[value >> 10]! + pairs[value & 1023]!
}

function encode40(value: number): string {
  const low = value % bits20
  return encode20((value - low) / bits20) + encode20(low)
}

function encodeTime(milliseconds: number): string {
  const low = milliseconds % bits40
  return pairs[(milliseconds - low) / bits40]! + encode40(low)
}

type Fill = (bytes: Uint8Array<ArrayBuffer>) => void

const poolBytes = 4096

/** Both sources share this: a time, and random bytes drawn in batches. */
class TimeOrderedIds implements IdSource {
  readonly #milliseconds: () => number
  readonly #fill: Fill
  readonly #pool = new Uint8Array(poolBytes)
  #used = poolBytes
  #time = -1
  #high = 0
  #low = 0
  #head = ''
  #knownPrefix: string | undefined

  constructor(milliseconds: () => number, fill: Fill) {
    this.#milliseconds = milliseconds
    this.#fill = fill
  }

  next(prefix: string): string {
    if (prefix !== this.#knownPrefix) {
      invariant(prefixForm.test(prefix), 'an id prefix is 1 to 32 of a-z, 0-9 and _')
      this.#knownPrefix = prefix
    }
    const time = Math.floor(this.#milliseconds())
    if (time > this.#time) this.#restart(time)
    else this.#step()
    return `${prefix}_${this.#head}${encode40(this.#low)}`
  }

  #restart(time: number): void {
    this.#time = time
    this.#high = this.#random32() * 256 + (this.#random32() & 255)
    this.#low = this.#random32() * 256 + (this.#random32() & 255)
    this.#head = encodeTime(this.#time) + encode40(this.#high)
  }

  /** The same millisecond, or a clock that stepped back: the random part counts up in random steps. */
  #step(): void {
    this.#low += 1 + (this.#random32() >>> 8)
    if (this.#low < bits40) return
    this.#low -= bits40
    this.#high += 1
    if (this.#high === bits40) this.#restart(this.#time + 1)
    else this.#head = encodeTime(this.#time) + encode40(this.#high)
  }

  #random32(): number {
    if (this.#used === poolBytes) {
      this.#fill(this.#pool)
      this.#used = 0
    }
    const at = this.#used
    this.#used = at + 4
    const pool = this.#pool
    return ((pool[at]! << 24) | (pool[at + 1]! << 16) | (pool[at + 2]! << 8) | pool[at + 3]!) >>> 0
  }
}

/** Ids for real use, from the machine's clock and its cryptographic random source. */
export class SystemIds extends TimeOrderedIds {
  constructor(milliseconds: () => number = Date.now, fill: Fill = bytes => crypto.getRandomValues(bytes)) {
    super(milliseconds, fill)
  }
}

/** Ids for tests and simulation: the same seed gives the same ids. */
export class SeededIds extends TimeOrderedIds {
  constructor(seed: number) {
    let count = 0
    let state = seed >>> 0
    const fill: Fill = bytes => {
      for (let at = 0; at < bytes.length; at++) {
        state = (state + 0x9e3779b9) >>> 0
        bytes[at] = mix(state)
      }
    }
    super(() => count++, fill)
  }
}

/** The finalizer of splitmix32. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return mixed ^ (mixed >>> 15)
}

// Ids as people read and type them: the prefix and the last characters. Ids of one moment begin alike; their ends
// differ.

/** Characters after the prefix, where that many tell the ids apart that are shown together. */
const SHORTEST = 6
/** An end that is shorter than this is more likely a slip than an id. */
const LEAST_TYPED = 4

/** The short forms of ids that are shown together: all equally long, no two alike. */
export function shortIds(ids: Iterable<string>): (id: string) => string {
  const all = [...new Set(ids)]
  let length = SHORTEST
  while (new Set(all.map(id => shortened(id, length))).size < all.length) length++
  return id => shortened(id, length)
}

export function shortId(id: string): string {
  return shortened(id, SHORTEST)
}

function shortened(id: string, length: number): string {
  const start = id.lastIndexOf('_') + 1
  return id.slice(0, start) + id.slice(Math.max(start, id.length - length))
}

/** The ids that a text may mean: the id itself, or else each that begins or ends so, with or without the prefix. */
export function meantIds<Id extends string>(text: string, ids: Iterable<Id>): readonly Id[] {
  const all = [...new Set(ids)]
  const exact = all.find(id => id === text)
  return exact === undefined ? all.filter(id => isMeant(text, id)) : [exact]
}

function isMeant(text: string, id: string): boolean {
  if (text === '') return false
  const start = id.lastIndexOf('_') + 1
  const end = text.startsWith(id.slice(0, start)) ? text.slice(start) : text
  const rest = id.slice(start)
  return id.startsWith(text) || rest.startsWith(text) || (end.length >= LEAST_TYPED && rest.endsWith(end))
}
