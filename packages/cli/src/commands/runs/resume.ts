// `parley resume`: continues suspended work.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { runAtWork } from '../which-run.ts'
import { OF_TASK, RUN_AT_WORK } from '../words.ts'

export default command({
  args: [RUN_AT_WORK, OF_TASK],
  examples: [
    ['parley resume last', 'everything of the newest run that is suspended'],
    ['parley resume run_k3f9qz docs', 'one task'],
  ],
  async run(context, { words }) {
    const { run } = await context.api.runs.show({ run: await runAtWork(context, words[0]) })
    await context.api.workspaces.resume({ run, task: words[1] })
    print(context, { run, task: words[1] ?? null }, () => [`Resumed ${words[1] ?? 'the work'} of ${run}.`])
  },
})
