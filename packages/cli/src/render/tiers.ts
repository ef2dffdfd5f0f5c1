// The tiers of the record, and what is done about its storage.
import type { NodeStatus, TiersView } from '../views.ts'
import { bytes, count, moment, plural, shortId } from './format.ts'
import { grid } from './grid.ts'
import type { Paint } from './paint.ts'
import { oneLine } from './text.ts'

export function tierLines(
  { hot, warm, cold, deleted, unreadable, replica }: TiersView,
  storage: NodeStatus['storage'],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): readonly string[] {
  const rows = Object.entries({ hot, warm, cold }).map(([tier, figures]) => [
    tier,
    count(figures.entries),
    bytes(figures.bytes),
    count(figures.runs),
    figures.oldest === null ? '' : moment(figures.oldest),
  ])
  const columns = [
    { header: 'TIER' },
    { header: 'ENTRIES' },
    { header: 'SIZE' },
    { header: 'RUNS' },
    { header: 'SINCE', optional: 1 },
  ]
  return [
    ...grid(columns, rows, width, paint),
    '',
    `replica   ${replicaText(replica, paint)}`,
    ...(deleted > 0 ? [`deleted   ${plural(deleted, 'entry', 'entries')}, after the cold retention`] : []),
    ...unreadable.map(name => `${paint('bad', 'damaged')}   ${oneLine(name)} cannot be read`),
    ...(storage.working === null ? [] : [`working   on ${shortId(storage.working)}`]),
    ...storage.faults.map(
      ({ message, retry }) =>
        `${paint('bad', 'waiting')}   ${oneLine(message)} Tried again ${moment(retry)}.`,
    ),
  ]
}

function replicaText(replica: TiersView['replica'], paint: Paint): string {
  if (!replica) return 'none: what is in the cold tier is lost with this disk'
  if (replica.problem !== undefined) return paint('bad', oneLine(replica.problem))
  const lag = replica.lacking > 0 ? `, lacks ${plural(replica.lacking, 'file')}` : ', up to date'
  return `${oneLine(replica.folder)}${lag}`
}
