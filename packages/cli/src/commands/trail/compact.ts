// `parley trail compact`: moves finished runs out of the log now.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { SLOW } from '../../limits.ts'
import { print } from '../../output.ts'
import { bytes, plural } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  about:
    'A node does this automatically some time after a run ends (`trail.compact` in config.yaml). Nothing is deleted: details move to the cold tier, the rest to files of the run, and all of it is read and verified as before. What was moved is recorded on the trail (trail_compacted). The exit code is 1 if a run could not be moved; it then stays where it is.',
  args: [{ ...RUN, summary: 'A run: its id, a part of it as lists show it, or last (default: every finished run)' }],
  examples: [
    ['parley trail compact', 'all of them'],
    ['parley trail compact last', 'one'],
  ],
  async run(context, { words }) {
    const report = await context.api.trail.compact({ run: words[0] && (await runHere(context, words[0])) }, SLOW)
    const { paint } = context.terminal
    print(context, report, () => [
      ...report.runs.map(
        ({ run, archived, records }) =>
          `${run}: ${plural(archived, 'entry', 'entries')} to the cold tier, ${plural(records, 'record')} to files of the run`,
      ),
      ...report.failed.map(({ run, message }) => `${paint('bad', run)}: ${oneLine(message)}`),
      report.runs.length + report.failed.length === 0
        ? 'Nothing to do: the log holds no finished run.'
        : `${bytes(report.freed)} of the log freed.`,
    ])
    return report.failed.length === 0 ? EXIT.done : EXIT.failed
  },
})
