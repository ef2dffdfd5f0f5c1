// `parley abort`: ends a run or one of its tasks, at once or after a grace period. It never defaults to the newest run.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { duration } from '../../render/format.ts'
import { graceOf, reasonOf } from '../words.ts'

export default command({
  about:
    'With --grace, agents are notified by mail (`parley ws inbox`) and may finish; work that is finished in time is merged as usual, and the rest is ended. Its checkpoints can be recovered with `parley salvage`.',
  args: [
    { name: 'RUN', summary: 'A run: its id, a unique prefix of it, or last' },
    { name: 'TASK', summary: 'One task of it (default: the whole run)', optional: true },
  ],
  flags: {
    reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
    grace: { value: 'TIME', summary: 'Give agents this long to finish first, such as 2m' },
  },
  examples: [
    ['parley abort last', 'the newest run'],
    ['parley abort run_01m7 docs --reason "Not needed"', 'the work on one task'],
    ['parley abort last docs --grace 2m', 'its agent has two minutes to finish'],
  ],
  async run(context, { flags, words }) {
    const grace = await graceOf(flags.grace)
    const { run } = await context.api.runs.show({ run: words[0]! })
    const task = words[1]
    const reason = reasonOf(flags.reason) ?? 'aborted by its owner'
    await context.api.runs.abort({ run, reason, task, grace })
    print(context, { run, reason, task, grace }, () => [
      grace !== undefined
        ? `Asked ${task ?? 'all work'} of ${run} to finish within ${duration(grace)}.`
        : task === undefined
          ? `Aborted ${run}.`
          : `Aborted the work on ${task} in ${run}.`,
    ])
  },
})
