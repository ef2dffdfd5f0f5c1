// `parley ws block`: an agent cannot go on without an answer.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'

export const wsBlock = command({
  name: 'ws block',
  summary: 'Say that you cannot go on without an answer; then end your process',
  args: [{ name: 'REASON', summary: 'What you need to know, in quotes' }],
  flags: {},
  examples: [
    ['parley ws block "Which database is meant: the old or the new one?"', 'mail starts the next turn'],
    ['parley ws block "No network" --json', 'the same for a program'],
  ],
  async run(context, { words }) {
    const reason = words[0]!.trim()
    const api = await context.connect()
    await api.block(reason)
    print(context, { blocked: true, reason }, () => [
      'Blocked. End your process now; an answer starts the next turn.',
    ])
    return EXIT.done
  },
})
