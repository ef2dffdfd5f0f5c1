// `parley ws verdict`: what a review comes to.
import type { Input } from '../../node/client.ts'
import { verbCommand } from './verb.ts'

type Verdict = Input<'/workspaces/verdict'>['verdict']

export default verbCommand('verdict', {
  args: [
    { name: 'VERDICT', summary: 'What becomes of the work', choices: ['accept', 'revise', 'reject'] },
    {
      name: 'FINDING',
      summary: 'What is wrong, where, and what would be right, in quotes',
      optional: true,
      rest: true,
    },
  ],
  examples: [
    ['parley ws verdict accept', 'for an agent that reviews'],
    ['parley ws verdict revise "parse.ts:12 reads past the end" "No test for an empty file"', 'with findings'],
  ],
  input: ({ words: [verdict, ...findings] }) => ({ verdict: verdict as Verdict, findings }),
})
