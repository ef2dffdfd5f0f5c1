// Tables of runs, tasks, gates and agents: as wide as the terminal, ids shortened.
import { basename } from 'node:path'
import type { Ticks } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type {
  AgentView,
  BudgetLimit,
  BudgetView,
  ListedGate,
  PlanTaskView,
  RunSummaryView,
  UserView,
} from '../node/views.ts'
import { ago, bytes, count, duration, lasted, money, shortId, shortIds, spend, timesUntil } from './format.ts'
import { type Cell, table } from './grid.ts'
import { RUN_TONES } from './live.ts'
import { type Drawing, fileNotes, successionNotes } from './tasks.ts'
import { oneLine, reasonLines, wrap } from './text.ts'
import { symbolOf, toneOf } from './tree.ts'
import { fallbackText } from './waiting.ts'
import { gateWorkLines } from './work.ts'

export function runsTable(runs: readonly RunSummaryView[], drawing: Drawing): readonly string[] {
  const { now } = drawing
  const short = shortIds(runs.map(({ run }) => run))
  const several = new Set(runs.flatMap(({ project }) => project || [])).size > 1
  const known = (run: RunSummaryView, text: string) => (run.state === 'damaged' ? '' : text)
  const [header = '', ...rows] = table(
    runs,
    [
      { header: 'RUN', of: ({ run }) => short(run) },
      { header: 'STATE', of: stateOf },
      { header: 'INTENT', flexible: true, of: ({ intent }) => firstLine(intent) },
      ...(several ? [PROJECT] : []),
      { header: 'TASKS', align: 'right', optional: 2, of: run => known(run, `${run.tasks_done}/${run.tasks_total}`) },
      { header: 'STARTED', align: 'right', optional: 1, of: ({ started }) => ago(started, now) },
      { header: 'TOOK', align: 'right', optional: 3, of: run => known(run, lasted(run.started, run.ended, now)) },
      { header: 'WAITED', align: 'right', optional: 6, of: run => waitedFor(run, now) },
      { header: 'SPENT', align: 'right', optional: 4, of: ({ usage }) => spend(usage) },
      { header: 'FROM', optional: 5, of: ({ imported }) => (imported ? 'imported' : '') },
    ],
    drawing,
  )
  return [header, ...rows.flatMap((row, index) => [row, ...waitsLines(runs[index]!, drawing)])]
}

const PROJECT = {
  header: 'PROJECT',
  optional: 2,
  of: ({ project }: RunSummaryView) => oneLine(basename(project)),
} as const

/** For a person: that time is no work. */
function waitedFor(run: RunSummaryView, now: Ticks): string {
  const { person } = timesUntil(run, now)
  return person >= 1000 ? duration(person) : ''
}

function stateOf({ state, waits, times }: RunSummaryView): Cell {
  // A person has to act, and is asked nothing.
  if (state === 'working' && !waits && times?.doing === 'person') return { text: 'suspended', tone: 'warning' }
  return waits?.alone ? { text: 'waiting for you', tone: 'warning' } : { text: state, tone: RUN_TONES[state] }
}

/** What a person is asked, below the run. */
function waitsLines({ waits }: RunSummaryView, { width, paint }: Drawing): readonly string[] {
  if (!waits) return []
  const more = waits.things > 1 ? ` (and ${waits.things - 1} more)` : ''
  const text = `${waits.alone ? '' : 'waiting for you: '}${oneLine(waits.question)}${more}`
  return wrap(text, Math.max(cliLimits.leastColumns, width - 2)).map(line => `  ${paint('warning', line)}`)
}

/** `verify` checks every entry; what else the run refers to may be lost, too. */
export function damageRemark(runs: readonly RunSummaryView[]): string | undefined {
  const damaged = runs.filter(({ state }) => state === 'damaged')
  const [only] = damaged
  if (!only) return undefined
  const name = damaged.length === 1 ? shortId(only.run) : 'RUN'
  const what = damaged.length === 1 ? `${name} is damaged` : `${damaged.length} runs are damaged`
  return `${what}: \`parley trail verify ${name}\` shows the damage, \`parley show ${name}\` why it cannot be read.`
}

/** The first line that is no heading, if there is one: what a peer asks has parts with headings. */
function firstLine(text: string): string {
  const said = text.split(/\r\n|\r|\n/).filter(line => line.trim() !== '')
  return oneLine(said.find(line => !HEADING.test(line)) ?? said[0]?.replace(HEADING, '') ?? '')
}

const HEADING = /^\s*#{1,6}\s+/

export function tasksTable(tasks: readonly PlanTaskView[], drawing: Drawing): readonly string[] {
  const { now } = drawing
  const [header = '', ...rows] = table(
    tasks,
    [
      { header: 'TASK', of: ({ id }) => oneLine(id) },
      { header: 'STATE', of: ({ state }) => ({ text: `${symbolOf(state)} ${state}`, tone: toneOf(state) }) },
      { header: 'TITLE', flexible: true, optional: 3, of: ({ id, title }) => (title === id ? '' : oneLine(title)) },
      { header: 'AGENT', optional: 2, of: ({ agent }) => oneLine(agent) },
      { header: 'TRY', align: 'right', optional: 4, of: triesOf },
      { header: 'TOOK', align: 'right', optional: 1, of: ({ started, ended }) => lasted(started, ended, now) },
      { header: 'SPENT', align: 'right', optional: 5, of: ({ usage }) => spend(usage) },
      { header: 'FILES', align: 'right', optional: 6, of: ({ files }) => String(files.length || '') },
    ],
    drawing,
  )
  return [header, ...rows.flatMap((row, index) => [row, ...whyLines(tasks[index]!, drawing)])]
}

function triesOf({ attempt, attempts }: PlanTaskView): string {
  return attempt > 0 ? `${attempt}/${attempts}` : ''
}

function whyLines(task: PlanTaskView, { width, now, paint }: Drawing): readonly string[] {
  const { note, state } = task
  const why = note && state !== 'done' ? [note] : []
  const tone = state === 'failed' ? 'bad' : 'warning'
  return [...why, ...successionNotes(task, now), ...fileNotes(task)].flatMap(text =>
    reasonLines('  ', text, Math.max(cliLimits.leastColumns, width), line => paint(tone, line)),
  )
}

/** Each with the work that is judged at it. */
export function gatesTable(gates: readonly ListedGate[], drawing: Drawing): readonly string[] {
  const { now } = drawing
  const shortGate = shortIds(gates.map(({ id }) => id))
  const several = gates.some(({ run }) => run !== gates[0]?.run)
  const shortRun = shortIds(gates.map(({ run }) => run))
  const [header = '', ...rows] = table(
    gates,
    [
      { header: 'GATE', of: ({ id }) => shortGate(id) },
      { header: 'RUN', optional: 2, of: ({ run }) => shortRun(run) },
      { header: 'WAITS', align: 'right', of: ({ since }) => lasted(since, undefined, now) },
      {
        header: 'QUESTION',
        flexible: true,
        of: ({ question, intent }) => oneLine(several && intent ? `${question} (${intent})` : question),
      },
      {
        header: 'FOR',
        optional: 1,
        of: gate => (gate.waits_for === 'coordinator' ? 'coordinator' : oneLine(gate.addressee)),
      },
      { header: 'THEN', optional: 3, of: gate => fallbackText(gate, now) ?? '' },
    ],
    drawing,
  )
  return [header, ...rows.flatMap((row, index) => [row, ...gateWorkLines(gates[index]!, drawing)])]
}

export function budgetsTable(budgets: readonly BudgetView[], drawing: Drawing): readonly string[] {
  return table(
    budgets,
    [
      { header: 'TASK', flexible: true, of: ({ task }) => oneLine(task) },
      { header: 'LIMIT OF', of: ({ dimension }) => LIMIT_NAMES[dimension] },
      { header: 'USED', align: 'right', of: ({ dimension, used }) => amountText(dimension, used) },
      { header: 'LIMIT', align: 'right', of: ({ dimension, limit }) => amountText(dimension, limit) },
      {
        header: '%',
        align: 'right',
        of: ({ used, limit, warned }) => ({
          text: String(Math.floor((100 * used) / limit)),
          ...(warned && { tone: 'warning' }),
        }),
      },
    ],
    drawing,
  )
}

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

export function usersTable(users: readonly UserView[], drawing: Drawing): readonly string[] {
  return table(
    users,
    [
      { header: 'USER', of: ({ user }) => oneLine(user) },
      { header: 'STATE', of: ({ state }) => ({ text: state, tone: state === 'active' ? 'good' : 'warning' }) },
      { header: 'WAITS', align: 'right', of: ({ waiting }) => String(waiting) },
      {
        header: 'MAY',
        flexible: true,
        optional: 1,
        of: ({ capabilities }) => (capabilities.length === ALL_CAPABILITIES ? 'everything' : capabilities.join(', ')),
      },
    ],
    drawing,
  )
}

const ALL_CAPABILITIES = 16

export function agentsTable(agents: readonly AgentView[], drawing: Drawing): readonly string[] {
  return table(
    agents,
    [
      { header: 'AGENT', of: ({ name }) => oneLine(name) },
      { header: 'SOURCE', optional: 3, of: agent => `${agent.source}${agent.default ? ', default' : ''}` },
      {
        header: 'FOUND',
        of: ({ found, away }) => {
          if (away) return { text: `yes, but ${away.text}`, tone: 'warning' }
          return found ? { text: 'yes', tone: 'good' } : { text: 'no', tone: 'quiet' }
        },
      },
      { header: 'VERSION', optional: 2, of: ({ version = '' }) => oneLine(version) },
      { header: 'NEEDS', flexible: true, optional: 1, of: agent => oneLine(needsOf(agent)) },
    ],
    drawing,
  )
}

function needsOf({ needs }: AgentView): string {
  if (!needs) return ''
  const credentials = [...needs.variables, ...needs.files].join(' or ')
  return [...needs.hosts, credentials].filter(each => each !== '').join('; ')
}
