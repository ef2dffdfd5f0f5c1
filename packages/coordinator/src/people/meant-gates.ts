// Which gate or question a person means by a name, or by none: the one place that decides it.
import { ok, type Result } from '@parley/core'
import type { GateView } from '../view/people-view.ts'
import { refuse } from './acts.ts'

/**
 * Of what waits: the one whose id, or whose run's id, is `name` or begins with it, with or without its prefix. A run
 * also stands for its plan: every task of it that waits for approval. Without a name: the only one, or the only plan.
 * Refusals: `not_found`, `ambiguous` (details: `gates`), `invalid_state` for the other kind (details: `gate`).
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
  if (fitting[0]) return otherKind(fitting[0])
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
  return refuse('ambiguous', `${what}; name one of them.`, { gates: fitting.slice(0, 20).map(({ id }) => id) })
}

function otherKind({ id, kind, question }: GateView) {
  return refuse('invalid_state', `${id} is a ${kind}: ${question}`, { gate: id })
}
