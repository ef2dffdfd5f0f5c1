// `parley trail tiers`: what each storage tier holds, the state of the replica, and failed work.
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import type { NodeStatus, TiersView } from '../../node/views.ts'
import { drawing, print } from '../../output.ts'
import { bytes, count, moment, plural, shortId } from '../../render/format.ts'
import { table } from '../../render/grid.ts'
import type { Paint } from '../../render/paint.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about:
    'hot: runs in progress. warm: finished runs, kept at hand for as long as `trail.warm` in config.yaml says. cold: compressed archives, with a second copy if `trail.replica` names one. All tiers are read and verified alike.',
  examples: [
    ['parley trail tiers', 'entries, size, runs and age of each tier'],
    ['parley trail tiers --json', 'for a program'],
  ],
  async run(context) {
    const tiers = await context.api.trail.tiers({}, SLOW)
    const { storage } = await context.api.node.status({})
    print(context, { ...tiers, storage }, () => tierLines(tiers, storage, drawing(context)))
  },
})

function tierLines(
  { hot, warm, cold, deleted, unreadable, replica }: TiersView,
  storage: NodeStatus['storage'],
  drawing: Drawing,
): readonly string[] {
  const { paint } = drawing
  return [
    ...table(
      Object.entries({ hot, warm, cold }),
      [
        { header: 'TIER', of: ([tier]) => tier },
        { header: 'ENTRIES', of: ([, { entries }]) => count(entries) },
        { header: 'SIZE', of: ([, tier]) => bytes(tier.bytes) },
        { header: 'RUNS', of: ([, { runs }]) => count(runs) },
        { header: 'SINCE', optional: 1, of: ([, { oldest }]) => (oldest === null ? '' : moment(oldest)) },
      ],
      drawing,
    ),
    '',
    `replica   ${replicaText(replica, paint)}`,
    ...(deleted > 0 ? [`deleted   ${plural(deleted, 'entry', 'entries')}, after the cold retention`] : []),
    ...unreadable.map(name => `${paint('bad', 'damaged')}   ${oneLine(name)} cannot be read`),
    ...(storage.working === null ? [] : [`working   on ${shortId(storage.working)}`]),
    ...storage.faults.map(
      ({ message, retry }) => `${paint('bad', 'waiting')}   ${oneLine(message)} Next attempt ${moment(retry)}.`,
    ),
  ]
}

function replicaText(replica: TiersView['replica'], paint: Paint): string {
  if (!replica) return 'none: the cold tier is lost if this disk is lost'
  if (replica.problem !== undefined) return paint('bad', oneLine(replica.problem))
  const lag = replica.lacking > 0 ? `, lacks ${plural(replica.lacking, 'file')}` : ', up to date'
  return `${oneLine(replica.folder)}${lag}`
}
