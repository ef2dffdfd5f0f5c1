// A pull request from the record of a run. What agents wrote is quoted: nothing in it mentions people or closes issues.
import { cliLimits } from '../limits.ts'
import type { WorkView } from '../node/views.ts'
import { plural, spend, spendInFull } from './format.ts'
import { lines, oneLine } from './text.ts'

export interface PullRequest {
  readonly title: string
  readonly body: string
}

export function pullRequest(work: WorkView): PullRequest {
  const [first = ''] = lines(work.title).filter(line => line.trim() !== '')
  const title = oneLine(first).trim()
  const whole = work.files.length + work.more_files
  const spent = spendInFull(work.usage)
  const isTitle = work.title.trim() === title && title.length <= cliLimits.titleLength
  const body = [
    ...(isTitle ? [] : [...quoted(work.title), '']),
    '| task | by | checks and reviews | cost |',
    '|---|---|---|---|',
    ...work.parts.map(({ title: task, agent, state, judgements, usage }) =>
      row([`${task} (${state})`, agent, judgements.map(judgementText).join(', ') || 'none', spend(usage)]),
    ),
    '',
    ...work.parts.flatMap(({ title: task, said }) =>
      said ? [`<details><summary>${html(task)}</summary>`, '', ...quoted(said), '', '</details>', ''] : [],
    ),
    `${plural(whole, 'file')}, +${work.added} -${work.removed}${spent ? `; ${spent}` : ''}.`,
    '',
    `Made by a run of Parley: \`${work.run}\`. Its record: \`parley trail verify ${work.run}\`.`,
  ].join('\n')
  return {
    title: title.length > cliLimits.titleLength ? `${title.slice(0, cliLimits.titleLength - 1)}…` : title,
    body: `${body}\n`,
  }
}

function judgementText({ kind, agent, command, outcome }: WorkView['parts'][number]['judgements'][number]): string {
  return kind === 'check'
    ? `check ${command === undefined ? '' : `${command} `}${outcome}`
    : `${kind} by ${agent} ${outcome}`
}

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell => html(cell).replaceAll('|', '\\|')).join(' | ')} |`
}

/** On one line, without Markdown, HTML and mentions. */
function html(text: string): string {
  const visible = oneLine(text).replace(/[&<>]/g, mark => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[mark]!)
  // A zero-width space keeps `@name` and `#1` from being links.
  return visible.replace(/[@#](?=\w)/g, '$&\u200b').replace(/[[\]`*_\\]/g, '\\$&')
}

/** In a block that no run of backticks inside it ends. */
function quoted(text: string): readonly string[] {
  const all = lines(text.trim().slice(0, cliLimits.quotedLength))
  const longest = Math.max(2, ...(all.join('\n').match(/`+/g) ?? []).map(run => run.length))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}text`, ...all, fence]
}
