// `parley abort`: ends a run or one of its tasks, at once or after a grace period. It never defaults to one of several.
import { type Context, command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import { isOver, type PlanTaskView } from '../../node/views.ts'
import { print } from '../../output.ts'
import { keptLines } from '../../render/ending.ts'
import { duration } from '../../render/format.ts'
import { runAtWork } from '../which-run.ts'
import { graceOf, RUN_AT_WORK, reasonOf } from '../words.ts'

export default command({
  about:
    'With --grace, agents are notified by mail (`parley ws inbox`) and may finish; work that is finished in time is merged as usual, and the rest is ended. What agents had saved is kept, also without --grace: `parley salvage` takes it over, even after the run has ended.',
  args: [RUN_AT_WORK, { name: 'TASK', summary: 'One task of it (default: the whole run)', optional: true }],
  flags: {
    reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
    grace: { value: 'TIME', summary: 'Give agents this long to finish first, such as 2m' },
  },
  examples: [
    ['parley abort last', 'the newest run'],
    ['parley abort run_k3f9qz docs --reason "Not needed"', 'the work on one task'],
    ['parley abort last docs --grace 2m', 'its agent has two minutes to finish'],
  ],
  async run(context, { flags, words }) {
    const grace = graceOf(flags.grace)
    const { run } = await context.api.runs.show({ run: await runAtWork(context, words[0]) })
    const task = words[1]
    const reason = reasonOf(flags.reason) ?? 'aborted by its owner'
    await context.api.runs.abort({ run, reason, task, grace })
    // What is kept is known when the folders of the run are in order.
    const kept = grace === undefined && task === undefined ? await keptOf(context, run) : []
    print(context, { run, reason, task, grace, kept: kept.map(keptView) }, () => [
      grace !== undefined
        ? `Asked ${task ?? 'all work'} of ${run} to finish within ${duration(grace)}.`
        : task === undefined
          ? `Aborted ${run}.`
          : `Aborted the work on ${task} in ${run}.`,
      ...keptLines({ run, tasks: kept }),
    ])
  },
})

/** As far as it is known in a moment: turns may take longer to end. */
async function keptOf({ api, clock }: Context, run: string): Promise<readonly PlanTaskView[]> {
  const patience = new AbortController()
  const takeBack = clock.after(cliLimits.abortMs, () => patience.abort())
  let tasks: readonly PlanTaskView[] = []
  try {
    for await (const view of api.streams.runs.follow({ run }, { signal: patience.signal })) {
      tasks = view.tasks
      if (isOver(view.state)) break
    }
  } catch {
    // The run is ended, whatever can be said about it.
  } finally {
    takeBack()
  }
  return tasks.filter(({ salvage }) => salvage?.state === 'kept')
}

function keptView({ id, salvage }: PlanTaskView) {
  return { task: id, commit: salvage?.commit, checkpoint: salvage?.checkpoint, files: salvage?.files }
}
