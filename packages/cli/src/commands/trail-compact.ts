// `parley trail compact`: takes runs that are over out of the log now.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { bytes, plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { RUN } from './words.ts'

export const trailCompact = command({
  name: 'trail compact',
  summary: 'Take runs that are over out of the log, without waiting for it',
  about:
    'A node does it by itself, some time after the end of a run (`trail.compact` in config.yaml). Nothing is deleted: details go to the cold tier, the rest to files of the run, and all of it is read and verified as before. What was moved is on the trail (trail_compacted). Exit code 1 where a run could not be moved; it then stays where it is.',
  args: [
    { ...RUN, summary: 'A run: its id, a unique beginning of it, or last (default: every run that is over)' },
  ],
  flags: {},
  examples: [
    ['parley trail compact', 'all of them'],
    ['parley trail compact last', 'one'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const report = await api.compactTrail(words[0])
    const { paint } = context.terminal
    print(context, report, () => [
      ...report.runs.map(
        ({ run, archived, records }) =>
          `${run}: ${plural(archived, 'entry', 'entries')} to the cold tier, ${plural(records, 'record')} to files of the run`,
      ),
      ...report.failed.map(({ run, message }) => `${paint('bad', run)}: ${oneLine(message)}`),
      report.runs.length + report.failed.length === 0
        ? 'Nothing to do: no run that is over is in the log.'
        : `${bytes(report.freed)} of the log freed.`,
    ])
    return report.failed.length === 0 ? EXIT.done : EXIT.failed
  },
})
