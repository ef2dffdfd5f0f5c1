// Delta debugging: takes chunks out of a failing script as long as it still breaks the same invariant, down to single
// actions.
import type { Action } from './actions.ts'
import { type Outcome, type SimulateOptions, simulate } from './simulate.ts'

/** How many attempts a shrink may take; what it has by then is good enough. */
const MOST_ATTEMPTS = 2000

export interface Shrunk {
  readonly actions: readonly Action[]
  readonly outcome: Outcome
  readonly attempts: number
}

export async function shrink(
  seed: number,
  actions: readonly Action[],
  failed: Outcome,
  options: SimulateOptions = {},
): Promise<Shrunk> {
  let best = actions.slice(0, (failed.failure?.at ?? actions.length) + 1)
  let outcome = failed
  let attempts = 0
  for (let size = Math.ceil(best.length / 2); size >= 1; ) {
    let shrunk = false
    for (let from = 0; from < best.length && attempts < MOST_ATTEMPTS; ) {
      const candidate = [...best.slice(0, from), ...best.slice(from + size)]
      attempts++
      const tried = await simulate(seed, candidate, options)
      if (tried.failure?.invariant === failed.failure?.invariant) {
        best = candidate.slice(0, (tried.failure?.at ?? candidate.length) + 1)
        outcome = tried
        shrunk = true
      } else from += size
    }
    if (size === 1 && (!shrunk || attempts >= MOST_ATTEMPTS)) break
    if (size > 1) size = Math.ceil(size / 2)
  }
  return { actions: best, outcome, attempts }
}

/** A script as one word, and back. */
export function scriptOf(actions: readonly Action[]): string {
  return actions.map(({ kind, seed }) => `${kind}:${seed.toString(36)}`).join(',')
}

export function actionsOf(script: string): Action[] {
  return script
    .split(',')
    .filter(Boolean)
    .map(part => {
      const [kind, seed] = part.split(':')
      return { kind: kind as Action['kind'], seed: Number.parseInt(seed ?? '0', 36) }
    })
}
