// `parley trail restore`: repairs the cold tier from its replica.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { SLOW } from '../../limits.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about:
    'Every copy is checked against its manifest before it is restored, and nothing intact is changed. What the replica lacks is copied to it afterwards. The exit code is 1 if something is intact nowhere. Run `parley trail verify` afterwards.',
  examples: [
    ['parley trail restore', 'after a disk has lost or damaged archives'],
    ['parley trail restore --json', 'for a program: every file that was restored or is lost'],
  ],
  async run(context) {
    const report = await context.api.trail.restore({}, SLOW)
    const { restored, lost, replicated } = report
    const { paint } = context.terminal
    print(context, report, () => [
      ...restored.map(file => `restored  ${oneLine(file)}`),
      ...lost.map(file => `${paint('bad', 'lost')}      ${oneLine(file)}`),
      lost.length > 0
        ? `${plural(lost.length, 'file')} cannot be restored: no intact copy is left. Look for a backup.`
        : restored.length > 0
          ? `${plural(restored.length, 'file')} restored.`
          : 'Nothing to restore: the cold tier is intact.',
      ...(replicated > 0 ? [`${plural(replicated, 'file')} copied to the replica.`] : []),
    ])
    return lost.length === 0 ? EXIT.done : EXIT.failed
  },
})
