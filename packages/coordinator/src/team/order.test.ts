import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findCycles, inOrder, type Step } from './order.ts'

const step = (id: string, ...needs: string[]): Step => ({ id, needs })
const ids = (steps: readonly Step[]) => steps.map(({ id }) => id).join(' ')

test('a task comes behind those that it needs, and otherwise the file decides', () => {
  expect(ids(inOrder([step('a'), step('b'), step('c')]))).toBe('a b c')
  expect(ids(inOrder([step('a', 'd'), step('b'), step('c', 'b'), step('d')]))).toBe('b c d a')
})

test('a cycle is named from the task where it was entered, and each group of tasks once', () => {
  expect(findCycles([step('a', 'b'), step('b', 'c'), step('c', 'b')])).toEqual([['b', 'c', 'b']])
  expect(findCycles([step('a', 'a'), step('b', 'c'), step('c', 'b')])).toEqual([
    ['a', 'a'],
    ['b', 'c', 'b'],
  ])
  expect(findCycles([step('a', 'nobody'), step('b', 'a')])).toEqual([])
})

test('a plan has either an order or a cycle, and the order is right', () => {
  const plans = fc.array(fc.uniqueArray(fc.nat(11), { maxLength: 3 }), { maxLength: 12 })
  fc.assert(
    fc.property(plans, needs => {
      const steps = needs.map((each, index) =>
        step(`t${index}`, ...each.filter(id => id < needs.length).map(id => `t${id}`)),
      )
      const cycles = findCycles(steps)
      for (const cycle of cycles) {
        for (const [index, id] of cycle.slice(0, -1).entries()) {
          expect(steps.find(each => each.id === id)!.needs).toContain(cycle[index + 1])
        }
      }
      if (cycles.length > 0) return void expect(() => inOrder(steps)).toThrow(RangeError)
      const ordered = inOrder(steps)
      const place = new Map(ordered.map(({ id }, index) => [id, index]))
      expect(place.size).toBe(steps.length)
      for (const { id, needs } of ordered)
        for (const need of needs) expect(place.get(need)).toBeLessThan(place.get(id)!)
    }),
    { numRuns: 500 },
  )
})
