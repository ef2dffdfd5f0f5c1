// `parley runs`: the runs of the profile.
import { command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import { machineFault } from '../../node/client.ts'
import { LISTED_STATES, type ListedState } from '../../node/views.ts'
import { drawing, printHeld, remark } from '../../output.ts'
import { damageRemark, runsTable } from '../../render/runs.ts'
import { limitOf } from '../words.ts'

const NONE = 'No runs. `parley solve "…"` starts one.'
const NO_SUCH = 'No such runs. `parley runs` lists all.'

export default command({
  flags: {
    state: { value: 'STATE', many: true, choices: LISTED_STATES, summary: 'Only runs in this state; may be repeated' },
    limit: { value: 'N', whole: true, summary: `At most this many (default: ${cliLimits.runs})` },
  },
  examples: [
    ['parley runs', 'the newest runs'],
    ['parley runs --state working --state waiting --json', 'runs in progress, for a program'],
    ['parley runs --state damaged', 'those whose record is damaged'],
  ],
  async run(context, { flags }) {
    const limit = limitOf(flags.limit, cliLimits.runs, cliLimits.mostRuns)
    const states = flags.state as readonly ListedState[]
    // One more than is shown, to know whether there are more.
    const asked = Math.min(limit + 1, cliLimits.mostRuns)
    const { runs: found } = await context.api.runs.list({
      limit: asked,
      states: states.length > 0 ? states : undefined,
    })
    const list = found.slice(0, limit)
    const more = found.length > limit
    const machine = await machineFault(context.api)
    printHeld(context, { runs: list, more }, machine, () =>
      list.length > 0 ? runsTable(list, drawing(context)) : [states.length > 0 ? NO_SUCH : NONE],
    )
    const damage = damageRemark(list)
    if (damage !== undefined) remark(context, damage)
    if (more) remark(context, `There are more: --limit ${Math.min(limit * 5, cliLimits.mostRuns)}`)
  },
})
