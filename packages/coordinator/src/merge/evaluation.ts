// Who judges finished work before it is merged, and the verdict. Judges are workspaces: their findings are on the
// trail, their cost is metered, and a restart runs them again.
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { JudgeFacts } from '../run/facts.ts'
import type { PlannedTask } from '../team/team.ts'

type JudgeKind = JudgeFacts['kind']

/** In the order in which they are asked: the cheap one first. */
export function judgedBy(task: PlannedTask): readonly JudgeKind[] {
  return [...(task.check ? (['check'] as const) : []), ...(task.review ? (['review'] as const) : [])]
}

/** Judges that may fail themselves before the work is turned down for want of a judgement. */
const JUDGE_ATTEMPTS = 2

type Next =
  | { readonly do: 'accept' | 'revise' | 'reject' }
  | { readonly do: 'ask'; readonly judge: JudgeKind }
  | { readonly do: 'wait' }

export function evaluate(work: ProjectedWorkspace, task: PlannedTask, projection: RunProjection): Next {
  const judges = projection.judges(work.id)
  for (const kind of judgedBy(task)) {
    const asked = judges.filter(({ facts }) => facts?.kind === kind)
    if (asked.some(each => each.ended === undefined)) return { do: 'wait' }
    const verdict = asked.flatMap(each => each.checkpoints).findLast(each => each.final)?.verdict
    if (verdict === 'accept') continue
    if (verdict !== undefined) return { do: verdict }
    return asked.length < JUDGE_ATTEMPTS ? { do: 'ask', judge: kind } : { do: 'reject' }
  }
  return { do: 'accept' }
}
