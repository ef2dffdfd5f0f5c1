// What can be wrong with the body of a request, one thing at a time.
import { limits } from '@alx/protocol'
import { below, own, pick, type Random, someJson } from './garbage.ts'
import type { JsonSchema } from './json-schema.ts'
import { type Context, type Draft, type Fault, resolved } from './operations.ts'

export type Holder = Record<string, unknown>

export function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Every object in a value. */
export function holders(value: unknown): readonly Holder[] {
  if (Array.isArray(value)) return value.flatMap(holders)
  return isHolder(value) ? [value, ...Object.values(value).flatMap(holders)] : []
}

interface Place {
  readonly holder: Holder
  readonly name: string
  readonly schema: JsonSchema
  readonly required: boolean
}

/** Members that the schema knows, whether they are there or not. */
function places(schema: JsonSchema, holder: unknown): readonly Place[] {
  const { $ref, properties = {}, required = [] } = schema
  if ($ref !== undefined) return places(resolved($ref), holder)
  if (!isHolder(holder)) return []
  return Object.entries(properties).flatMap(([name, member]) => [
    { holder, name, schema: member, required: required.includes(name) },
    ...places(member, holder[name]),
  ])
}

const takesBody = ({ body }: Draft, { operation }: Context) => operation.body !== undefined && body !== undefined
const hasBody = ({ body }: Draft) => body !== undefined
export const INVALID = ['INVALID_REQUEST'] as const

function atMember(name: string, spoil: (place: Place, random: Random) => void, which = (_: Place) => true): Fault {
  const found = ({ body }: Draft, { operation }: Context) => places(operation.body!, body).filter(which)
  return {
    name,
    fits: (draft, context) => takesBody(draft, context) && found(draft, context).length > 0,
    apply(draft, context) {
      const all = takesBody(draft, context) ? found(draft, context) : []
      if (all.length > 0) spoil(pick(context.random, all), context.random)
      return INVALID
    },
  }
}

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  string: [5, true, {}, ['a']],
  object: [5, 'x', [], true],
  array: [5, 'x', {}],
  boolean: ['true', 0, []],
  number: ['1', 7, 0.5, {}],
  integer: ['1', 0.5, {}],
}

export const BODY_FAULTS: readonly Fault[] = [
  atMember(
    'missing member',
    ({ holder, name }) => delete holder[name],
    ({ required }) => required,
  ),
  atMember('null', ({ holder, name }) => {
    holder[name] = null
  }),
  atMember('wrong type', ({ holder, name, schema }, random) => {
    const { type = 'object' } = schema.$ref === undefined ? schema : resolved(schema.$ref)
    holder[name] = pick(random, WRONG[type]!)
  }),
  atMember(
    'too long',
    ({ holder, name, schema }) => {
      holder[name] = 'x'.repeat(schema.maxLength! + 1)
    },
    ({ schema }) => schema.maxLength !== undefined,
  ),
  atMember(
    'wrong pattern',
    ({ holder, name }) => {
      holder[name] = 'a \u0000ä'
    },
    ({ schema }) => schema.pattern !== undefined,
  ),
  {
    name: 'unknown members',
    fits: hasBody,
    apply({ body }, { random }) {
      if (!body) return 'sound'
      const kept = holders([body.context, body.meta, body.envelope])
      for (let times = 1 + below(random, 3); times > 0; times--) {
        const holder = pick(random, holders(body))
        const name = pick(random, ['zz', 'ok', 'success', '__proto__', 'constructor', 'correlationId', ''])
        own(holder, name, kept.includes(holder) ? pick<unknown>(random, [null, 1, { a: null }]) : someJson(random))
      }
      return 'sound'
    },
  },
  {
    name: 'a deep unknown member',
    fits: hasBody,
    apply(draft, { random }) {
      if (draft.body) draft.raw = prefixed(draft.body, `"zz":${nested(200 + below(random, 3000))},`)
      return 'sound'
    },
  },
  {
    name: 'duplicate names',
    fits: ({ body }) => body !== undefined && Object.keys(body).length > 0,
    apply(draft, { random }) {
      const [first] = Object.keys(draft.body ?? {})
      if (first !== undefined) draft.raw = prefixed(draft.body!, `"${first}":${JSON.stringify(someJson(random))},`)
      return 'sound'
    },
  },
  {
    name: 'broken JSON',
    fits: hasBody,
    apply(draft, { random }) {
      const text = JSON.stringify(draft.body ?? {})
      draft.raw = Buffer.from(
        pick(random, [text.slice(0, 1 + below(random, text.length - 1)), `${text}}`, '{a:1}', 'NaN']),
      )
      return INVALID
    },
  },
  {
    name: 'no object',
    fits: hasBody,
    apply(draft, { random }) {
      draft.raw = Buffer.from(pick(random, ['[]', '[{}]', '5', '"x"', 'null', 'true', '1e999']))
      return INVALID
    },
  },
  {
    name: 'no body',
    fits: takesBody,
    apply(draft) {
      draft.raw = Buffer.alloc(0)
      return INVALID
    },
  },
  {
    name: 'too large',
    fits: (draft, { random }) => hasBody(draft) && random() < 0.03,
    apply(draft) {
      draft.raw = Buffer.alloc(limits.bodyBytes + 1, 0x20)
      return ['REQUEST_TOO_LARGE']
    },
  },
  {
    name: 'a large or deep context',
    fits: (_draft, { operation, random }) => operation.name === 'solve' && random() < 0.1,
    apply({ body }, { random }) {
      const context = pick(random, [
        { x: 'x'.repeat(limits.contextBytes) },
        JSON.parse(`{"x":${nested(80)}}`),
        { x: '\ud800' },
      ])
      if (body) body.context = context
      return INVALID
    },
  },
  {
    name: 'wrong content type',
    fits: hasBody,
    apply(draft, { random }) {
      draft.headers['content-type'] = pick(random, [
        'text/plain',
        'application/xml',
        'multipart/form-data',
        'application/jsonx',
      ])
      return ['UNSUPPORTED_MEDIA_TYPE']
    },
  },
]

function nested(levels: number): string {
  return `${'['.repeat(levels)}1${']'.repeat(levels)}`
}

function prefixed(body: object, text: string): Buffer {
  const whole = JSON.stringify(body)
  return Buffer.from(`{${whole === '{}' ? text.slice(0, -1) : text}${whole.slice(1)}`)
}
