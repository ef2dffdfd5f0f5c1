// Holds a file against the schema and says what is wrong where. read.ts asks the compiled schema as well, so keywords
// that are unknown here are still enforced.
import type { PatternMeaning, TSchema } from '@parley/core'
import type { Located } from '@parley/core/yaml'
import { MEANINGS } from './patterns.ts'
import type { Finding, Path, TeamProblemCode } from './problem.ts'
import { count, didYouMean, either, quote } from './words.ts'

/** What a TypeBox schema is when one looks at it as JSON. */
interface Shape {
  readonly examples?: readonly unknown[]
  readonly type?: string
  /** Of different kinds each, so that a value says by itself which of them it wants to be. */
  readonly anyOf?: readonly Shape[]
  readonly const?: Scalar
  readonly enum?: readonly Scalar[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly propertyNames?: Shape
  readonly additionalProperties?: boolean | Shape
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly items?: Shape
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
}

type Scalar = Extract<Located, { readonly kind: 'scalar' }>['value']
type ListOrMap<Kind> = Extract<Located, { readonly kind: Kind }>

/** What each pattern of a schema asks for, in words. */
export type Meanings = ReadonlyMap<string, PatternMeaning>

export function shapeFindings(root: Located, schema: TSchema, meanings: Meanings = MEANINGS): readonly Finding[] {
  const walk = new Walk(meanings)
  walk.visit(root, schema as Shape, [])
  return walk.findings
}

class Walk {
  readonly findings: Finding[] = []
  readonly #meanings: Meanings

  constructor(meanings: Meanings) {
    this.#meanings = meanings
  }

  visit(value: Located, schema: Shape, path: Path): void {
    const meant = schema.anyOf?.find(each => isMeant(value, each))
    if (meant) {
      this.visit(value, meant, path)
      return
    }
    const problem = mismatch(value, schema)
    if (problem) {
      const message = () => `${subject(path)} ${complaint(value, schema, this.#meanings)}`
      this.#add(problem, value.at, path, message)
      return
    }
    if (value.kind === 'map') this.#visitMap(value, schema, path)
    else if (value.kind === 'list') this.#visitList(value, schema, path)
    else if (typeof value.value === 'string') this.#checkText(value.value, value.at, schema, path)
  }

  #visitMap(map: ListOrMap<'map'>, schema: Shape, path: Path): void {
    const { properties = {}, required = [], maxProperties = Infinity, additionalProperties: others } = schema
    if (map.entries.length > maxProperties) {
      const message = () => `${subject(path)} has ${map.entries.length} entries; at most ${maxProperties} are allowed.`
      this.#add('too_large', map.at, path, message)
      return
    }
    for (const { key, at, value } of map.entries) {
      const here = [...path, key]
      const known = Object.hasOwn(properties, key) ? properties[key] : others
      if (known === false) this.#add('unknown_key', at, here, () => unknownKey(key, schema))
      if (typeof known !== 'object') continue
      if (schema.propertyNames) this.#checkText(key, at, schema.propertyNames, here)
      this.visit(value, known, here)
    }
    const keys = new Set(map.entries.map(({ key }) => key))
    for (const key of required.filter(each => !keys.has(each))) {
      this.#add('missing_key', map.at, [...path, key], () => `The key ${quote(key)} is missing here.`)
    }
  }

  #visitList(list: ListOrMap<'list'>, schema: Shape, path: Path): void {
    const { items, minItems = 0, maxItems = Infinity } = schema
    const { length } = list.items
    if (length > maxItems) {
      const message = () => `${subject(path)} has ${count(length, 'item')}; at most ${maxItems} are allowed.`
      this.#add('too_large', list.at, path, message)
      return
    }
    if (length < minItems) {
      this.#add('bad_value', list.at, path, () => `${subject(path)} is empty. Fill it in or leave the key out.`)
    }
    const seen = new Set<Scalar>()
    list.items.forEach((item, index) => {
      const here = [...path, index]
      if (items) this.visit(item, items, here)
      if (!schema.uniqueItems || item.kind !== 'scalar') return
      const { value } = item
      if (seen.has(value)) this.#add('bad_value', item.at, here, () => `${described(item)} is in this list twice.`)
      seen.add(value)
    })
  }

  #checkText(text: string, at: number, schema: Shape, path: Path): void {
    const { pattern, minLength = 0, maxLength = Infinity } = schema
    // Counted in code points, as the draft of JSON Schema demands.
    const length = text.length > maxLength || text.length < 2 * minLength ? [...text].length : text.length
    if (length > maxLength) {
      const message = () => `${subject(path)} has ${length} characters; at most ${maxLength} are allowed.`
      this.#add('too_large', at, path, message)
    } else if (length < minLength) {
      this.#add('bad_value', at, path, () => `${subject(path)} is empty. Fill it in or leave the key out.`)
    } else if (pattern !== undefined && !compiled(pattern).test(text)) {
      const code = this.#meanings.get(pattern)?.code ?? 'bad_value'
      this.#add(code, at, path, () => `${quote(text)} is not ${expected(schema, this.#meanings)}.`)
    }
  }

  #add(code: TeamProblemCode, at: number, path: Path, message: () => string): void {
    this.findings.push({ code, at, path, message })
  }
}

const expressions = new Map<string, RegExp>()

function compiled(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? new RegExp(pattern, 'u')
  expressions.set(pattern, known)
  return known
}

function isMeant(value: Located, { type, enum: options }: Shape): boolean {
  if (options) return value.kind === 'scalar' && typeof value.value === 'string'
  return type !== undefined && isOfType(value, type)
}

/** Whether a value is of another kind than the schema asks for, or none of the values that it lists. */
function mismatch(value: Located, schema: Shape): TeamProblemCode | undefined {
  const { type, anyOf, minProperties = 0, minimum = -Infinity, maximum = Infinity } = schema
  // One that fits none of them in kind.
  if (anyOf) return 'wrong_type'
  const scalar = value.kind === 'scalar' ? value.value : undefined
  const options = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (options) {
    if (scalar !== undefined && options.includes(scalar)) return undefined
    return options.some(option => typeof option === typeof scalar) ? 'bad_value' : 'wrong_type'
  }
  if (minProperties > 0) {
    if (scalar === null || (value.kind === 'map' && value.entries.length < minProperties)) return 'no_agents'
  }
  if (type !== undefined && !isOfType(value, type)) return 'wrong_type'
  if (typeof scalar === 'number' && (scalar < minimum || scalar > maximum)) return 'bad_value'
  return undefined
}

function isOfType(value: Located, type: string): boolean {
  if (value.kind === 'list') return type === 'array'
  if (value.kind === 'map') return type === 'object'
  if (value.value === null) return type === 'null'
  if (type === 'integer') return Number.isInteger(value.value)
  if (type === 'number') return Number.isFinite(value.value)
  return typeof value.value === type
}

function complaint(value: Located, schema: Shape, meanings: Meanings): string {
  if (value.kind === 'scalar' && value.value === null) return `is empty; it must be ${expected(schema, meanings)}.`
  return `must be ${expected(schema, meanings)}, not ${described(value)}.${hint(value, schema)}`
}

function expected(schema: Shape, meanings: Meanings): string {
  if (schema.anyOf) return schema.anyOf.map(each => expected(each, meanings)).join(', or ')
  const { type, pattern, minimum, maximum, examples, minProperties = 0 } = schema
  const options = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (options) return either(options.map(String))
  if (pattern !== undefined && type === 'string') return meanings.get(pattern)?.expected ?? `text like ${pattern}`
  if (pattern !== undefined) return meanings.get(pattern)?.expected ?? `a name like ${pattern}`
  if (type === 'array') return examples?.[0] ? `a list, such as ${flow(examples[0])}` : 'a list'
  if (type === 'object') return minProperties > 0 ? 'a mapping with at least one entry' : 'a mapping of keys and values'
  if (type === 'string') return 'text'
  const range =
    minimum === undefined ? '' : maximum === undefined ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`
  if (type === 'integer') return `a whole number${range}`
  return type === 'boolean' ? 'true or false' : `a number${range}`
}

/** A list of words as one would write it in YAML. */
function flow(words: unknown): string {
  return Array.isArray(words) ? `[${words.join(', ')}]` : String(words)
}

function described(value: Located): string {
  if (value.kind === 'list') return 'a list'
  if (value.kind === 'map') return value.entries.length === 0 ? 'an empty mapping' : 'a mapping'
  if (value.value === null) return 'nothing'
  return typeof value.value === 'string' ? quote(value.value) : String(value.value)
}

function hint(value: Located, schema: Shape): string {
  if (value.kind !== 'scalar') return ''
  const isWord = typeof value.value === 'number' || typeof value.value === 'boolean'
  if (schema.type === 'string' && schema.pattern === undefined && isWord) return ' Put it in quotes.'
  if (schema.enum && typeof value.value === 'string') return didYouMean(value.value, schema.enum.map(String))
  return ''
}

function unknownKey(key: string, schema: Shape): string {
  const keys = Object.keys(schema.properties ?? {})
  if (key === '<<') return "Merge keys ('<<') are not part of YAML 1.2. Write the keys out."
  const nearest = didYouMean(key, keys)
  return `${quote(key)} is not a key that is known here.${nearest || ` The keys are ${keys.join(', ')}.`}`
}

function subject(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return 'A team file'
  if (typeof last === 'string') return quote(last)
  const list = path.findLast(part => typeof part === 'string')
  return `Item ${last + 1} of ${quote(list ?? '')}`
}
