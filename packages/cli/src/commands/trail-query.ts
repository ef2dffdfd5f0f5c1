// `parley trail query`: entries of a run's record.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { cliLimits } from '../limits.ts'
import { drawing, print, remark } from '../output.ts'
import { entryLines } from '../render/trail.ts'
import { FILTER_FLAGS, filterOf } from './trail-filter.ts'
import { LAST, limitOf, RUN } from './words.ts'

export const trailQuery = command({
  name: 'trail query',
  summary: 'Show entries of the record of a run',
  args: [RUN],
  flags: {
    ...FILTER_FLAGS,
    after: { type: 'integer', value: 'SEQ', summary: 'Only entries behind this one' },
    limit: { type: 'integer', value: 'N', summary: `At most so many (default: ${cliLimits.entries})` },
    newest: { type: 'boolean', summary: 'The newest first' },
  },
  examples: [
    ['parley trail query', 'how the newest run began'],
    ['parley trail query run_01m7 --type workspace_state_changed --newest', 'what changed last'],
  ],
  async run(context, { flags, words }) {
    const filter = filterOf(flags)
    const api = await context.connect()
    const limit = limitOf(flags.limit, cliLimits.entries, cliLimits.mostEntries)
    const page = await api.queryTrail({
      run: words[0] ?? LAST,
      ...filter,
      ...(flags.after !== undefined && { after: flags.after }),
      ...(flags.newest && { order: 'descending' }),
      limit,
    })
    print(context, page, () =>
      page.entries.length > 0 ? entryLines(page.entries, drawing(context)) : ['No entries.'],
    )
    if (page.more) remark(context, `There are more: --after ${page.cursor}`)
    return EXIT.done
  },
})
