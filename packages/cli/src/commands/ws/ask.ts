// `parley ws ask`: an agent asks a person, and waits a while for the answer.
import { cliLimits } from '../../limits.ts'
import { verbCommand } from './verb.ts'

export default verbCommand('ask', {
  args: [{ name: 'QUESTION', summary: 'What you need to know, in quotes' }],
  flags: { wait: { value: 'SECONDS', whole: true, summary: 'How long to wait for the answer (default: 45)' } },
  examples: [
    ['parley ws ask "May I drop Node 18?"', 'the answer, if it comes in time; otherwise it is mail'],
    ['parley ws ask "Which licence?" --wait 300 --json', 'wait five minutes, for a program'],
  ],
  input: ({ words, flags }) => ({
    question: words[0]!.trim(),
    ...(flags.wait !== undefined && { wait_s: flags.wait }),
  }),
  timeout: ({ flags }) => (flags.wait ?? 0) * 1000 + cliLimits.askMarginMs,
})
