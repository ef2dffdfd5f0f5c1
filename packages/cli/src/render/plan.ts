// The plan before it is approved: what it is about, and on request every task in full.
import { describeAgent, type Team } from '@parley/node'
import type { DescribedAgent, GateView, PlanTaskView, RunView } from '../node/views.ts'
import { duration, plural, shortId } from './format.ts'
import type { Paint } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { cut, each, labelled, oneLine, projectText, wrap } from './text.ts'

type TeamAgent = Team['agents'][string]
type PlannedTask = Team['plan'][number]

/** What a person has to know beside the tasks before it starts. */
export function planLines(view: RunView, { width }: Pick<Drawing, 'width'>): readonly string[] {
  const where = view.project === '' ? 'without files' : `in ${oneLine(view.project)}`
  const what = `team ${oneLine(view.team)}, ${plural(view.tasks.length, 'task')}, ${where}`
  return [
    ...[what, ...folderLines(view)].map(line => cut(line, width)),
    // Never cut: whoever starts it has to know all that comes.
    ...beforeLines(view).flatMap(line => wrap(line, width)),
  ]
}

/** `described`: the agents of a run whose team the node has made, of one agent. */
export function planDetails(
  view: RunView,
  team: Team | undefined,
  drawing: Drawing,
  described: readonly DescribedAgent[] = [],
): readonly string[] {
  const { paint, width } = drawing
  return [
    ...labelled(
      [
        ['run', view.run],
        ['project', projectText(view)],
        ['intent', view.intent],
        ...(team ? [['limits', limitsOf(team)] as const] : []),
        ...folderLines(view).map(line => ['folders', line] as const),
        ...beforeLines(view).map(line => ['gates', line] as const),
      ],
      width,
    ),
    '',
    ...view.tasks.flatMap(task => [
      `${paint('strong', oneLine(task.id))}: ${oneLine(task.title)}`,
      ...labelled(taskFacts(task, view.intent, team, described), width - 2).map(line => `  ${line}`),
      '',
    ]),
    ...wrap(`Answer here, or later with \`parley approve ${shortId(view.run)}\`.`, width).map(line =>
      paint('quiet', line),
    ),
  ]
}

/** So that whoever starts it knows that more questions come. */
function beforeLines({ asks_before = [] }: RunView): readonly string[] {
  const later = asks_before.filter(type => type !== 'task_approval').map(type => BEFORE[type])
  return later.length === 0 ? [] : [`you are also asked before ${each(later)}`]
}

const BEFORE: Readonly<Record<Exclude<GateView['type'], 'escalation'>, string>> = {
  task_approval: 'a task starts',
  workspace_create: 'an agent starts',
  envelope_delivery: 'a message arrives',
  integration: 'work is merged',
  conflict_resolution: 'a conflict is settled',
  workspace_abort: 'work is ended',
}

/** What runs in folders before the work, and what of the user's files comes along: both are said by a team file. */
function folderLines({ folders = [], tasks }: RunView): readonly string[] {
  const agents = new Set(folders.flatMap(each => each.agents))
  const everywhere = folders.length === 1 && tasks.every(({ agent }) => agent === 'team' || agents.has(agent))
  return folders.map(({ agents, setup, carry }) => {
    const where = everywhere ? 'in every folder' : `in folders of ${agents.join(', ')}`
    const parts = [
      ...(setup ? [`setup ${describeAgent({ command: setup }).runs}`] : []),
      ...(carry ? [`copies of ${carry.join(', ')}`] : []),
    ]
    return oneLine(`${parts.join(' and ')} ${where}`)
  })
}

function taskFacts(
  task: PlanTaskView,
  intent: string,
  team: Team | undefined,
  described: readonly DescribedAgent[],
): readonly (readonly [string, string])[] {
  const planned = team && plannedIn(team.plan, task.id)
  const agent = agentOf(team, task.agent)
  const review = planned?.review
  const fill = (prompt: string) => prompt.replaceAll('{intent}', () => intent)
  return [
    ['agent', task.agent],
    ...(agent ? runsOf(agent) : described.filter(({ name }) => name === task.agent).flatMap(factsOf)),
    ...insteadOf(planned?.fallback, team),
    ...(task.approve ? [['approve', 'you are asked before it starts'] as const] : []),
    ...(task.needs.length > 0 ? [['after', task.needs.join(', ')] as const] : []),
    ...(team ? [['prompt', planned ? fill(planned.prompt) : intent] as const] : []),
    ...(team ? [['changes', pathsOf(planned)] as const] : []),
    ...(planned?.check ? [['check', describeAgent({ command: planned.check }).runs] as const] : []),
    ...(review
      ? [
          ['review', `by ${withProgram(review.by, team)}: ${fill(review.prompt)}`] as const,
          ...insteadOf(review.fallback, team),
        ]
      : []),
    ['limits', taskLimits(task, planned, agent)],
  ]
}

/** Also of a plan inside a task. */
function plannedIn(plan: Team['plan'], id: string): PlannedTask | undefined {
  for (const task of plan) {
    const found = task.id === id ? task : plannedIn(task.plan ?? [], id)
    if (found) return found
  }
  return undefined
}

function agentOf(team: Team | undefined, name: string): TeamAgent | undefined {
  return team && Object.hasOwn(team.agents, name) ? team.agents[name] : undefined
}

function insteadOf(names: readonly string[] = [], team: Team | undefined): readonly (readonly [string, string])[] {
  return names.flatMap(name => {
    const [, ...facts] = runsOf(agentOf(team, name))
    return [['or', withProgram(name, team)] as const, ...facts]
  })
}

/** `second (preset codex)` */
function withProgram(name: string, team: Team | undefined): string {
  const agent = agentOf(team, name)
  return agent ? `${name} (${describeAgent(agent).runs})` : name
}

/** What runs and what it gets; of passed variables only the names. */
function runsOf(agent: TeamAgent | undefined): readonly (readonly [string, string])[] {
  if (!agent) return []
  const { runs, facts } = describeAgent(agent)
  return [['runs', runs], ...facts]
}

function factsOf({ runs, facts }: DescribedAgent): readonly (readonly [string, string])[] {
  return [['runs', runs], ...facts.map(({ label, text }) => [label, text] as const)]
}

function pathsOf(planned: PlannedTask | undefined): string {
  const links = planned?.symlinks ? '; its links may lead out of the project' : ''
  if (planned?.paths === undefined) return `everything in the project${links}`
  return planned.paths.length === 0 ? 'nothing' : `${planned.paths.join(', ')}${links}`
}

function taskLimits(task: PlanTaskView, planned: PlannedTask | undefined, agent: TeamAgent | undefined): string {
  const timeout = planned?.timeoutMs ?? agent?.timeoutMs
  return [
    `${plural(task.attempts, 'attempt')} at most`,
    ...(timeout === undefined ? [] : [`${duration(timeout)} a turn`]),
    ...(agent ? describeAgent(agent).limits : []),
  ].join(', ')
}

function limitsOf({ limits }: Team): string {
  const { concurrency, timeoutMs } = limits
  return `${plural(concurrency, 'turn')} at once${timeoutMs === undefined ? ', no end set' : `, ends after ${duration(timeoutMs)}`}`
}

export function warningLines(view: Pick<RunView, 'warnings'>, paint: Paint): readonly string[] {
  return view.warnings.map(each => paint('warning', `warning: ${oneLine(each)}`))
}
