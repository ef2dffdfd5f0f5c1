// Entries of a record, one line each with the facts of the body that fit, and what verification found.
import type { EntryView, VerifyView } from '../views.ts'
import { plural, shortId, timeOfDay } from './format.ts'
import { grid } from './grid.ts'
import type { Paint } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { oneLine } from './text.ts'

export function entryLines(entries: readonly EntryView[], { width, paint }: Drawing): readonly string[] {
  return grid(
    [
      { align: 'right' },
      { optional: 2 },
      { flexible: true, optional: 1 },
      {},
      { flexible: true, optional: 3 },
    ],
    entries.map(entry => [
      { text: String(entry.seq), tone: 'quiet' },
      { text: timeOfDay(entry.timestamp), tone: 'quiet' },
      oneLine(entry.actor),
      { text: oneLine(entry.event_type), tone: 'strong' },
      facts(entry),
    ]),
    width,
    paint,
  )
}

/** The simple values of a body; ids are shortened, what is nested is left to --json. */
function facts({ workspace, body }: EntryView): string {
  const of = workspace === null ? [] : [shortId(workspace)]
  const simple = Object.entries(body).flatMap(([key, value]) => {
    if (typeof value === 'string')
      return [`${key}=${/^[a-z_]+_[0-9a-z]{26}$/.test(value) ? shortId(value) : value}`]
    return typeof value === 'number' || typeof value === 'boolean' ? [`${key}=${value}`] : []
  })
  return oneLine([...of, ...simple].join(' '))
}

export function verifyLines({ runs, unreadable, sound }: VerifyView, paint: Paint): readonly string[] {
  const entries = runs.reduce((sum, each) => sum + each.entries, 0)
  const all = `${plural(entries, 'entry', 'entries')} in ${plural(runs.length, 'run')}`
  if (sound) return [`${paint('good', 'Sound:')} ${all}, every hash, anchor and signature as it was written.`]
  return [
    ...unreadable.map(where => `${paint('bad', 'unreadable')} ${oneLine(where)}`),
    ...runs.flatMap(({ run, findings }) =>
      findings.map(({ damage, message }) => `${paint('bad', damage)} ${shortId(run)}: ${oneLine(message)}`),
    ),
    `${paint('bad', 'Damaged:')} ${plural(runs.filter(each => each.findings.length > 0).length, 'run')} of ${runs.length}, ${all}. Keep the profile's folder as it is, and compare with a backup or an export.`,
  ]
}
