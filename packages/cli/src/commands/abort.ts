// `parley abort`: ends a run, or the work on one of its tasks. Unlike other commands it never takes the newest run by itself.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { reasonOf } from './words.ts'

export const abort = command({
  name: 'abort',
  summary: 'End a run, or the work on one task; what is integrated so far is kept',
  args: [
    { name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' },
    { name: 'TASK', summary: 'One task of it (default: the whole run)', optional: true },
  ],
  flags: { reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' } },
  examples: [
    ['parley abort last', 'the newest run'],
    ['parley abort run_01m7 docs --reason "Not needed"', 'the work on one task'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const { run } = await api.show(words[0]!)
    const task = words[1]
    const reason = reasonOf(flags.reason) ?? 'aborted by its owner'
    await api.abort(run, reason, task)
    print(context, { run, reason, ...(task !== undefined && { task }) }, () => [
      task === undefined ? `Aborted ${run}.` : `Aborted the work on ${task} in ${run}.`,
    ])
    return EXIT.done
  },
})
