// Writes JSON byte for byte as Python's json.dumps does (ALP-ENV-04): compact, non-ASCII left raw; with sorted keys it
// is the canonical form, which is what is signed. On the wire numbers are printed alike, so that every reader sees the
// same kind (ALP-ENV-05).
import { ParleyError } from '@parley/core'
import { linkLimits } from '../limits.ts'
import { Float, isWireObject, type WireObject, type WireValue } from './value.ts'

interface Style {
  readonly sorted: boolean
  /** Whether to print a number that is infinite since it was read (1e400), as Python does. */
  readonly infinite: boolean
}

const CANONICAL: Style = { sorted: true, infinite: true }
const SORTED: Style = { sorted: true, infinite: false }
const WIRE: Style = { sorted: false, infinite: false }

/** The form that is signed, `depth` levels deep in a message. Throws `not_canonical` for a lone surrogate (rule 6). */
export function canonicalText(value: WireValue, depth = 0): string {
  return write(value, CANONICAL, depth)
}

/** ALP-ENV-03: what a signature covers, all but `alp.sig`, without a copy of the message. */
export function signedText(message: WireObject): string {
  const alp = message.alp!
  return writeMembers(message, CANONICAL, key =>
    key === 'alp' && isWireObject(alp)
      ? writeMembers(alp, CANONICAL, inner => (inner === 'sig' ? undefined : write(alp[inner]!, CANONICAL, 2)))
      : write(message[key]!, CANONICAL, 1),
  )
}

/** What is sent: members in their order, never NaN or Infinity. Throws `not_canonical` for what cannot be sent. */
export function wireText(value: WireValue, depth = 0): string {
  return write(value, WIRE, depth)
}

/** As `wireText`, with everything beyond ASCII escaped: for the files that the sheet wants so. */
export function asciiText(value: WireValue): string {
  return escaped(wireText(value))
}

/** As `asciiText`, with sorted keys. */
export function sortedAsciiText(value: WireValue): string {
  return escaped(write(value, SORTED, 0))
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function write(value: WireValue, style: Style, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      return writeNumber(value)
    case 'bigint':
      return String(value)
    case 'object':
      if (value === null) return 'null'
      if (value instanceof Float) return writeFloat(value.value, style)
      if (depth >= linkLimits.nesting) throw notCanonical(`nesting beyond ${linkLimits.nesting} levels, or a cycle,`)
      return Array.isArray(value) ? writeArray(value, style, depth) : writeObject(value as WireObject, style, depth)
    default:
      throw notCanonical(`a value of type ${typeof value}`)
  }
}

function writeArray(array: readonly WireValue[], style: Style, depth: number): string {
  let text = '['
  for (let index = 0; index < array.length; index++) {
    if (index > 0) text += ','
    text += write(array[index]!, style, depth + 1)
  }
  return `${text}]`
}

function writeObject(object: WireObject, style: Style, depth: number): string {
  return writeMembers(object, style, key => write(object[key]!, style, depth + 1))
}

/** `member` gives the text of a member, or undefined to leave it out. */
function writeMembers(object: WireObject, style: Style, member: (key: string) => string | undefined): string {
  const keys = Object.keys(object)
  if (style.sorted) sortByCodePoint(keys)
  let text = ''
  for (const key of keys) {
    const value = member(key)
    if (value !== undefined) text += `${text === '' ? '' : ','}${writeString(key)}:${value}`
  }
  return `{${text}}`
}

/** Texts that need no escape, as nearly all are. */
const PLAIN = /^[ !#-[\]-~]*$/

function writeString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw notCanonical('text with a lone surrogate')
  // Rule 3 is what JSON.stringify does to well-formed text.
  return JSON.stringify(text)
}

function writeNumber(value: number): string {
  if (!Number.isInteger(value)) return pythonFloat(finite(value))
  if (!Number.isSafeInteger(value)) throw notCanonical(`the number ${value}, which may be an integer or a float,`)
  return String(value + 0)
}

function writeFloat(value: number, style: Style): string {
  return pythonFloat(style.infinite && Math.abs(value) === Number.POSITIVE_INFINITY ? value : finite(value))
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw notCanonical(String(value))
  return value
}

/** The sizes that are written positionally (rule 5). There JavaScript has the same digits. */
const POSITIONAL_FROM = 1e-4
const POSITIONAL_BELOW = 1e16

/** `repr` of a Python float. */
export function pythonFloat(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const size = Math.abs(value)
  if (size >= POSITIONAL_FROM && size < POSITIONAL_BELOW) return Number.isInteger(value) ? `${value}.0` : String(value)
  const [mantissa, power] = value.toExponential().split('e') as [string, string]
  return `${mantissa}e${power[0]}${power.slice(1).padStart(2, '0')}`
}

const SURROGATE = /[\ud800-\udfff]/

/** Rule 1. Code units order as code points do unless surrogates meet what lies above them. */
function sortByCodePoint(keys: string[]): void {
  if (keys.length < 2) return
  keys.sort(keys.some(key => SURROGATE.test(key)) ? byCodePoint : undefined)
}

function byCodePoint(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return rank(a) - rank(b)
  }
  return left.length - right.length
}

/** A surrogate stands for a code point above all that one unit can hold. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

function notCanonical(what: string): ParleyError {
  return new ParleyError('not_canonical', `${what} has no form in an ALP message`)
}
