// `parley kb list`, also plain `parley kb`: the Knowledge Blocks of the profile.
import { command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import { drawing, print, remark } from '../../output.ts'
import { limitOf } from '../words.ts'
import { blocksTable } from './words.ts'

export default command({
  about:
    'Blocks that you may read: those that everybody may, and restricted ones that you registered or that were made for you. What a program has made for itself is its own until it is shared.',
  flags: {
    type: { value: 'TYPE', summary: 'Only blocks of this type, such as procedure or synthesis' },
    domain: { value: 'DOMAIN', summary: 'Only blocks of this domain' },
    status: { value: 'STATUS', choices: ['active', 'deprecated', 'slashed'], summary: 'Only blocks in this state' },
    own: { summary: 'Only blocks that you registered' },
    after: { value: 'HASH', summary: 'Continue behind this block' },
    limit: { value: 'N', whole: true, summary: `At most this many (default: ${cliLimits.blocks})` },
  },
  examples: [
    ['parley kb', 'the blocks of this profile'],
    ['parley kb list --type procedure --domain engineering', 'what teams can be told to do there'],
    ['parley kb list --own --json', 'your own, for a program'],
  ],
  async run(context, { flags }) {
    const { type, domain, status, after } = flags
    const limit = limitOf(flags.limit, cliLimits.blocks, cliLimits.mostBlocks)
    const own = flags.own || undefined
    const page = await context.api.knowledge.list({ type, domain, status, own, after, limit })
    print(context, page, () =>
      page.blocks.length > 0
        ? blocksTable(page.blocks, drawing(context))
        : ['No Knowledge Blocks. Solves over ALX make them, and `parley kb import` brings those of others.'],
    )
    if (page.next !== undefined) remark(context, `There are more: --after ${page.next}`)
  },
})
