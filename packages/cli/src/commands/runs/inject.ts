// `parley inject`: sends a message of a person to working agents.
import { command } from '../../command.ts'
import type { Input } from '../../node/client.ts'
import { print } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { runHere } from '../which-run.ts'
import { reasonOf } from '../words.ts'

export default command({
  about:
    'Without --to, every agent whose turn starts later gets the message. With --to, the agent of that task gets it as mail: during its turn if it checks its inbox, otherwise with its next turn.',
  args: [
    { name: 'RUN', summary: 'A run: its id, a part of it as lists show it, or last' },
    { name: 'TEXT', summary: 'What you want to say, in quotes' },
  ],
  flags: {
    to: { value: 'TASK', summary: 'A task of the plan, or a workspace' },
    type: { value: 'TYPE', summary: 'The type of the message (default: feedback, or directive for all)' },
    priority: { value: 'PRIORITY', choices: ['normal', 'urgent', 'blocking'], summary: 'How urgent it is' },
  },
  examples: [
    ['parley inject last "Keep the old name of the function"', 'for every turn that starts later'],
    ['parley inject last "Only the English pages" --to docs', 'for the agent of one task'],
  ],
  async run(context, { flags, words }) {
    const { to, type } = flags
    const priority = flags.priority as Input<'/highway/inject'>['priority']
    const text = reasonOf(words[1]) ?? ''
    const sent = await context.api.highway.inject({ run: await runHere(context, words[0]), text, to, type, priority })
    print(context, sent, () => [
      to === undefined
        ? `Sent. Every agent of ${shortId(sent.run)} whose turn starts from now on reads it; turns at work do not.`
        : `Sent to ${to} of ${shortId(sent.run)}. Its agent reads it when it looks at its mail, or else with its next turn.`,
    ])
  },
})
