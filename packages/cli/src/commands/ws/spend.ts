// `parley ws spend`: what a turn has used and may still use.
import { verbCommand } from './verb.ts'

export default verbCommand('spend', {
  examples: [
    ['parley ws spend', 'tokens, money and time'],
    ['parley ws spend --json', 'the same for a program'],
  ],
  input: () => ({}),
})
