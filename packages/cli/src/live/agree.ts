// What a person agrees to before files of theirs change: asked on a terminal, by --yes without one.
import type { Context } from '../command.ts'
import { Failure } from '../failure.ts'
import type { AppliedView, UndoneView } from '../node/views.ts'
import { isAttended, printLines, remark } from '../output.ts'
import { shortId } from '../render/format.ts'
import { each, oneLine, wrap } from '../render/text.ts'
import { askKey } from './ask-key.ts'

type Shown = Pick<AppliedView, 'run' | 'notable' | 'partial'> & Pick<UndoneView, 'lost'>

interface Asked {
  readonly question: string
  readonly yes: readonly [label: string, help: string]
}

/** Nobody is asked about all of a run that is done, where nothing is run by itself. */
export async function agreed(context: Context, seen: Shown, { question, yes: [label, help] }: Asked): Promise<boolean> {
  const { notable, run } = seen
  const partial = seen.lost ? lostLine(run) : partialLine(seen)
  if (notable.length === 0 && partial === undefined) return true
  const { paint, columns } = context.terminal
  const look = `parley diff ${shortId(run)} shows it.`
  if (!isAttended(context))
    throw new Failure('unconfirmed', partial ?? 'This changes files that other programs run.', {
      why: 'There is no terminal to ask on, and --yes was not given.',
      next: [look, 'With --yes it is done all the same.'],
      details: { files: notableLines(seen), notable, partial: seen.partial },
    })
  printLines(context, [
    ...(partial === undefined ? [] : wrap(partial, columns).map(line => paint('warning', line))),
    ...(notable.length === 0 ? [] : [paint('warning', 'Other programs run what this changes:')]),
    ...notableLines(seen).map(line => `  ${line}`),
  ])
  const agrees = await askKey(context, question, [
    { key: 'y', label, help, gives: { answer: true } },
    { key: 'n', label: 'leave it', help: 'nothing is changed', gives: { answer: false } },
  ])
  if (!agrees) remark(context, `Nothing was changed. ${look}`)
  return agrees === true
}

function lostLine(run: string): string {
  return `No other branch or tag has the work of ${shortId(run)}: taken back, it is lost.`
}

/** `The run … failed: its result has the work of a, b, and not that of c (failed), d (cancelled).` */
export function partialLine({ run, partial }: Pick<AppliedView, 'run' | 'partial'>): string | undefined {
  if (!partial) return undefined
  const { state, has, lacks } = partial
  const ended = state === 'failed' ? 'failed' : `was ${state}`
  const there = has.length === 0 ? 'no work of its tasks' : `the work of ${each(has)}`
  const missing = each(lacks.map(({ task, state }) => `${task} (${state})`))
  return `The run ${shortId(run)} ${ended}: its result has ${there}${lacks.length === 0 ? '' : `, and not that of ${missing}`}.`
}

const KINDS = { hook: 'git hook', ci: 'CI', script: 'package scripts', settings: 'settings' } as const

export function notableLines({ notable }: Pick<AppliedView, 'notable'>): readonly string[] {
  return notable.map(({ kind, path, as, scripts }) => {
    const name = as === undefined ? '' : ` (as ${oneLine(as)})`
    const which = scripts ? ` (${scripts.map(oneLine).join(', ')})` : ''
    return `${KINDS[kind]}: ${oneLine(path)}${name}${which}`
  })
}
