// `parley ws checkpoint`: saves the folder of a workspace.
import { verbCommand } from './verb.ts'

export default verbCommand('checkpoint', {
  args: [{ name: 'TEXT', summary: 'What was done, in quotes', optional: true }],
  examples: [
    ['parley ws checkpoint "The parser works, tests are next"', 'say what was done'],
    ['parley ws checkpoint --json', 'its id and the changed files'],
  ],
  input: ({ words }) => ({ intent: words[0]?.trim() || 'checkpoint' }),
})
