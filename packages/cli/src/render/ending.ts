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

/** Where the result is, how it is taken over, and what is kept beside it. */
export function resultLines(view: RunView, width: number): readonly string[] {
  return [...placeLines(view, width), ...keptLines(view)]
}

interface Kept {
  readonly run: string
  readonly tasks: readonly PlanTaskView[]
}

/** Work that the result does not have. */
export function keptLines({ run, tasks }: Kept): readonly string[] {
  return tasks.flatMap(({ id, salvage }) => {
    if (salvage?.state !== 'kept') return []
    const { commit, files } = salvage
    const what = `${oneLine(id)}: ${plural(files.length, 'file')}${commit === undefined ? '' : `, commit ${shortHash(commit)}`}`
    return [`${'kept'.padEnd(8)}${what}`, `${''.padEnd(8)}parley salvage ${oneLine(id)} --run ${shortId(run)}`]
  })
}

function placeLines(view: RunView, width: number): readonly string[] {
  const { result, applied = [] } = view
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
          label('look', `parley diff ${shortId(view.run)}`),
          ...(applied.some(({ undone }) => undone === undefined)
            ? []
            : [label('take', `parley apply ${shortId(view.run)}`)]),
        ]
      : []),
    ...applied.map(({ branch, commit, how, undone }) =>
      label(
        undone === undefined ? 'applied' : 'undone',
        `${how === 'patch' ? 'staged' : `on ${oneLine(branch ?? 'HEAD')}, commit ${shortHash(commit)}`}`,
      ),
    ),
    ...(result.folder ? [label('result', `folder ${oneLine(result.folder)}`)] : []),
    ...(!result.branch && !result.folder ? [label('result', `commit ${result.commit}`)] : []),
  ]
}
