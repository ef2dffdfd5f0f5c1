// `parley ws status`: the task of a working agent, and what it may change.
import { verbCommand } from './verb.ts'

export default verbCommand('status', {
  examples: [
    ['parley ws status', 'for an agent at work'],
    ['parley ws status --json', 'the same for a program'],
  ],
  input: () => ({}),
})
