// `parley ask`: one turn of a peer's agent, its answer as it comes.
import { command } from '../command.ts'
import { Failure } from '../failure.ts'
import { askPeer } from '../live/ask.ts'
import { PEER } from './peers-words.ts'
import { timeOf } from './words.ts'

export const ask = command({
  name: 'ask',
  summary: 'Ask a peer: its agent takes one turn, and the answer comes as it is written',
  about:
    'What it costs is spent there. On a terminal the answer is shown as it comes; in a pipe it is printed once, at its end; with --json as one value. Ctrl-C cancels the turn there; a second one leaves at once. The peer remembers the last twenty turns with you. Shorter: parley solve "@PEER …".',
  args: [PEER, { name: 'TEXT', summary: 'What you want, in quotes, or - to read it from standard input' }],
  flags: {
    usd: { type: 'text', value: 'AMOUNT', summary: 'What the turn may cost there, in US dollars' },
    tokens: { type: 'integer', value: 'N', summary: 'Tokens that the turn may take there' },
    timeout: {
      type: 'text',
      value: 'TIME',
      summary: 'How long to wait for each piece of the answer (default: 5m)',
    },
  },
  examples: [
    ['parley ask bob "Which version runs on the home server?"', 'the answer, as it is written'],
    ['git diff | parley ask bob - --usd 0.50', 'from standard input, for at most fifty cents'],
    ['parley ask bob "Summarise the log" --json', 'text, session, tokens and cost, for a program'],
  ],
  async run(context, { flags, words }) {
    const usd = usdOf(flags.usd)
    const timeout = await timeOf(flags.timeout)
    const text = words[1] === '-' ? await context.terminal.input() : words[1]!
    return askPeer(context, await context.connect(), {
      peer: words[0]!,
      prompt: text.trim(),
      ...(usd !== undefined && { usd }),
      ...(flags.tokens !== undefined && { tokens: flags.tokens }),
      ...(timeout !== undefined && { timeout_ms: timeout }),
    })
  },
})

function usdOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const amount = /^\d{1,6}(?:\.\d{1,6})?$/.test(given) ? Number(given) : 0
  if (amount > 0) return amount
  throw new Failure('usage', `'${given}' is no amount of money.`, {
    why: 'It is in US dollars, and above zero.',
    next: '--usd 0.50',
  })
}
