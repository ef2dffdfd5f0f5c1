// Values for fuzzing, from a seed: some that fit a JSON Schema, and everything that trips programs up.
import type { JsonSchema as Schema } from './json-schema.ts'

export type Random = () => number

/** Numbers in [0, 1) from a 32-bit seed (mulberry32): the same on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}

export function pick<T>(random: Random, among: readonly T[]): T {
  return among[below(random, among.length)]!
}

const SOUND = [
  '',
  'api',
  'ä',
  'e\u0301',
  '\u{1f600}',
  '\u2028',
  '\ufeff',
  '\u0000',
  '\u202e',
  '"',
  '\\',
  '/',
  '<b>',
  ' ',
]
const ODD = [...SOUND, '\ud800', '\udc00', '__proto__', 'x'.repeat(300), '€'.repeat(3000), '../../etc/passwd', '%00']
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toJSON',
  'then',
  '',
  '0',
  'ä',
  '\ud800',
  'ok',
  'error',
  'status',
]
const NUMBERS = [0, -0, 1, -1, 0.5, 1e21, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, -(2 ** 53), 10_001]

/** Any JSON value. */
export function someJson(random: Random, depth = 0): unknown {
  switch (below(random, depth > 3 ? 4 : 6)) {
    case 0:
      return pick(random, [null, true, false])
    case 1:
      return pick(random, NUMBERS)
    case 2:
      return pick(random, ODD)
    case 3:
      return String.fromCharCode(...Array.from({ length: below(random, 8) }, () => below(random, 65_536)))
    case 4:
      return Array.from({ length: below(random, 4) }, () => someJson(random, depth + 1))
    default:
      return someObject(random, depth)
  }
}

export function someObject(random: Random, depth = 0): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (let members = below(random, 5); members > 0; members--)
    own(object, pick(random, NAMES), someJson(random, depth + 1))
  return object
}

/** As `JSON.parse` does it: a member of its own, whatever its name. */
export function own(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
}

/** An object that has a canonical text. */
function content(random: Random, depth = 0): Record<string, unknown> {
  const member = (): unknown =>
    depth < 3 && random() < 0.3
      ? content(random, depth + 1)
      : pick<unknown>(random, [true, 0, -0.5, 1e21, [1, ['x']], ...SOUND])
  return Object.fromEntries(Array.from({ length: below(random, 4) }, () => [`m${below(random, 9)}`, member()]))
}

/** Values for members that mean something, by their name. */
export type Meanings = Readonly<Record<string, (() => unknown) | undefined>>

/** A value that fits. */
export function fitting(random: Random, schema: Schema, resolve: (ref: string) => Schema, meanings: Meanings): unknown {
  const { $ref, properties, required = [], items, type, pattern, enum: all } = schema
  if ($ref !== undefined) return fitting(random, resolve($ref), resolve, meanings)
  if (all) return pick(random, all)
  if (type === 'object' && properties) {
    const members = Object.entries(properties).filter(([name]) => required.includes(name) || random() < 0.3)
    const fit = ([name, member]: [string, Schema]) =>
      [name, meanings[name] ? meanings[name]() : fitting(random, member, resolve, meanings)] as const
    return Object.fromEntries(members.map(fit))
  }
  if (type === 'object') return content(random)
  if (type === 'array') return items ? [fitting(random, items, resolve, meanings)] : []
  if (type === 'boolean') return random() < 0.5
  if (type === 'integer' || type === 'number') {
    const { minimum = 0, maximum = 1000 } = schema
    return minimum + below(random, maximum - minimum + 1)
  }
  return pattern === undefined ? someText(random, schema) : matching(random, pattern)
}

function someText(random: Random, { minLength = 0, maxLength = 60 }: Schema): string {
  const odd = random() < 0.5 ? pick(random, SOUND) : ''
  const length = pick(random, [minLength, maxLength, below(random, maxLength)])
  const text = `${'x'.repeat(Math.max(minLength, length - [...odd].length))}`
  return [...text].length + odd.length <= maxLength ? text + odd : text
}

const HEX = '0123456789abcdef'

function matching(random: Random, pattern: string): string {
  const some = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[below(random, alphabet.length)]).join('')
  if (pattern.startsWith('^0x')) return `0x${some(HEX, 64)}`
  if (pattern.startsWith('^(0|')) return pick(random, ['0', '1', '100', `1${some('0123456789', 77)}`])
  if (pattern.includes('\\.')) return pick(random, ['1.0', '1.1', '1.9999'])
  if (pattern.includes('={0,2}')) return Buffer.from(some(HEX, below(random, 40))).toString('base64')
  return some('abcXYZ019_-', 1 + below(random, 128))
}
