// `parley trail verify`: recomputes every chain, anchor and signature.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { verifyLines } from '../render/trail.ts'
import { RUN } from './words.ts'

export const trailVerify = command({
  name: 'trail verify',
  summary: 'Verify the record: every hash, anchor and signature',
  about:
    'Exit code 1 and the first damaged entry of each run where something is not as it was written. Nothing is repaired.',
  args: [{ ...RUN, summary: 'A run: its id, a unique beginning of it, or last (default: all runs)' }],
  flags: {},
  examples: [
    ['parley trail verify', 'the record of every run'],
    ['parley trail verify last --json', 'of one run, for a program'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const report = await api.verifyTrail(words[0])
    print(context, report, () => verifyLines(report, context.terminal.paint))
    return report.sound ? EXIT.done : EXIT.failed
  },
})
