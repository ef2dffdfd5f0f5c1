// Which gate or question a person means by a name, or by none: the one place that decides it.
import { ok, type Result, refuse } from '@parley/core'
import type { GateView } from '../view/people-view.ts'

/**
 * Of what waits: the one whose id, or whose run's id, is `name` or begins with it, with or without its prefix. A run
 * stands for all tasks of its plan that wait for approval. Without a name: the only one, or the only plan. Refuses with
 * `not_found`, `ambiguous` (details: `gates`), `invalid_state` for the other kind (details: `gate`).
 */
export function meantGates(
  waiting: readonly GateView[],
  name: string | undefined,
  kind: GateView['kind'],
): Result<readonly [GateView, ...GateView[]]> {
  const fitting = waiting.filter(gate => name === undefined || fits(gate, name))
  const exact = fitting.filter(({ id }) => id === name)
  const [only, ...others] = (exact.length > 0 ? exact : fitting).filter(gate => gate.kind === kind)
  if (only) {
    const isPlan = [only, ...others].every(({ run, type }) => run === only.run && type === 'task_approval')
    return others.length === 0 || isPlan ? ok([only, ...others]) : ambiguous(name, [only, ...others])
  }
  if (name === undefined) return refuse('not_found', 'Nothing is waiting for this answer.')
  const [other] = fitting
  if (other)
    return refuse('invalid_state', `${other.id} is a ${other.kind}: ${other.question}`, { details: { gate: other.id } })
  return refuse('not_found', `Nothing named '${name}' is waiting: it was already answered, or its run is over.`)
}

function fits({ id, run }: GateView, name: string): boolean {
  return [id, run].some(each => each.startsWith(name) || each.slice(each.indexOf('_') + 1).startsWith(name))
}

function ambiguous(name: string | undefined, fitting: readonly GateView[]) {
  const what =
    name === undefined
      ? `${fitting.length} things are waiting for an answer`
      : `'${name}' matches ${fitting.length} things that are waiting`
  return refuse('ambiguous', `${what}; name one of them.`, {
    details: { gates: fitting.slice(0, 20).map(({ id }) => id) },
  })
}
