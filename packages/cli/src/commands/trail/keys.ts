// `parley trail keys`: the current and former keys that sign the record.
import { command } from '../../command.ts'
import { drawing, print } from '../../output.ts'
import { moment } from '../../render/format.ts'
import { table } from '../../render/grid.ts'

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
      return table(
        keys.toReversed(),
        [
          { header: 'KEY', of: ({ key }) => key },
          { header: 'FINGERPRINT', optional: 1, of: ({ fingerprint }) => fingerprint },
          { header: 'SINCE', optional: 2, of: ({ since }) => (since === null ? 'the beginning' : moment(since)) },
          { header: 'UNTIL', of: ({ until }) => (until === null ? 'in use' : moment(until)) },
        ],
        drawing(context),
      )
    })
  },
})
