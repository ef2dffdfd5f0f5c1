// `parley show`: everything about one run; with --follow, until it is over.
import { command } from '../../command.ts'
import { attend } from '../../live/attend.ts'
import { drawing, print } from '../../output.ts'
import { showLines } from '../../render/show.ts'
import { LAST, RUN } from '../words.ts'

export default command({
  args: [RUN],
  flags: {
    follow: { summary: 'Follow it until it is over' },
    full: { summary: 'Everything that agents said, not just the beginning' },
  },
  examples: [
    ['parley show', 'the newest run: its tasks, its steps, its result, what it cost'],
    ['parley show run_k3f9qz --follow', 'return to a run that continues without a terminal'],
  ],
  async run(context, { flags, words }) {
    const view = await context.api.runs.show({ run: words[0] ?? LAST })
    if (flags.follow) return attend(context, context.api, view.run, { watch: true })
    print(context, view, () => showLines(view, drawing(context), flags.full))
  },
})
