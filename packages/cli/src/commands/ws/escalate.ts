// `parley ws escalate`: an agent tells a person about something beyond its task.
import { verbCommand } from './verb.ts'

export default verbCommand('escalate', {
  args: [{ name: 'REASON', summary: 'What the person should know or decide, in quotes' }],
  examples: [
    ['parley ws escalate "The tests need a database that is not here"', 'and go on working'],
    ['parley ws escalate "A key is committed in config.ts" --json', 'the same for a program'],
  ],
  input: ({ words }) => ({ reason: words[0]!.trim() }),
})
