// `parley abort`: ends a run. Unlike other commands it never takes the newest run by itself.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { reasonOf } from './words.ts'

export const abort = command({
  name: 'abort',
  summary: 'End a run; what it has integrated so far is kept',
  args: [{ name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' }],
  flags: { reason: { type: 'text', value: 'TEXT', summary: "Why; it is kept in the node's log" } },
  examples: [
    ['parley abort last', 'the newest run'],
    ['parley abort run_01m7 --reason "Wrong branch"', 'saying why'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const { run } = await api.show(words[0]!)
    const reason = reasonOf(flags.reason) ?? 'aborted by its owner'
    await api.abort(run, reason)
    print(context, { run, reason }, () => [`Aborted ${run}.`])
    return EXIT.done
  },
})
