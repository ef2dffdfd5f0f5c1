// Which gate or question a person means by a name, or by none: the one place that decides it.
import { meantIds, ok, type Result, refuse } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'
import { shorten } from '../team/words.ts'
import type { GateView } from '../view/people-view.ts'

type Meant = readonly [GateView, ...GateView[]]

/**
 * Of what waits: the one whose id is `name`, or begins or ends so. The name of a run stands for all tasks of its plan
 * that wait for approval, or for the only thing that waits in it; what names a gate never means a run. Without a name:
 * the only one, or the only plan. `all`: everything of this kind that waits in the run, or anywhere. Refuses with
 * `not_found`, `ambiguous` (details: `gates` and their `questions`), `invalid_state` for the other kind (details:
 * `gate`).
 */
export function meantGates(
  waiting: readonly GateView[],
  name: string | undefined,
  kind: GateView['kind'],
  all = false,
): Result<Meant> {
  const fitting = name === undefined ? waiting : namedBy(waiting, name)
  const [only, ...others] = fitting.filter(gate => gate.kind === kind)
  if (only) {
    const meant: Meant = [only, ...others]
    const named =
      name !== undefined &&
      meantIds(
        name,
        waiting.map(({ id }) => id),
      ).length > 0
    return others.length === 0 || (!named && (all || isPlan(meant))) ? ok(meant) : ambiguous(name, meant)
  }
  if (name === undefined) return refuse('not_found', 'Nothing is waiting for this answer.')
  const [other] = fitting
  if (other)
    return refuse('invalid_state', `${other.id} is a ${other.kind}: ${other.question}`, { details: { gate: other.id } })
  return refuse('not_found', `Nothing named '${name}' is waiting: it was already answered, or its run is over.`)
}

/** By their own ids and by those of their runs; a text that fits both names all of them, so that it is refused. */
function namedBy(waiting: readonly GateView[], name: string): readonly GateView[] {
  const gates = meantIds(
    name,
    waiting.map(({ id }) => id),
  )
  const runs = meantIds(
    name,
    waiting.map(({ run }) => run),
  )
  return waiting.filter(({ id, run }) => gates.includes(id) || runs.includes(run))
}

function isPlan([first, ...others]: Meant): boolean {
  return [first, ...others].every(({ run, type }) => run === first.run && type === 'task_approval')
}

function ambiguous(name: string | undefined, fitting: Meant) {
  const what =
    name === undefined
      ? `${fitting.length} things are waiting for an answer`
      : `'${name}' matches ${fitting.length} things that are waiting`
  const named = fitting.slice(0, coordinatorLimits.candidates)
  const whole = named.some(({ type }) => type === 'task_approval') ? ', or its run for a whole plan' : ''
  return refuse('ambiguous', `${what}; name one of them${whole}. Nothing was answered.`, {
    details: { gates: named.map(({ id }) => id), questions: named.map(each => questionIn(each, fitting)) },
  })
}

/** With what its run is for, where several runs wait. */
function questionIn({ question, run, intent }: GateView, all: Meant): string {
  return intent !== undefined && all.some(each => each.run !== run)
    ? `${question} (${run}: ${shorten(intent.replaceAll(/\s+/g, ' '), coordinatorLimits.activityLength)})`
    : question
}
