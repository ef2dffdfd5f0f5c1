// `parley budget`: what the profile has spent today; what a run and its tasks may use, how far they have, and higher limits.
import { type Context, command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import { drawing, print } from '../output.ts'
import { budgetsTable, LIMIT_NAMES } from '../render/runs.ts'
import { todayLines } from '../render/today.ts'
import type { BudgetLimit } from '../views.ts'
import { RUN } from './words.ts'

export const budget = command({
  name: 'budget',
  summary: 'Show what was spent today, or what a run may use; raise a limit',
  about: `Without a run: today's spending of the profile (UTC) against \`budget.daily_usd\` of config.yaml, your own turns and those for peers. A limit of a run is raised with its name and the new amount: ${Object.values(LIMIT_NAMES).join(', ')}. Amounts are written as in a team file.`,
  args: [
    { ...RUN, summary: 'A run: its id, a unique beginning of it, or last' },
    { name: 'NAME=AMOUNT', summary: 'A higher limit', optional: true, rest: true },
  ],
  flags: {
    task: {
      type: 'text',
      value: 'TASK',
      summary: 'The task whose limit is raised (default: that of the run)',
    },
  },
  examples: [
    ['parley budget', 'what the profile has spent today, and by whom'],
    ['parley budget last', 'the newest run'],
    ['parley budget last tokens=2000000', 'more for the whole run'],
    ['parley budget last --task docs cost=5 working_time=2h', 'more for one task'],
  ],
  async run(context, { flags, words }) {
    const [named, ...raises] = words
    if (named === undefined) return today(context, flags.task)
    // Read only where something is raised: it brings the whole node with it.
    const units = raises.length > 0 ? await import('@parley/node') : undefined
    const wanted = raises.map(word => raiseOf(word, units!))
    const api = await context.connect()
    const { run } = await api.show(named)
    for (const raise of wanted)
      await api.raiseBudget(run, { ...raise, ...(flags.task !== undefined && { task: flags.task }) })
    const budgets = await api.budgets(run)
    print(context, { run, budgets }, () =>
      budgets.length > 0 ? budgetsTable(budgets, drawing(context)) : ['No budget is set for this run.'],
    )
    return EXIT.done
  },
})

async function today(context: Context, task: string | undefined): Promise<ExitCode> {
  if (task !== undefined)
    throw new Failure('usage', '--task needs a run.', { next: `parley budget last --task ${task} cost=5` })
  const api = await context.connect()
  const spent = await api.spentToday()
  print(context, spent, () => todayLines(spent, drawing(context)))
  return EXIT.done
}

type Units = Pick<typeof import('@parley/node'), 'parseBytes' | 'parseDuration'>

function raiseOf(word: string, units: Units): { readonly dimension: BudgetLimit; readonly limit: number } {
  const at = word.indexOf('=')
  const name = word.slice(0, Math.max(0, at))
  const dimension = Object.entries(LIMIT_NAMES).find(([, each]) => each === name)?.[0] as
    | BudgetLimit
    | undefined
  const limit = dimension && amountOf(dimension, word.slice(at + 1), units)
  if (dimension && limit !== undefined && limit > 0) return { dimension, limit }
  throw new Failure('usage', `'${word}' is no limit.`, {
    why: dimension
      ? `The amount of ${name} is written as in a team file.`
      : `A limit is one of ${Object.values(LIMIT_NAMES).join(', ')}, an equals sign and an amount.`,
    next: 'parley budget last tokens=2000000 cost=5 working_time=2h trail=64MiB',
  })
}

function amountOf(
  dimension: BudgetLimit,
  text: string,
  { parseBytes, parseDuration }: Units,
): number | undefined {
  switch (dimension) {
    case 'compute_timeout':
    case 'wall_time_limit':
      return parseDuration(text)
    case 'checkpoint_limit':
    case 'trail_limit':
    case 'bandwidth_limit':
      return parseBytes(text)
    default:
      return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
  }
}
