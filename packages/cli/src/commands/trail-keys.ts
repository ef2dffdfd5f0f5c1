// `parley trail keys`: who signs the record, and who did before.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { moment } from '../render/format.ts'
import { grid } from '../render/grid.ts'

export const trailKeys = command({
  name: 'trail keys',
  summary: 'List the public keys that sign the record, with former ones',
  about:
    'The key in use comes first. Give it to whoever verifies your exports, over a way that they trust; a fingerprint is for comparing by eye or by voice.',
  args: [],
  flags: {},
  examples: [
    ['parley trail keys', 'the key in use, and former ones'],
    ['parley trail keys --json', 'for a program, with who endorsed whom'],
  ],
  async run(context) {
    const api = await context.connect()
    const keys = await api.trailKeys()
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
    return EXIT.done
  },
})
