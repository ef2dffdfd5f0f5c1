// `parley kb trust`: lets a procedure be executed, or not any more.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { BLOCK, blockLine } from './words.ts'

export default command({
  about:
    'A procedure names tasks and agents of a team that you configured and gives them words, never commands. One that somebody else wrote is executed only if you trust it: read it first (`parley kb show`).',
  args: [BLOCK],
  flags: {
    undo: { summary: 'Do not trust it any more' },
    reason: { value: 'TEXT', summary: 'Why; it is on record' },
  },
  examples: [
    ['parley kb trust 0x25cde9b3', 'teams may be told to do it'],
    ['parley kb trust 0x25cde9b3 --undo', 'not any more'],
  ],
  async run(context, { flags, words }) {
    const undo = flags.undo || undefined
    const block = await context.api.knowledge.trust({ block: words[0]!, reason: flags.reason, undo })
    print(context, { block }, () => [`${blockLine(block)} is ${block.trusted ? 'trusted' : 'not trusted any more'}.`])
  },
})
