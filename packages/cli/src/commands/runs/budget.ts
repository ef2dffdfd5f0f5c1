// `parley budget`: what the profile has spent today; the limits of a run and its tasks, and raising them.
import { parseBytes, parseDuration } from '@parley/core'
import { type Context, command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { BudgetLimit, TodayView } from '../../node/views.ts'
import { drawing, print } from '../../output.ts'
import { count, duration, money, shortIds, tokensOf } from '../../render/format.ts'
import { table } from '../../render/grid.ts'
import { budgetsTable, LIMIT_NAMES } from '../../render/runs.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  about: `Without a run: what the profile has spent today (UTC), by each agent and by turns at work, against \`budget.daily_usd\` in config.yaml, for your own turns and for peers. To raise a limit of a run, give its name and the new amount: ${Object.values(LIMIT_NAMES).join(', ')}. Amounts are written as in a team file.`,
  args: [
    { ...RUN, summary: 'A run: its id, a part of it as lists show it, or last' },
    { name: 'NAME=AMOUNT', summary: 'A higher limit', optional: true, rest: true },
  ],
  flags: {
    task: { value: 'TASK', summary: "The task whose limit is raised (default: the run's own)" },
  },
  examples: [
    ['parley budget', 'what the profile has spent today, and for whom'],
    ['parley budget last', 'the newest run'],
    ['parley budget last tokens=2000000', 'more for the whole run'],
    ['parley budget last --task docs cost=5 working_time=2h', 'more for one task'],
  ],
  async run(context, { flags, words }) {
    const [named, ...raises] = words
    if (named === undefined) return today(context, flags.task)
    const wanted = raises.map(raiseOf)
    const { run } = await context.api.runs.show({ run: await runHere(context, named) })
    for (const raise of wanted) await context.api.budgets.raise({ run, ...raise, task: flags.task })
    const budgets = (await context.api.budgets.list({ run })).budgets
    print(context, { run, budgets }, () =>
      budgets.length > 0 ? budgetsTable(budgets, drawing(context)) : ['No budget is set for this run.'],
    )
  },
})

async function today(context: Context, task: string | undefined): Promise<undefined> {
  if (task !== undefined)
    throw new Failure('usage', '--task needs a run.', { next: `parley budget last --task ${task} cost=5` })
  const spent = await context.api.budget.today({})
  print(context, spent, () => todayLines(spent, drawing(context)))
}

function raiseOf(word: string): { readonly dimension: BudgetLimit; readonly limit: number } {
  const at = word.indexOf('=')
  const name = word.slice(0, Math.max(0, at))
  const dimension = Object.entries(LIMIT_NAMES).find(([, each]) => each === name)?.[0] as BudgetLimit | undefined
  const limit = dimension && amountOf(dimension, word.slice(at + 1))
  if (dimension && limit !== undefined && limit > 0) return { dimension, limit }
  throw new Failure('usage', `'${word}' is not a limit.`, {
    why: dimension
      ? `The amount of ${name} is written as in a team file.`
      : `A limit is one of ${Object.values(LIMIT_NAMES).join(', ')}, an equals sign and an amount.`,
    next: 'parley budget last tokens=2000000 cost=5 working_time=2h trail=64MiB',
  })
}

function amountOf(dimension: BudgetLimit, text: string): number | undefined {
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

/** As the ledger calls them (ALP-BUD-02). */
const NAMES: Readonly<Record<string, string>> = {
  __interactive__: 'your own turns',
  __others__: 'others',
}

function todayLines(today: TodayView, drawing: Drawing): readonly string[] {
  const { paint } = drawing
  const { by, cap, problem } = today
  if (problem !== undefined) return [paint('bad', oneLine(problem)), ...usedLines(today, drawing)]
  const full = cap !== null && today.used_usd >= cap
  const sum = paint(full ? 'bad' : 'strong', sumOf(today))
  const aside = today.reserved_usd > 0 ? [`${money(today.reserved_usd)} more is reserved for running turns.`] : []
  const next = full
    ? 'Nothing more starts until 00:00 UTC, or until budget.daily_usd in config.yaml is raised.'
    : cap === null
      ? 'There is no cap: budget.daily_usd in config.yaml sets one.'
      : undefined
  const head = [sum, ...aside, ...(next === undefined ? [] : [next])]
  if (by.length === 0) return [...head, ...usedLines(today, drawing)]
  return [
    ...head,
    '',
    ...table(
      by,
      [
        { header: 'FOR', flexible: true, of: ({ name }) => NAMES[name] ?? `peer ${oneLine(name)}` },
        { header: 'COST', align: 'right', of: ({ usd }) => money(usd) },
        { header: 'TOKENS', align: 'right', of: ({ tokens }) => (tokens > 0 ? count(tokens) : '') },
      ],
      drawing,
    ),
    ...usedLines(today, drawing),
  ]
}

/** What agents told that they used: in turns that ended today, and in those at work. */
function usedLines({ agents, turns }: TodayView, drawing: Drawing): readonly string[] {
  const agent = { header: 'AGENT', flexible: true, of: (each: { readonly agent: string }) => oneLine(each.agent) }
  const used = [
    { header: 'TIME', align: 'right', optional: 1, of: ({ usage }: Used) => duration(usage.wall_ms) },
    { header: 'COST', align: 'right', of: ({ usage }: Used) => (usage.usd === undefined ? '' : money(usage.usd)) },
    { header: 'TOKENS', align: 'right', of: ({ usage }: Used) => countOf(tokensOf(usage)) },
  ] as const
  const ended = { header: 'TURNS', align: 'right', of: ({ usage }: Used) => String(usage.turns) } as const
  const short = shortIds(turns.map(({ run }) => run))
  const where = [
    { header: 'RUN', of: ({ run }: Turn) => short(run) },
    { header: 'TASK', flexible: true, of: ({ task }: Turn) => oneLine(task) },
  ]
  return [
    ...(agents.length > 0 ? ['', ...table(agents, [agent, ended, ...used], drawing)] : []),
    ...(turns.length > 0
      ? ['', drawing.paint('strong', 'At work'), ...table(turns, [...where, agent, ...used], drawing)]
      : []),
  ]
}

type Turn = TodayView['turns'][number]
type Used = Pick<Turn, 'usage'>

function countOf(tokens: number | undefined): string {
  return tokens === undefined ? '' : count(tokens)
}

/** `2026-11-15 (UTC): $2.50 of $5.00, 12k tokens`. */
function sumOf({ day, cap, used_usd, used_tokens }: TodayView): string {
  const limit = cap === null ? '' : ` of ${money(cap)}`
  const tokens = used_tokens > 0 ? `, ${count(used_tokens)} tokens` : ''
  return `${day} (UTC): ${money(used_usd)}${limit}${tokens}`
}
