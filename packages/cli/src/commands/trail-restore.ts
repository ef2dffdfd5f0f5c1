// `parley trail restore`: repairs the cold tier from its replica.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'

export const trailRestore = command({
  name: 'trail restore',
  summary: 'Put back from the replica what is missing or damaged in the cold tier',
  about:
    'Every copy is checked against its manifest before it takes its place, and nothing that is sound is changed. What the replica lacks is copied to it afterwards. Exit code 1 where something is sound nowhere. `parley trail verify` then says how the record is.',
  args: [],
  flags: {},
  examples: [
    ['parley trail restore', 'after a disk has lost or damaged archives'],
    ['parley trail restore --json', 'for a program: every file that was put back or is lost'],
  ],
  async run(context) {
    const api = await context.connect()
    const report = await api.restoreTrail()
    const { restored, lost, replicated } = report
    const { paint } = context.terminal
    print(context, report, () => [
      ...restored.map(file => `restored  ${oneLine(file)}`),
      ...lost.map(file => `${paint('bad', 'lost')}      ${oneLine(file)}`),
      lost.length > 0
        ? `${plural(lost.length, 'file')} cannot be put back: no sound copy is left. Look for a backup.`
        : restored.length > 0
          ? `${plural(restored.length, 'file')} put back.`
          : 'Nothing to put back: the cold tier is whole.',
      ...(replicated > 0 ? [`${plural(replicated, 'file')} copied to the replica.`] : []),
    ])
    return lost.length === 0 ? EXIT.done : EXIT.failed
  },
})
