// Random submissions: accepted exactly when they are acyclic and every reference stays inside, and written dependencies
// first.
import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import type { TaskDraft } from './task.ts'

/** Edges as pairs of positions; a position beyond the tasks is a reference to nothing. */
interface Submission {
  readonly size: number
  readonly edges: readonly (readonly [from: number, to: number])[]
}

/** Sparse and with few references outside, so that both outcomes are common. */
const submissions: fc.Arbitrary<Submission> = fc.integer({ min: 1, max: 9 }).chain(size => {
  const inside = fc.integer({ min: 0, max: size - 1 })
  const outside = fc.oneof({ weight: 30, arbitrary: inside }, { weight: 1, arbitrary: fc.constant(size) })
  // Half of them point upwards only: those have no circle.
  const upwards = fc
    .tuple(inside, outside)
    .map(([from, to]): [number, number] => [
      Math.max(from, Math.min(to, size - 1)),
      to === size ? to : Math.min(from, to),
    ])
  const any = fc.tuple(inside, outside)
  const forward = upwards.filter(([from, to]) => from !== to)
  return fc.record({
    size: fc.constant(size),
    edges: fc.oneof(fc.array(forward, { maxLength: 14 }), fc.array(any, { maxLength: 10 })),
  })
})

function draftsOf({ size, edges }: Submission): TaskDraft[] {
  return Array.from({ length: size }, (_, at) => ({
    key: `t${at}`,
    name: `t${at}`,
    description: '',
    depends_on: edges.filter(([from]) => from === at).map(([, to]) => `t${to}`),
  }))
}

/** The oracle: walks every path and looks whether it comes back. */
function faultOf({ size, edges }: Submission): 'ok' | 'unknown_dependency' | 'cycle' {
  if (edges.some(([, to]) => to >= size)) return 'unknown_dependency'
  const reaches = (start: number, at: number, seen: Set<number>): boolean =>
    edges.some(([from, to]) => {
      if (from !== at) return false
      if (to === start) return true
      if (seen.has(to)) return false
      seen.add(to)
      return reaches(start, to, seen)
    })
  return Array.from({ length: size }, (_, at) => at).some(at => reaches(at, at, new Set())) ? 'cycle' : 'ok'
}

async function orderOnTrail(f: Fixture): Promise<void> {
  const seen = new Set<string>()
  for (const { event_type, body } of await f.added()) {
    if (event_type !== 'task_created') continue
    const task = body as { readonly task_id: string; readonly depends_on: readonly string[] }
    for (const dependency of task.depends_on) expect(seen).toContain(dependency)
    seen.add(task.task_id)
  }
}

test('W-TASK-03 a submission is accepted exactly when it is acyclic and names only its own tasks', async () => {
  const f = await fixture()
  const outcomes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(submissions, async submission => {
      const expected = faultOf(submission)
      outcomes.set(expected, (outcomes.get(expected) ?? 0) + 1)
      await f.mark()
      const before = await f.run.read(run => [run.graphs.size, run.tasks.size, run.seq])
      const answer = await f.root.submitGraph(draftsOf(submission))
      expect(refused(answer)).toBe(expected)
      if (!answer.ok) {
        expect(await f.run.read(run => [run.graphs.size, run.tasks.size, run.seq])).toEqual(before)
        return
      }
      await orderOnTrail(f)
      // The ids come back in the order of the submission.
      const { tasks } = unwrap(await f.root.graph(answer.value.graph))
      const names = answer.value.tasks.map(id => tasks.find(task => task.id === id)?.name)
      expect(names).toEqual(draftsOf(submission).map(draft => draft.name))
    }),
    { numRuns: 200, seed: 6 },
  )
  expect([...outcomes.keys()].toSorted()).toEqual(['cycle', 'ok', 'unknown_dependency'])
  for (const count of outcomes.values()) expect(count).toBeGreaterThan(10)
})
