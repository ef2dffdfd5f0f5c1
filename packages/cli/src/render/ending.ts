// What a person reads when a run is over: the verdict, the troubles, the files, and where the result is.
import { cliLimits } from '../limits.ts'
import type { PlanTaskView, RunState, RunView } from '../node/views.ts'
import { between, duration, plural, shortHash, shortId, spendInFull } from './format.ts'
import { RUN_TONES } from './live.ts'
import { warningLines } from './plan.ts'
import { answerLines } from './steps.ts'
import { type Drawing, fileNotes } from './tasks.ts'
import { cut, hanging, oneLine, reasonLines } from './text.ts'
import { symbolOf } from './tree.ts'

const VERDICTS: Readonly<Record<RunState, string>> = {
  waiting: 'Waiting for an answer',
  working: 'Working',
  done: 'Done',
  failed: 'Failed',
  rejected: 'Rejected',
  aborted: 'Aborted',
}

/** `folds`: a long answer is cut, with a hint where all of it is. */
export function endingLines(view: RunView, drawing: Drawing, folds: boolean): readonly string[] {
  const { now, paint, width } = drawing
  const took = duration(between(view.started, view.ended, now) ?? 0)
  const spent = spendInFull(view.usage)
  const facts = [`${view.tasks_done} of ${plural(view.tasks_total, 'task')}`, took, spent].filter(Boolean)
  const verdict = `${paint(RUN_TONES[view.state], `${VERDICTS[view.state]}.`)} ${facts.join(' · ')}`
  return [
    ...answerLines(view, drawing, folds),
    verdict,
    ...troubles(view, width),
    ...warningLines(view, paint),
    ...resultLines(view, width),
    ...lookLines(view),
    `${'record'.padEnd(8)}parley trail verify ${shortId(view.run)}`,
  ]
}

/** Where to read what came before the end of a task that failed. */
function lookLines({ run, state, tasks }: RunView): readonly string[] {
  if (state === 'done') return []
  const failed = tasks.find(task => task.state === 'failed' && task.steps.length > 0)
  const how = failed ? `parley log ${oneLine(failed.id)} --run ${shortId(run)}` : `parley show ${shortId(run)}`
  return [`${'more'.padEnd(8)}${how}`]
}

/** What stopped the run, and each task that failed or has files that deserve a look. */
function troubles(view: RunView, width: number): readonly string[] {
  const { reason = '' } = view
  const told = view.tasks.filter(task => task.state === 'failed' || fileNotes(task).length > 0)
  // The reason of the run often repeats the note of a task.
  const known = told.some(({ note }) => note !== undefined && reason.endsWith(note))
  return [
    ...(reason === '' || known ? [] : reasonLines('why: ', reason, width)),
    ...told.flatMap(task => {
      const lead = `  ${symbolOf(task.state)} `
      const what = task.state === 'failed' && task.note ? `: ${task.note}` : ` ${task.state}`
      return [
        ...reasonLines(lead, `${oneLine(task.title)}${what}`, width),
        ...fileNotes(task).flatMap(text => hanging('    ', text, width)),
      ]
    }),
  ]
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

/** Of a run that is not done, the result has only a part. */
function partOf({ state, tasks, tasks_done, tasks_total }: RunView): string {
  const salvaged = tasks.filter(
    task => task.parent === undefined && task.state !== 'done' && task.salvage?.state === 'merged',
  )
  return state === 'done' ? '' : ` (takes ${tasks_done + salvaged.length} of ${plural(tasks_total, 'task')})`
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
    ...shown.map(file => cut(`  ${oneLine(file)}${result.deleted?.includes(file) ? ' (deleted)' : ''}`, width)),
    ...(rest > 0 ? [`  … and ${rest} more`] : []),
    ...(result.branch || result.folder
      ? [
          label('result', result.branch ? `branch ${oneLine(result.branch)}` : `folder ${oneLine(result.folder!)}`),
          label('look', `parley diff ${shortId(view.run)}`),
          ...(applied.some(({ undone }) => undone === undefined)
            ? []
            : [label('take', `parley apply ${shortId(view.run)}${partOf(view)}`)]),
        ]
      : []),
    ...applied.map(({ branch, commit, folder, how, undone }) =>
      label(
        undone === undefined ? 'applied' : 'undone',
        `${how === 'copy' ? `in ${oneLine(folder)}` : how === 'patch' ? 'staged' : `on ${oneLine(branch ?? 'HEAD')}, commit ${shortHash(commit)}`}`,
      ),
    ),
    ...(!result.branch && !result.folder ? [label('result', `commit ${result.commit}`)] : []),
  ]
}
