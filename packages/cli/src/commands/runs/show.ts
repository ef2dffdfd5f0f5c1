// `parley show`: everything about one run; with --follow, until it is over.
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import { attend } from '../../live/attend.ts'
import { withWork } from '../../live/gate-work.ts'
import { drawing, print } from '../../output.ts'
import { showLines } from '../../render/show.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  args: [RUN],
  flags: {
    follow: { short: 'f', summary: 'Follow it until it is over' },
    full: {
      summary: 'Everything that agents said, and the beginning of what each turn was told; --json has all of it',
    },
  },
  examples: [
    ['parley show', 'the newest run: its tasks, its steps, its result, what it cost'],
    ['parley show --full', 'with all that agents said, and the beginning of each prompt; --json has all of it'],
    ['parley show run_k3f9qz --follow', 'return to a run that continues without a terminal'],
  ],
  async run(context, { flags, words }) {
    const view = await context.api.runs.show({ run: await runHere(context, words[0]) })
    if (flags.follow) return attend(context, context.api, view.run, { watch: true })
    const gates = await withWork(context.api, view.gates)
    const told = flags.full ? await context.api.runs.prompts({ run: view.run }, SLOW) : undefined
    print(context, { ...view, gates, ...told }, () => showLines(view, drawing(context), { gates, told }))
  },
})
