// The plan before it is approved: the tree of tasks, what each may change, and on request every task in full.

import type { PlanTaskView, RunView } from '../views.ts'
import { plural, shortId } from './format.ts'
import type { Paint } from './paint.ts'
import { type Drawing, taskLines } from './tasks.ts'
import { cut, oneLine } from './text.ts'

export function planLines(view: RunView, drawing: Drawing): readonly string[] {
  const { paint, width } = drawing
  return [
    paint('strong', cut(oneLine(view.intent), width)),
    cut(
      `team ${oneLine(view.team)}, ${plural(view.tasks.length, 'task')}, in ${oneLine(view.project)}`,
      width,
    ),
    '',
    ...taskLines(view.tasks, drawing).flatMap(({ lines }) => lines),
    ...warningLines(view, paint),
  ]
}

export function planDetails(view: RunView, { paint }: Pick<Drawing, 'paint'>): readonly string[] {
  return [
    `run      ${view.run}`,
    `project  ${oneLine(view.project)}`,
    `asked    ${oneLine(view.gates[0]?.question ?? '')}`,
    '',
    ...view.tasks.flatMap(task => taskDetails(task, paint)),
    paint('quiet', `Answer here, or later with \`parley approve ${shortId(view.run)}\`.`),
  ]
}

function taskDetails(task: PlanTaskView, paint: Paint): readonly string[] {
  return [
    `${paint('strong', oneLine(task.id))}: ${oneLine(task.title)}`,
    `  agent ${oneLine(task.agent)}, ${plural(task.attempts, 'attempt')} at most`,
    ...(task.needs.length > 0 ? [`  after ${task.needs.map(oneLine).join(', ')}`] : []),
    '',
  ]
}

export function warningLines(view: Pick<RunView, 'warnings'>, paint: Paint): readonly string[] {
  return view.warnings.map(each => paint('warning', `warning: ${oneLine(each)}`))
}
