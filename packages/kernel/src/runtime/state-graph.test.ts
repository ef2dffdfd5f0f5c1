// Any plain state comes back as it was, however it is linked, and no piece of the work is long.
import { trailLimits } from '@parley/trail'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { decodeGraph, encodeGraph, type Pieces } from './actor/state-graph.ts'

function finish<Result>(work: Pieces<Result>): { readonly result: Result; readonly pieces: number } {
  for (let pieces = 1; ; pieces++) {
    const step = work.next()
    if (step.done) return { result: step.value, pieces }
  }
}

function copy<T extends object>(state: T): T {
  return finish(decodeGraph(finish(encodeGraph(state)).result!)).result as T
}

const primitive = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.bigInt(),
  fc.constantFrom(null, undefined, -0, 2 ** 29, -(2 ** 29), 2 ** 29 - 1, '\ud800', ''),
)
const { state } = fc.letrec(tie => ({
  state: fc.dictionary(fc.string({ maxLength: 12 }), tie('value'), { noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 6 },
    primitive,
    tie('state'),
    fc.array(tie('value'), { maxLength: 8 }),
    fc.array(fc.tuple(primitive, tie('value')), { maxLength: 8 }).map(entries => new Map(entries)),
    fc.array(primitive, { maxLength: 8 }).map(items => new Set(items)),
  ),
}))

test('whatever plain data a state holds comes back', () => {
  fc.assert(
    fc.property(state, value => {
      expect(copy(value as object)).toStrictEqual(value)
    }),
  )
})

test('what is reached in two ways is one object again, in cycles too', () => {
  interface Knot {
    readonly name: string
    readonly parent: Knot | null
    readonly children: Knot[]
    readonly seen: Map<Knot, Set<Knot>>
  }
  const knot = (name: string, parent: Knot | null): Knot => ({ name, parent, children: [], seen: new Map() })
  const root = knot('root', null)
  const child = knot('child', root)
  root.children.push(child, root)
  child.seen.set(root, new Set([child, root]))
  const back = copy({ root, child })
  expect(back.root.children).toEqual([back.child, back.root])
  expect(back.child.parent).toBe(back.root)
  const [[key, set]] = [...back.child.seen] as [[Knot, Set<Knot>]]
  expect(key).toBe(back.root)
  expect([...set]).toEqual([back.child, back.root])
  expect([...set][0]).toBe(back.child)
})

test('keys of every kind are kept in their order', () => {
  const odd = JSON.parse('{"b":1,"__proto__":{"x":1},"2":0,"1":0,"constructor":2,"":3}') as object
  const back = copy(odd)
  expect(Object.keys(back)).toEqual(Object.keys(odd))
  expect(back).toEqual(odd)
  expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
})

test('a tree may be deeper than the stack', () => {
  interface Deep {
    readonly below: Deep | undefined
  }
  let deep: Deep = { below: undefined }
  for (let depth = 0; depth < 100_000; depth++) deep = { below: deep }
  let depth = 0
  for (let each: Deep | undefined = copy(deep); each.below; each = each.below) depth++
  expect(depth).toBe(100_000)
})

test('large states are written and read in many pieces, one large map among them', () => {
  const size = kernelLimits.stateCachePiece * 4
  const map = new Map(Array.from({ length: size }, (_, index) => [`key ${index}`, { index, text: `text ${index}` }]))
  const { result, pieces } = finish(encodeGraph({ map }))
  expect(pieces).toBeGreaterThan(12)
  const read = finish(decodeGraph(result!))
  expect(read.pieces).toBeGreaterThan(12)
  expect((read.result as { map: Map<string, object> }).map).toEqual(map)
})

describe('what is no plain data is refused', () => {
  class Instance {}
  test.each<readonly [string, unknown]>([
    ['a Function', () => 1],
    ['a symbol', Symbol('s')],
    ['a Instance', new Instance()],
    ['a Date', new Date(0)],
    ['a Uint8Array', new Uint8Array(1)],
  ])('%s', (_name, value) => {
    expect(() => finish(encodeGraph({ list: [{ value }] }))).toThrow(TypeError)
  })
})

test('a state above the limit is not written', () => {
  expect(finish(encodeGraph({ text: 'x'.repeat(trailLimits.stateBytes + 1) })).result).toBeUndefined()
})
