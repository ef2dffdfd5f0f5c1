// `parley migrate`: another agent goes on with a task, from what was kept last.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { print } from '../output.ts'
import { LAST, reasonOf } from './words.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'Let another agent go on with a task, from what was kept last',
  about:
    'The old agent’s turn is ended; its folder goes back to the last checkpoint, and the new agent is told what was done so far. The attempt goes on: time, budget and mail stay as they are.',
  args: [{ name: 'TASK', summary: 'A task of the run that is being worked on' }],
  flags: {
    to: {
      type: 'text',
      value: 'AGENT',
      summary: 'Who takes over: an agent of the team, or one of `parley agents`',
    },
    run: { type: 'text', value: 'RUN', summary: 'The run (default: last)' },
    reason: {
      type: 'text',
      value: 'TEXT',
      summary: 'Why; it is kept on the trail, and the new agent is told',
    },
  },
  examples: [
    ['parley migrate docs --to codex', 'in the newest run'],
    ['parley migrate docs --to codex --run run_01m7 --reason "Out of quota"', 'in another one, saying why'],
  ],
  async run(context, { flags, words }) {
    const task = words[0]!
    if (flags.to === undefined)
      throw new Failure('usage', `Who is to take over ${task}?`, {
        why: 'The new agent is named with --to.',
        next: '`parley agents` shows which there are; the team file names those of the team.',
      })
    const api = await context.connect()
    const reason = reasonOf(flags.reason) ?? 'moved by its owner'
    const moved = await api.migrate(flags.run ?? LAST, { task, to: flags.to, reason })
    print(context, { ...moved, task, reason }, () => [
      `${moved.to} goes on with ${task}, in place of ${moved.from}.`,
    ])
    return EXIT.done
  },
})
