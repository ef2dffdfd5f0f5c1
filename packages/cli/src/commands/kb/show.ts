// `parley kb show`: one Knowledge Block with its content.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { oneLine } from '../../render/text.ts'
import { BLOCK, readersOf } from './words.ts'

export default command({
  args: [BLOCK],
  examples: [
    ['parley kb show 0x25cde9b3', 'who registered it, who may read it, and what it says'],
    ['parley kb show 0x25cde9b3 --json', 'with its envelope, for a program'],
  ],
  async run(context, { words }) {
    const shown = await context.api.knowledge.show({ block: words[0]! })
    const { block, envelope, attribution, reputation } = shown
    const { sources = [], payload } = envelope as { readonly sources?: readonly string[]; readonly payload?: unknown }
    print(context, shown, () => [
      `block    ${block.kbHash}`,
      `type     ${oneLine(block.type)} in ${oneLine(block.domain)}`,
      `status   ${block.status}; read by ${readersOf(block)}; ${block.trusted ? 'trusted' : block.made ? 'made here' : 'not trusted'}`,
      `curator  ${oneLine(block.curator)}, since ${block.createdAt}`,
      `fee      ${block.queryFee}; reputation ${reputation.score}`,
      ...sources.map(source => `source   ${source}`),
      ...attribution.map(link => `pays     ${oneLine(JSON.stringify(link))}`),
      '',
      ...JSON.stringify(payload, null, 2).split('\n').map(oneLine),
    ])
  },
})
