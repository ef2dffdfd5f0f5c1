// `parley ws block`: an agent cannot continue without an answer.
import { command } from '../../command.ts'
import { print } from '../../output.ts'

export default command({
  args: [{ name: 'REASON', summary: 'What you need to know, in quotes' }],
  examples: [
    ['parley ws block "Which database is meant: the old or the new one?"', 'the answer starts the next turn'],
    ['parley ws block "No network" --json', 'the same for a program'],
  ],
  async run(context, { words }) {
    const reason = words[0]!.trim()
    await context.api.workspaces.block({ reason })
    print(context, { blocked: true, reason }, () => [
      'Blocked. End your process now; the answer starts your next turn.',
    ])
  },
})
