// Reads JSON as Python does, as far as bytes on a wire can tell (ALP-ENV-04): numbers keep their kind, the last of
// equal keys counts, and nesting and digits are bounded. NaN and Infinity are not JSON here.
import { isUtf8 } from 'node:buffer'
import { linkLimits } from '../limits.ts'
import { Float, type WireValue } from './value.ts'

/** The value; undefined unless the bytes are one JSON text within the bounds. */
export function parseWire(bytes: Uint8Array): WireValue | undefined {
  if (!isUtf8(bytes)) return undefined
  return parseText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
}

export function parseText(text: string): WireValue | undefined {
  try {
    return new Parser(text).whole()
  } catch (thrown) {
    if (thrown === NOT_JSON) return undefined
    throw thrown
  }
}

const NOT_JSON = new Error('not JSON')
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y
const HEX = /[0-9a-fA-F]{4}/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: those that a string may not hold as they are.
const SPECIAL = /[\u0000-\u001f\\]/
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
/** Digits that every double holds exactly. */
const SAFE_DIGITS = 15

/** Inherits nothing, so that `__proto__` is a key like any other; a class, since the engine keeps its objects fast. */
class Members {
  [key: string]: WireValue
}
Object.setPrototypeOf(Members.prototype, null)
Reflect.deleteProperty(Members.prototype, 'constructor')

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): WireValue {
    const value = this.#value()
    this.#space()
    if (this.#at !== this.#text.length) throw NOT_JSON
    return value
  }

  #value(): WireValue {
    this.#space()
    switch (this.#text.charCodeAt(this.#at)) {
      case QUOTE:
        return this.#string()
      case 0x7b:
        return this.#object()
      case 0x5b:
        return this.#array()
      case 0x74:
        return this.#literal('true', true)
      case 0x66:
        return this.#literal('false', false)
      case 0x6e:
        return this.#literal('null', null)
      default:
        return this.#number()
    }
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  /** Takes the next character if it is this one. */
  #next(code: number): boolean {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== code) return false
    this.#at++
    return true
  }

  #enter(): void {
    this.#at++
    if (++this.#depth > linkLimits.nesting) throw NOT_JSON
  }

  #object(): WireValue {
    this.#enter()
    const object = new Members()
    if (!this.#next(0x7d)) {
      do {
        this.#space()
        if (this.#text.charCodeAt(this.#at) !== QUOTE) throw NOT_JSON
        const key = this.#string()
        if (!this.#next(0x3a)) throw NOT_JSON
        object[key] = this.#value()
      } while (this.#next(0x2c))
      if (!this.#next(0x7d)) throw NOT_JSON
    }
    this.#depth--
    return object
  }

  #array(): WireValue {
    this.#enter()
    const array: WireValue[] = []
    if (!this.#next(0x5d)) {
      do array.push(this.#value())
      while (this.#next(0x2c))
      if (!this.#next(0x5d)) throw NOT_JSON
    }
    this.#depth--
    return array
  }

  #literal(word: string, value: boolean | null): boolean | null {
    if (!this.#text.startsWith(word, this.#at)) throw NOT_JSON
    this.#at += word.length
    return value
  }

  #string(): string {
    // Nearly all strings hold nothing special, which the platform finds out faster than a loop.
    const end = this.#text.indexOf('"', this.#at + 1)
    if (end < 0) throw NOT_JSON
    const plain = this.#text.slice(this.#at + 1, end)
    if (SPECIAL.test(plain)) return this.#specialString()
    this.#at = end + 1
    return plain
  }

  #specialString(): string {
    let text = ''
    let from = ++this.#at
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      // Also where the text ends: NaN is not greater than anything.
      if (!(code >= 0x20)) throw NOT_JSON
      if (code !== QUOTE && code !== BACKSLASH) {
        this.#at++
        continue
      }
      text += this.#text.slice(from, this.#at)
      this.#at++
      if (code === QUOTE) return text
      text += this.#escape()
      from = this.#at
    }
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#at++)
    if (letter !== 'u') return ESCAPES[letter] ?? notJson()
    HEX.lastIndex = this.#at
    const digits = HEX.exec(this.#text)?.[0] ?? notJson()
    this.#at += digits.length
    return String.fromCharCode(Number.parseInt(digits, 16))
  }

  #number(): WireValue {
    NUMBER.lastIndex = this.#at
    const found = NUMBER.exec(this.#text)
    if (!found) throw NOT_JSON
    const lexeme = found[0]
    this.#at += lexeme.length
    if (found[1] === undefined && found[2] === undefined) return integer(lexeme)
    const value = Number(lexeme)
    return Number.isInteger(value) || !Number.isFinite(value) ? new Float(value) : value
  }
}

function integer(lexeme: string): number | bigint {
  const digits = lexeme.startsWith('-') ? lexeme.length - 1 : lexeme.length
  // Python has no integer minus zero.
  if (digits <= SAFE_DIGITS) return Number(lexeme) + 0
  if (digits > linkLimits.integerDigits) throw NOT_JSON
  const exact = BigInt(lexeme)
  const value = Number(exact)
  return Number.isSafeInteger(value) ? value : exact
}

function notJson(): never {
  throw NOT_JSON
}
