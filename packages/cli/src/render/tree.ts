// The tasks of a run as a tree: each once, below the last task in the plan that it needs, with its other needs named.
import type { PlanTaskView, TaskState } from '../node/views.ts'
import type { Tone } from './paint.ts'

export interface TreeRow {
  readonly task: PlanTaskView
  /** In front of the task, for example `│  └─ `. */
  readonly branch: string
  /** In front of remarks below the task. */
  readonly below: string
  /** Its needs besides the task above it. */
  readonly also: readonly string[]
}

const LOOKS: Readonly<Record<TaskState, readonly [symbol: string, tone: Tone]>> = {
  waiting: ['·', 'quiet'],
  gated: ['?', 'warning'],
  ready: ['○', 'quiet'],
  working: ['●', 'active'],
  blocked: ['!', 'warning'],
  suspended: ['=', 'warning'],
  migrating: ['→', 'active'],
  conflicted: ['≠', 'warning'],
  reviewing: ['◆', 'active'],
  integrating: ['◇', 'active'],
  done: ['✓', 'good'],
  failed: ['✗', 'bad'],
  cancelled: ['-', 'quiet'],
}

export const symbolOf = (state: TaskState) => LOOKS[state][0]
export const toneOf = (state: TaskState) => LOOKS[state][1]

export function treeOf(tasks: readonly PlanTaskView[]): readonly TreeRow[] {
  const place = new Map(tasks.map((task, index) => [task.id, index]))
  const children = new Map<string | undefined, PlanTaskView[]>()
  for (const task of tasks) {
    const parent = parentOf(task, place)
    children.set(parent, [...(children.get(parent) ?? []), task])
  }
  const rows: TreeRow[] = []
  const visit = (parent: string | undefined, stem: string) => {
    const list = children.get(parent) ?? []
    list.forEach((task, index) => {
      const last = index === list.length - 1
      const below = `${stem}${last ? '   ' : '│  '}`
      const also = task.needs.filter(need => need !== parent && place.has(need))
      rows.push({ task, branch: `${stem}${last ? '└─ ' : '├─ '}`, below, also })
      visit(task.id, below)
    })
  }
  visit(undefined, '')
  return rows
}

/** Only an earlier task can be the parent, so that even a cyclic plan ends. */
function parentOf(task: PlanTaskView, place: ReadonlyMap<string, number>): string | undefined {
  const own = place.get(task.id)!
  const before = task.needs.filter(need => (place.get(need) ?? own) < own)
  const [needed] = before.sort((one, other) => place.get(other)! - place.get(one)!)
  return needed ?? (task.parent !== undefined && place.has(task.parent) ? task.parent : undefined)
}
