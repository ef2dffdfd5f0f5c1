// Tables of runs, tasks, gates and agents: as wide as the terminal, ids shortened.
import { formatTimestamp, type Ticks } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type {
  AgentView,
  BudgetLimit,
  BudgetView,
  GateView,
  PlanTaskView,
  RunSummaryView,
  UserView,
} from '../node/views.ts'
import { ago, between, bytes, count, duration, money, shortGate, shortId, spend } from './format.ts'
import { grid } from './grid.ts'
import { RUN_TONES } from './live.ts'
import { type Drawing, fileNotes, successionNotes } from './tasks.ts'
import { oneLine, wrap } from './text.ts'
import { SYMBOLS, TONES } from './tree.ts'

export function runsTable(runs: readonly RunSummaryView[], { width, now, paint }: Drawing): readonly string[] {
  return grid(
    [
      { header: 'RUN' },
      { header: 'STATE' },
      { header: 'INTENT', flexible: true },
      { header: 'TASKS', align: 'right', optional: 2 },
      { header: 'STARTED', align: 'right', optional: 1 },
      { header: 'TOOK', align: 'right', optional: 3 },
      { header: 'SPENT', align: 'right', optional: 4 },
      { header: 'FROM', optional: 5 },
    ],
    runs.map(run => {
      // What came of it is not known.
      const damaged = run.state === 'damaged'
      return [
        shortId(run.run),
        { text: run.state, tone: RUN_TONES[run.state] },
        firstLine(run.intent),
        damaged ? '' : `${run.tasks_done}/${run.tasks_total}`,
        ago(run.started, now),
        damaged ? '' : duration(between(run.started, run.ended, now) ?? 0),
        spend(run.usage),
        run.imported ? 'imported' : '',
      ]
    }),
    width,
    paint,
  )
}

/**
 * `verify` holds every entry against the record; what else a run refers to may be lost as well, which whoever shows it
 * is told.
 */
export function damageRemark(runs: readonly RunSummaryView[]): string | undefined {
  const damaged = runs.filter(({ state }) => state === 'damaged')
  const [only] = damaged
  if (!only) return undefined
  const name = damaged.length === 1 ? shortId(only.run) : 'RUN'
  const what = damaged.length === 1 ? `${name} is damaged` : `${damaged.length} runs are damaged`
  return `${what}: \`parley trail verify ${name}\` shows the damage, \`parley show ${name}\` why it cannot be read.`
}

/** A table has one line for each; `parley show` has the rest of an intent. */
function firstLine(text: string): string {
  return oneLine(text.split(/\r\n|\r|\n/).find(line => line.trim() !== '') ?? '')
}

export function tasksTable(tasks: readonly PlanTaskView[], { width, now, paint }: Drawing): readonly string[] {
  const [header = '', ...rows] = grid(
    [
      { header: 'TASK' },
      { header: 'STATE' },
      { header: 'TITLE', flexible: true, optional: 3 },
      { header: 'AGENT', optional: 2 },
      { header: 'TRY', align: 'right', optional: 4 },
      { header: 'TOOK', align: 'right', optional: 1 },
      { header: 'SPENT', align: 'right', optional: 5 },
      { header: 'FILES', align: 'right', optional: 6 },
    ],
    tasks.map(task => {
      const took = between(task.started, task.ended, now)
      return [
        oneLine(task.id),
        { text: `${SYMBOLS[task.state]} ${task.state}`, tone: TONES[task.state] },
        task.title === task.id ? '' : oneLine(task.title),
        oneLine(task.agent),
        task.attempt > 0 ? `${task.attempt}/${task.attempts}` : '',
        took === undefined ? '' : duration(took),
        spend(task.usage),
        task.files.length > 0 ? String(task.files.length) : '',
      ]
    }),
    width,
    paint,
  )
  return [header, ...rows.flatMap((row, index) => [row, ...whyLines(tasks[index]!, { width, now, paint })])]
}

/** Below its task: why it failed, waits or was sent back, in full. */
function whyLines(task: PlanTaskView, { width, now, paint }: Drawing): readonly string[] {
  const { note, state } = task
  const why = note && state !== 'done' ? [note] : []
  const tone = state === 'failed' ? 'bad' : 'warning'
  return [...why, ...successionNotes(task, now), ...fileNotes(task)].flatMap(text =>
    wrap(oneLine(text), Math.max(cliLimits.leastColumns, width - 2)).map(line => `  ${paint(tone, line)}`),
  )
}

export function gatesTable(gates: readonly GateView[], { width, now, paint }: Drawing): readonly string[] {
  return grid(
    [
      { header: 'GATE' },
      { header: 'RUN', optional: 2 },
      { header: 'WAITS', align: 'right' },
      { header: 'QUESTION', flexible: true },
      { header: 'FOR', optional: 1 },
      { header: 'THEN', optional: 3 },
    ],
    gates.map(gate => [
      shortGate(gate),
      shortId(gate.run),
      duration(between(gate.since, undefined, now) ?? 0),
      oneLine(gate.question),
      gate.waits_for === 'coordinator' ? 'coordinator' : oneLine(gate.addressee),
      thenOf(gate, now),
    ]),
    width,
    paint,
  )
}

/** `reject in 5m00s`: what happens without an answer. */
export function thenOf({ deadline, fallback }: GateView, now: Ticks): string {
  if (deadline === undefined) return ''
  const left = Math.max(0, between(formatTimestamp(now), deadline, now) ?? 0)
  return `${(fallback ?? '').replaceAll('_', ' ')} in ${duration(left)}`
}

export function budgetsTable(budgets: readonly BudgetView[], { width, paint }: Drawing): readonly string[] {
  return grid(
    [
      { header: 'TASK', flexible: true },
      { header: 'LIMIT OF' },
      { header: 'USED', align: 'right' },
      { header: 'LIMIT', align: 'right' },
      { header: '%', align: 'right' },
    ],
    budgets.map(({ task, dimension, used, limit, warned }) => [
      oneLine(task),
      limitName(dimension),
      amountText(dimension, used),
      amountText(dimension, limit),
      { text: String(Math.floor((100 * used) / limit)), ...(warned && { tone: 'warning' as const }) },
    ]),
    width,
    paint,
  )
}

/** As in a team file. */
export const LIMIT_NAMES = {
  token_limit: 'tokens',
  cost_limit: 'cost',
  compute_timeout: 'working_time',
  wall_time_limit: 'wall_time',
  context_limit: 'context',
  checkpoint_limit: 'checkpoints',
  trail_limit: 'trail',
  bandwidth_limit: 'mail',
} as const satisfies Record<BudgetLimit, string>

function limitName(dimension: BudgetView['dimension']): string {
  return LIMIT_NAMES[dimension]
}

function amountText(dimension: BudgetView['dimension'], amount: number): string {
  switch (dimension) {
    case 'cost_limit':
      return money(amount)
    case 'compute_timeout':
    case 'wall_time_limit':
      return duration(amount)
    case 'token_limit':
    case 'context_limit':
      return count(amount)
    default:
      return bytes(amount)
  }
}

export function usersTable(users: readonly UserView[], { width, paint }: Drawing): readonly string[] {
  return grid(
    [
      { header: 'USER' },
      { header: 'STATE' },
      { header: 'WAITS', align: 'right' },
      { header: 'MAY', flexible: true, optional: 1 },
    ],
    users.map(({ user, state, waiting, capabilities }) => [
      oneLine(user),
      { text: state, tone: state === 'active' ? 'good' : 'warning' },
      String(waiting),
      capabilities.length === ALL_CAPABILITIES ? 'everything' : capabilities.join(', '),
    ]),
    width,
    paint,
  )
}

/** Beside reading what is one's own, which everybody may. */
const ALL_CAPABILITIES = 16

export function agentsTable(agents: readonly AgentView[], { width, paint }: Drawing): readonly string[] {
  return grid(
    [
      { header: 'AGENT' },
      { header: 'SOURCE', optional: 3 },
      { header: 'FOUND' },
      { header: 'VERSION', optional: 2 },
      { header: 'NEEDS', flexible: true, optional: 1 },
    ],
    agents.map(agent => [
      oneLine(agent.name),
      `${agent.source}${agent.default ? ', default' : ''}`,
      agent.found ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'quiet' },
      oneLine(agent.version ?? ''),
      oneLine(needsOf(agent)),
    ]),
    width,
    paint,
  )
}

function needsOf({ needs }: AgentView): string {
  if (!needs) return ''
  const credentials = [...needs.variables, ...needs.files].join(' or ')
  return [...needs.hosts, credentials].filter(each => each !== '').join('; ')
}
