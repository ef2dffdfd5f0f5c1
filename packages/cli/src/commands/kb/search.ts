// `parley kb search`: full text over Knowledge Blocks.
import { command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import { drawing, print } from '../../output.ts'
import { limitOf } from '../words.ts'
import { blocksTable } from './words.ts'

export default command({
  about: 'Finds blocks that have the words, the best match first; deprecated and slashed ones too.',
  args: [{ name: 'WORDS...', summary: 'What to look for', rest: true }],
  flags: { limit: { value: 'N', whole: true, summary: `At most this many (default: ${cliLimits.blocks})` } },
  examples: [
    ['parley kb search restore backup', 'blocks about restoring backups'],
    ['parley kb search rollback --limit 3 --json', 'the best three, for a program'],
  ],
  async run(context, { flags, words }) {
    const limit = limitOf(flags.limit, cliLimits.blocks, cliLimits.mostBlocks)
    const { blocks } = await context.api.knowledge.search({ text: words.join(' '), limit })
    print(context, { blocks }, () =>
      blocks.length > 0 ? blocksTable(blocks, drawing(context)) : ['No Knowledge Block has these words.'],
    )
  },
})
