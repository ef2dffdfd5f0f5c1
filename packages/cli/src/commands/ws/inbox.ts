// `parley ws inbox`: new mail for a working agent.
import { verbCommand } from './verb.ts'

export default verbCommand('inbox', {
  examples: [
    ['parley ws inbox', 'read new messages'],
    ['parley ws inbox --json', 'the same for a program'],
  ],
  input: () => ({}),
})
