// `parley kb lineage`: what a Knowledge Block comes from, or what comes from it.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { BLOCK } from './words.ts'

export default command({
  args: [BLOCK],
  flags: { descendants: { summary: 'What comes from it, instead of what it comes from' } },
  examples: [
    ['parley kb lineage 0x9cccde9b', 'its sources, and theirs'],
    ['parley kb lineage 0x25cde9b3 --descendants', 'everything that was made with it'],
  ],
  async run(context, { flags, words }) {
    const direction = flags.descendants ? 'descendants' : 'ancestors'
    const trace = await context.api.knowledge.lineage({ block: words[0]!, direction })
    print(context, trace, () =>
      trace.nodes.map(({ kbHash, depth, pathCount }) => {
        const paths = pathCount === '1' ? '' : `  ${pathCount} ways`
        return `${'  '.repeat(depth)}${kbHash}${paths}`
      }),
    )
  },
})
