// `parley migrate`: another agent continues a task from its last checkpoint.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import { print } from '../../output.ts'
import { runHere } from '../which-run.ts'
import { reasonOf } from '../words.ts'

export default command({
  about:
    'The old agent’s turn is ended, its folder is reset to the last checkpoint, and the new agent is told what was done so far. The attempt continues: time, budget and mail are unchanged.',
  args: [{ name: 'TASK', summary: 'A task of the run that is in progress' }],
  flags: {
    to: { value: 'AGENT', summary: 'Who takes over: an agent of the team, or one of `parley agents`' },
    run: { value: 'RUN', summary: 'The run (default: last)' },
    reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail and passed to the new agent' },
  },
  examples: [
    ['parley migrate docs --to codex', 'in the newest run'],
    ['parley migrate docs --to codex --run run_k3f9qz --reason "Out of quota"', 'in another one, saying why'],
  ],
  async run(context, { flags, words }) {
    const task = words[0]!
    if (flags.to === undefined)
      throw new Failure('usage', `Which agent should take over ${task}?`, {
        why: 'Name the new agent with --to.',
        next: '`parley agents` lists agents; the team file names those of the team.',
      })
    const reason = reasonOf(flags.reason) ?? 'moved by its owner'
    const moved = await context.api.workspaces.migrate(
      { run: await runHere(context, flags.run), task, to: flags.to, reason },
      { timeout: cliLimits.migrateMs },
    )
    print(context, { ...moved, task, reason }, () => [`${moved.to} continues ${task} in place of ${moved.from}.`])
  },
})
