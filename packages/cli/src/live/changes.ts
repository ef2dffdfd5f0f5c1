// What changed from one view of a run to the next, one line each: the live view where there is no terminal to draw on.
import type { PlanTaskView, RunView } from '../node/views.ts'
import { lasted, spend } from '../render/format.ts'
import type { Drawing } from '../render/tasks.ts'
import { firstLine, oneLine } from '../render/text.ts'
import { symbolOf } from '../render/tree.ts'

export function changeLines(
  before: RunView | undefined,
  view: RunView,
  drawing: Pick<Drawing, 'now'>,
): readonly string[] {
  const known = new Map(before?.tasks.map(task => [task.id, task]))
  const changed = view.tasks.filter(task => {
    const old = known.get(task.id)
    if (!old) return task.state !== 'waiting'
    return old.state !== task.state || old.attempt !== task.attempt
  })
  return changed.map(task => changeLine(task, view, drawing))
}

function changeLine(task: PlanTaskView, view: RunView, { now }: Pick<Drawing, 'now'>): string {
  const again = task.attempt > 1 ? ` attempt ${task.attempt} of ${task.attempts}` : ''
  const facts = task.ended ? [lasted(task.started, task.ended, now), spend(task.usage)] : []
  const note = task.note && task.state !== 'done' ? `: ${firstLine(task.note)}` : ''
  const progress = `[${view.tasks_done}/${view.tasks_total}]`
  const told = [`${oneLine(task.title)} (${oneLine(task.agent)}) ${task.state}${again}`, ...facts]
  return `${progress} ${symbolOf(task.state)} ${told.filter(part => part !== '').join(' ')}${note}`
}
