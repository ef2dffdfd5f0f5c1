// `parley show`: everything about one run; with --follow until it is over.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { attend } from '../live/attend.ts'
import { drawing, print } from '../output.ts'
import { showLines } from '../render/show.ts'
import { LAST, RUN } from './words.ts'

export const show = command({
  name: 'show',
  summary: 'Show everything about one run',
  args: [RUN],
  flags: {
    follow: { type: 'boolean', summary: 'Stay with it until it is over' },
    full: { type: 'boolean', summary: 'All that agents said, not only how it begins' },
  },
  examples: [
    ['parley show', 'the newest run: its tasks, its steps, its result, what it cost'],
    ['parley show run_01m7 --follow', 'back to a run that goes on without a terminal'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const view = await api.show(words[0] ?? LAST)
    if (flags.follow) return attend(context, api, view.run, { watch: true })
    print(context, view, () => showLines(view, drawing(context), flags.full))
    return EXIT.done
  },
})
