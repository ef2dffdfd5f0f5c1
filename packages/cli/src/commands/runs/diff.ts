// `parley diff`: the work under judgement, of a run or one of its tasks.
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import { drawing, print } from '../../output.ts'
import { pageLines } from '../../pager.ts'
import { patchLines, workLines } from '../../render/work.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  about:
    'Shows what the author said, the checks and reviews, the cost, the files and the patch: of everything that the run has integrated, or of what a task kept last, before and after it is merged. On a terminal it uses the pager of your git.',
  args: [
    RUN,
    { name: 'TASK', summary: 'One task of it, or a workspace (default: all that is integrated)', optional: true },
  ],
  flags: {
    stat: { summary: 'The files with their counts, without the patch' },
    full: { summary: 'Everything that authors and reviewers said, not just the beginning' },
  },
  examples: [
    ['parley diff', 'what the newest run changed'],
    ['parley diff last docs', 'the work of one task, before you approve its merge'],
    ['parley diff run_k3f9qz --stat', 'only the files'],
  ],
  async run(context, { flags, words }) {
    const { terminal, global } = context
    const [named, task] = words
    const run = await runHere(context, named)
    const wanted = { run, task, patch: !flags.stat, ...((global.json || !terminal.seen) && { binary: true }) }
    const work = await context.api.results.show(wanted, SLOW)
    const { patch = '' } = work
    // To a file or a program the patch goes as it is, so that `git apply` takes it.
    const shown = () => [
      ...workLines(work, drawing(context), flags.full),
      ...(patch === ''
        ? []
        : ['', ...(terminal.seen ? patchLines(patch, terminal.paint) : [patch.replace(/\n$/, '')])]),
    ]
    if (global.json || !terminal.seen || flags.stat) print(context, work, shown)
    else await pageLines(context, shown())
  },
})
