// The order of a plan: every task behind those that it needs, otherwise as in the file; and its cycles.
export interface Step {
  readonly id: string
  readonly needs: readonly string[]
}

/** Stable: of the tasks that could come next, the first in the file. For a plan without cycles and unknown needs. */
export function inOrder<T extends Step>(steps: readonly T[]): readonly T[] {
  const placed = new Set<string>()
  const ordered: T[] = []
  let waiting = [...steps]
  while (waiting.length > 0) {
    const next = waiting.find(({ needs }) => needs.every(id => placed.has(id)))
    if (!next) throw new RangeError('a plan with a cycle has no order')
    placed.add(next.id)
    ordered.push(next)
    waiting = waiting.filter(step => step !== next)
  }
  return ordered
}

/**
 * Cycles, each with its first id again at the end: `a → b → a` where a needs b and b needs a. Empty if and only if the
 * plan has none. Unknown needs are ignored.
 */
export function findCycles(steps: readonly Step[]): readonly (readonly string[])[] {
  const known = new Map(steps.map(step => [step.id, step]))
  const done = new Set<string>()
  const cycles: string[][] = []
  const trail: string[] = []
  const visit = (step: Step): void => {
    const open = trail.indexOf(step.id)
    if (open >= 0) {
      cycles.push([...trail.slice(open), step.id])
      return
    }
    if (done.has(step.id)) return
    trail.push(step.id)
    for (const id of step.needs) {
      const needed = known.get(id)
      if (needed) visit(needed)
    }
    trail.pop()
    done.add(step.id)
  }
  for (const step of known.values()) visit(step)
  return cycles
}
