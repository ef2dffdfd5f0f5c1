// `parley abort`: ends a run, or the work on one of its tasks, at once or with time to finish. Unlike other commands it never takes the
// newest run by itself.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { duration } from '../render/format.ts'
import { graceOf, reasonOf } from './words.ts'

export const abort = command({
  name: 'abort',
  summary: 'End a run, or the work on one task; what is integrated so far is kept',
  about:
    'With --grace agents are told in their mail (`parley ws inbox`) and may bring their work to an end; what is finished in time is merged as usual, and what is not is ended. What they had kept by then can be saved: `parley salvage`.',
  args: [
    { name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' },
    { name: 'TASK', summary: 'One task of it (default: the whole run)', optional: true },
  ],
  flags: {
    reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' },
    grace: { type: 'text', value: 'TIME', summary: 'Let agents finish within this time first, such as 2m' },
  },
  examples: [
    ['parley abort last', 'the newest run'],
    ['parley abort run_01m7 docs --reason "Not needed"', 'the work on one task'],
    ['parley abort last docs --grace 2m', 'its agent has two minutes to finish'],
  ],
  async run(context, { flags, words }) {
    const grace = await graceOf(flags.grace)
    const api = await context.connect()
    const { run } = await api.show(words[0]!)
    const task = words[1]
    const reason = reasonOf(flags.reason) ?? 'aborted by its owner'
    await api.abort(run, reason, task, grace)
    const said = { run, reason, ...(task !== undefined && { task }), ...(grace !== undefined && { grace }) }
    print(context, said, () => [
      grace !== undefined
        ? `Asked ${task ?? 'all work'} of ${run} to finish within ${duration(grace)}.`
        : task === undefined
          ? `Aborted ${run}.`
          : `Aborted the work on ${task} in ${run}.`,
    ])
    return EXIT.done
  },
})
