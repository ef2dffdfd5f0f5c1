// `parley inject`: words of a person for agents at work.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { reasonOf } from './words.ts'

export const inject = command({
  name: 'inject',
  summary: 'Write to an agent at work, or to all of a run',
  about:
    'Without --to, everybody whose turn starts later is told. With --to, the agent of that task gets it as mail: in its turn, where it looks at its inbox, or with its next one.',
  args: [
    { name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' },
    { name: 'TEXT', summary: 'What you want to say, in quotes' },
  ],
  flags: {
    to: { type: 'text', value: 'TASK', summary: 'A task of the plan, or a workspace' },
    type: {
      type: 'text',
      value: 'TYPE',
      summary: 'The type of the message (default: feedback, or directive for all)',
    },
    priority: {
      type: 'text',
      value: 'PRIORITY',
      choices: ['normal', 'urgent', 'blocking'],
      summary: 'How urgent it is',
    },
  },
  examples: [
    ['parley inject last "Keep the old name of the function"', 'for all who start later'],
    ['parley inject last "Only the English pages" --to docs', 'for the agent of one task'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const priority = flags.priority as 'normal' | 'urgent' | 'blocking' | undefined
    const sent = await api.inject(words[0]!, {
      text: reasonOf(words[1]) ?? '',
      ...(flags.to !== undefined && { to: flags.to }),
      ...(flags.type !== undefined && { type: flags.type }),
      ...(priority !== undefined && { priority }),
    })
    print(context, sent, () => [`Sent to ${flags.to ?? 'the coordinator'} of ${sent.run}.`])
    return EXIT.done
  },
})
