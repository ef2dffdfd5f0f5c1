// `parley ask`: one turn of the agent of a peer; its answer is streamed.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { askPeer } from '../../live/ask.ts'
import { timeOf } from '../words.ts'
import { PEER } from './words.ts'

export default command({
  about:
    'The peer pays for the turn. On a terminal the answer is streamed; in a pipe it is printed once it is complete; with --json as one value. Ctrl-C cancels the turn at the peer; a second Ctrl-C exits at once. The peer remembers the last twenty turns with you. Shorter: parley solve "@PEER …".',
  args: [PEER, { name: 'TEXT', summary: 'What you want, in quotes, or - to read it from standard input' }],
  flags: {
    usd: { value: 'AMOUNT', summary: 'The most that the turn may cost, in US dollars' },
    tokens: { value: 'N', whole: true, summary: 'The most tokens that the turn may use' },
    timeout: { value: 'TIME', summary: 'How long to wait for each piece of the answer (default: 5m)' },
  },
  examples: [
    ['parley ask bob "Which version runs on the home server?"', 'streams the answer'],
    ['git diff | parley ask bob - --usd 0.50', 'reads standard input, and costs at most fifty cents'],
    ['parley ask bob "Summarise the log" --json', 'text, session, tokens and cost, for a program'],
  ],
  async run(context, { flags, words }) {
    const usd = usdOf(flags.usd)
    const timeout = timeOf(flags.timeout)
    const text = words[1] === '-' ? await context.terminal.input() : words[1]!
    return askPeer(context, context.api, {
      peer: words[0]!,
      prompt: text.trim(),
      usd,
      tokens: flags.tokens,
      timeout_ms: timeout,
    })
  },
})

function usdOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const amount = /^\d{1,6}(?:\.\d{1,6})?$/.test(given) ? Number(given) : 0
  if (amount > 0) return amount
  throw new Failure('usage', `'${given}' is not an amount of money.`, {
    why: 'Amounts are in US dollars and greater than zero.',
    next: '--usd 0.50',
  })
}
