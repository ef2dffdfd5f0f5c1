// `parley suspend`: pauses the work of a run or of one task.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { runAtWork } from '../which-run.ts'
import { OF_TASK, RUN_AT_WORK, reasonOf } from '../words.ts'

export default command({
  about:
    'Running turns are ended, and run again from their last checkpoint after `parley resume`. No time or budget is used in the meantime.',
  args: [RUN_AT_WORK, OF_TASK],
  flags: { reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' } },
  examples: [
    ['parley suspend last', 'everything of the newest run'],
    ['parley suspend run_k3f9qz docs --reason "The style guide is coming"', 'one task'],
  ],
  async run(context, { flags, words }) {
    const { run } = await context.api.runs.show({ run: await runAtWork(context, words[0]) })
    const reason = reasonOf(flags.reason) ?? 'suspended by its owner'
    await context.api.workspaces.suspend({ run, reason, task: words[1] })
    print(context, { run, task: words[1] ?? null, reason }, () => [
      `Suspended ${words[1] ?? 'all work'} of ${shortId(run)}. Turns at work were ended.`,
      `resume  parley resume ${shortId(run)} takes them again from their last checkpoint`,
    ])
  },
})
