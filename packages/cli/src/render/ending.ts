// What a person reads when a run is over: the verdict, the troubles, the files, and where the result is.
import { cliLimits } from '../limits.ts'
import type { PlanTaskView, RunState, RunView } from '../node/views.ts'
import { between, duration, plural, shortHash, shortId, spendInFull } from './format.ts'
import { RUN_TONES } from './live.ts'
import { warningLines } from './plan.ts'
import { answerLines } from './steps.ts'
import { type Drawing, fileNotes } from './tasks.ts'
import { cut, oneLine } from './text.ts'
import { symbolOf } from './tree.ts'

const VERDICTS: Readonly<Record<RunState, string>> = {
  waiting: 'Waiting for an answer',
  working: 'Working',
  done: 'Done',
  failed: 'Failed',
  rejected: 'Rejected',
  aborted: 'Aborted',
}

export function endingLines(view: RunView, drawing: Drawing): readonly string[] {
  const { now, paint, width } = drawing
  const took = duration(between(view.started, view.ended, now) ?? 0)
  const spent = spendInFull(view.usage)
  const facts = [`${view.tasks_done} of ${plural(view.tasks_total, 'task')}`, took, spent].filter(Boolean)
  const verdict = `${paint(RUN_TONES[view.state], `${VERDICTS[view.state]}.`)} ${facts.join(' · ')}`
  return [
    ...answerLines(view, drawing),
    verdict,
    ...(view.reason ? [`why: ${oneLine(view.reason)}`] : []),
    ...troubles(view),
    ...warningLines(view, paint),
    ...resultLines(view, width),
    `${'record'.padEnd(8)}parley trail verify ${shortId(view.run)}`,
  ]
}

function troubles(view: RunView): readonly string[] {
  const known = oneLine(view.reason ?? '')
  // The reason of the run often repeats the note of a task.
  const isTold = (task: PlanTaskView) =>
    task.note !== undefined && fileNotes(task).length === 0 && known.includes(oneLine(task.note))
  return view.tasks
    .filter(task => (task.state === 'failed' || fileNotes(task).length > 0) && !isTold(task))
    .map(task => {
      const note = task.note && !known.includes(oneLine(task.note)) ? `: ${oneLine(task.note)}` : ''
      const files = fileNotes(task).map(text => ` (${text})`)
      return `  ${symbolOf(task.state)} ${oneLine(task.title)} ${task.state}${note}${files.join('')}`
    })
}

export function resultLines(view: Pick<RunView, 'result' | 'result_unknown'>, width: number): readonly string[] {
  const { result } = view
  if (view.result_unknown) return [`result  not known: ${oneLine(view.result_unknown)}`]
  const nothing = !result || (result.files.length === 0 && !result.branch && !result.folder)
  if (nothing) return ['result  no changes']
  const shown = result.files.slice(0, cliLimits.files)
  const rest = result.files.length - shown.length
  const label = (name: string, text: string) => `${name.padEnd(8)}${text}`
  return [
    label('files', result.files.length === 0 ? 'none changed' : `${result.files.length} changed`),
    ...shown.map(file => cut(`  ${oneLine(file)}`, width)),
    ...(rest > 0 ? [`  … and ${rest} more`] : []),
    ...(result.branch
      ? [
          label('result', `branch ${oneLine(result.branch)}`),
          label('look', `git diff ${shortHash(result.base)}..${oneLine(result.branch)}`),
        ]
      : []),
    ...(result.folder ? [label('result', `folder ${oneLine(result.folder)}`)] : []),
    ...(!result.branch && !result.folder ? [label('result', `commit ${result.commit}`)] : []),
  ]
}
