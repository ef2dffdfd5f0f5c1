// `parley trail query`: entries of a run's record.
import { command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import { drawing, print, remark } from '../../output.ts'
import { entryLines } from '../../render/trail.ts'
import { runHere } from '../which-run.ts'
import { limitOf, RUN } from '../words.ts'
import { FILTER_FLAGS, filterOf } from './filter.ts'
import { namesIn } from './names.ts'

export default command({
  args: [RUN],
  flags: {
    ...FILTER_FLAGS,
    after: { value: 'SEQ', whole: true, summary: 'Only entries after this one' },
    limit: { value: 'N', whole: true, summary: `At most this many (default: ${cliLimits.entries})` },
    newest: { summary: 'The newest first' },
  },
  examples: [
    ['parley trail query', 'the beginning of the newest run'],
    ['parley trail query run_k3f9qz --type workspace_state_changed --newest', 'what changed last'],
  ],
  async run(context, { flags, words }) {
    const filter = filterOf(flags)
    const limit = limitOf(flags.limit, cliLimits.entries, cliLimits.mostEntries)
    const page = await context.api.trail.query({
      run: await runHere(context, words[0]),
      ...filter,
      after: flags.after,
      order: flags.newest ? 'descending' : undefined,
      limit,
    })
    const seen = context.global.json ? undefined : await namesIn(context.api, page.run)
    print(context, page, () =>
      page.entries.length > 0 ? entryLines(page.entries, drawing(context), seen?.names) : ['No entries.'],
    )
    if (page.more) remark(context, `There are more: --after ${page.cursor}`)
  },
})
