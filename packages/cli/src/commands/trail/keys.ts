// `parley trail keys`: who signs the record, and who did before.
import { command } from '../../command.ts'
import { drawing, print } from '../../output.ts'
import { moment } from '../../render/format.ts'
import { grid } from '../../render/grid.ts'

export default command({
  about:
    'The current key comes first. Give it to those who verify your exports, over a channel that they trust; a fingerprint is for comparing by eye or by voice.',
  examples: [
    ['parley trail keys', 'the current key, and former ones'],
    ['parley trail keys --json', 'for a program, with endorsements'],
  ],
  async run(context) {
    const keys = (await context.api.trail.keys({})).keys
    print(context, { keys }, () => {
      if (keys.length === 0) return ['The record of this profile is not signed.']
      const rows = keys
        .toReversed()
        .map(({ key, fingerprint, since, until }) => [
          key,
          fingerprint,
          since === null ? 'the beginning' : moment(since),
          until === null ? 'in use' : moment(until),
        ])
      const columns = [
        { header: 'KEY' },
        { header: 'FINGERPRINT', optional: 1 },
        { header: 'SINCE', optional: 2 },
        { header: 'UNTIL' },
      ]
      const { width, paint } = drawing(context)
      return grid(columns, rows, width, paint)
    })
  },
})
