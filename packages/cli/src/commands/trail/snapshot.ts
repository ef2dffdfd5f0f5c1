// `parley trail snapshot`: freezes a finished run as one file.
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'
import { runHere } from '../which-run.ts'

export default command({
  about:
    'Its chain is verified first; a damaged run is not frozen. The file is stored in trail/snapshots of the profile and never rewritten; the entry trail_snapshot_created says what it holds. If `trail.cold` allows archives to be deleted, those of a whole run are deleted only after a snapshot.',
  args: [{ name: 'RUN', summary: 'A run: its id, a part of it as lists show it, or last' }],
  flags: {
    'up-to': { value: 'SEQ', whole: true, summary: 'Up to and including this entry (default: the newest)' },
  },
  examples: [
    ['parley trail snapshot last', 'the whole newest run'],
    ['parley trail snapshot run_k3f9qz --up-to 120', 'its first 120 entries'],
  ],
  async run(context, { words, flags }) {
    const taken = await context.api.trail.snapshot(
      { run: await runHere(context, words[0]), up_to: flags['up-to'] },
      SLOW,
    )
    print(context, taken, () => [
      `${taken.snapshot}: ${plural(taken.entries, 'entry', 'entries')} of ${taken.run}`,
      `head  ${taken.run}:${taken.up_to}:${taken.head}`,
    ])
  },
})
