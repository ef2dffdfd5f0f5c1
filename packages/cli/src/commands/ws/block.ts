// `parley ws block`: an agent cannot continue without an answer.
import { verbCommand } from './verb.ts'

export default verbCommand('block', {
  args: [{ name: 'REASON', summary: 'What you need to know, in quotes' }],
  examples: [
    ['parley ws block "Which database is meant: the old or the new one?"', 'the answer starts the next turn'],
    ['parley ws block "No network" --json', 'the same for a program'],
  ],
  input: ({ words }) => ({ reason: words[0]!.trim() }),
})
