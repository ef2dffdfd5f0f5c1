// Entries of a record with the facts of their bodies, and the report of a verification.
import type { EntryView, RunView, VerifyView } from '../node/views.ts'
import { plural, shortId, shortIds, timeOfDay } from './format.ts'
import { grid, type Row } from './grid.ts'
import type { Paint } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { oneLine, widthOf, wrap } from './text.ts'

/** What workspaces are about, by their ids. */
export type WorkNames = ReadonlyMap<string, string>
const NO_NAMES: WorkNames = new Map()

/** `floor` for the first attempt at a task, `floor/2` for the second, `floor/review`: with who works there. */
export function workNames({ tasks }: Pick<RunView, 'tasks'>): WorkNames {
  return new Map(
    tasks.flatMap(({ id, steps }) =>
      steps.map(({ workspace, kind, attempt, agent }) => {
        const which = kind === 'work' ? (attempt > 1 ? `/${attempt}` : '') : `/${kind}`
        return [workspace, oneLine(`${id}${which} (${agent})`)] as const
      }),
    ),
  )
}

/** One line for each if there is room, else with the facts below. */
export function entryLines(
  entries: readonly EntryView[],
  { width, paint }: Drawing,
  names: WorkNames = NO_NAMES,
): readonly string[] {
  const cells = entries.map(
    (entry): Row => [
      { text: String(entry.seq), tone: 'quiet' },
      { text: timeOfDay(entry.timestamp), tone: 'quiet' },
      oneLine(entry.actor),
      { text: oneLine(entry.event_type), tone: 'strong' },
    ],
  )
  const shortened = shortIds(entries.flatMap(idsOf))
  const short = (id: string) => names.get(id) ?? shortened(id)
  const columns = [{ align: 'right' }, { optional: 2 }, { flexible: true, optional: 1 }, {}] as const
  const heads = grid(columns, cells, width, paint)
  const bare = grid(columns, cells, width)
  const left = Math.max(0, ...bare.map(widthOf))
  return heads.flatMap((head, index) => {
    const text = facts(entries[index]!, short)
    if (text === '') return [head]
    const gap = ' '.repeat(left - widthOf(bare[index]!) + 2)
    if (left + 2 + widthOf(text) <= width) return [`${head}${gap}${text}`]
    return [head, ...wrap(text, Math.max(20, width - INDENT.length)).map(line => `${INDENT}${line}`)]
  })
}

const INDENT = '      '

const ID = /^[a-z_]+_[0-9a-z]{26}$/

function idsOf({ workspace, body }: EntryView): readonly string[] {
  return [workspace, ...Object.values(body)].filter(value => typeof value === 'string').filter(value => ID.test(value))
}

/** The simple values of a body: changes first, shortened ids last. --json has the nested ones. */
function facts({ workspace, body }: EntryView, short: (id: string) => string): string {
  const said: string[] = []
  const ids: string[] = []
  for (const [key, value] of Object.entries(body)) {
    const [, what] = /^from_(state|status)$/.exec(key) ?? []
    const next = what === undefined ? undefined : (body as Readonly<Record<string, unknown>>)[`to_${what}`]
    if (typeof value === 'string' && typeof next === 'string') said.unshift(`${value} → ${next}`)
    else if (/^to_(state|status)$/.test(key) || key === 'timestamp' || value === workspace) continue
    else if (typeof value === 'string' && ID.test(value)) ids.push(`${key}=${short(value)}`)
    else if (['string', 'number', 'boolean'].includes(typeof value)) said.push(`${key}=${value}`)
  }
  return oneLine([...said, ...(workspace === null ? [] : [short(workspace)]), ...ids].join(' '))
}

/** The first finding of each damaged run; --json has all. */
export function verifyLines(report: VerifyView, paint: Paint): readonly string[] {
  const { runs, unreadable, unreadable_total, sound } = report
  const entries = runs.reduce((sum, each) => sum + each.entries, 0)
  const all = `${plural(entries, 'entry', 'entries')} in ${plural(runs.length, 'run')}`
  const more = unreadable_total > 1 || runs.some(each => each.findings_total > 1)
  if (sound) return [`${paint('good', 'Sound:')} ${all}, every hash, anchor and signature verified.`]
  return [
    ...unreadable
      .slice(0, 1)
      .map(where => `${paint('bad', 'unreadable')} ${oneLine(where)}${andMore(unreadable_total, 'place')}`),
    ...runs.flatMap(({ run, findings, findings_total }) =>
      findings
        .slice(0, 1)
        .map(
          ({ damage, message }) =>
            `${paint('bad', damage)} ${shortId(run)}: ${oneLine(message)}${andMore(findings_total, 'finding')}`,
        ),
    ),
    `${paint('bad', 'Damaged:')} ${plural(runs.filter(each => each.findings.length > 0).length, 'run')} of ${runs.length}, ${all}. Do not change the profile's folder; compare it with a backup or an export.${more ? ' All findings: --json.' : ''}`,
  ]
}

export function andMore(total: number, what: string): string {
  return total > 1 ? ` (and ${plural(total - 1, `more ${what}`)})` : ''
}
