// `parley trail snapshot`: freezes a run that is over as one file.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { plural } from '../render/format.ts'

export const trailSnapshot = command({
  name: 'trail snapshot',
  summary: 'Freeze a run that is over as one file in the profile',
  about:
    'Its chain is verified first; a run that is damaged is not frozen. The file lies in trail/snapshots of the profile and is never written again; the entry trail_snapshot_created says what it holds. Where `trail.cold` lets archives be deleted, those of a whole run are deleted only behind a snapshot.',
  args: [{ name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' }],
  flags: {
    'up-to': { type: 'integer', value: 'SEQ', summary: 'Up to this entry (default: the newest)' },
  },
  examples: [
    ['parley trail snapshot last', 'all of the last run'],
    ['parley trail snapshot run_01m7 --up-to 120', 'its first 120 entries'],
  ],
  async run(context, { words, flags }) {
    const api = await context.connect()
    const taken = await api.snapshotTrail(words[0]!, flags['up-to'])
    print(context, taken, () => [
      `${taken.snapshot}: ${plural(taken.entries, 'entry', 'entries')} of ${taken.run}`,
      `head  ${taken.run}:${taken.up_to}:${taken.head}`,
    ])
    return EXIT.done
  },
})
