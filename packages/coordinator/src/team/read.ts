// Reads a team file: text in, a team or the problems of the file out. Never throws, whatever the text is.
import { basename } from 'node:path'
import {
  type AgentKind,
  compile,
  err,
  ok,
  ParleyError,
  parseDuration,
  type Result,
  type TSchema,
  type Validator,
} from '@parley/core'
import { type Located, plain } from '@parley/core/yaml'
import { given } from '../given.ts'
import { agentSchema, teamAgent } from './agent-fields.ts'
import { limitsOf } from './budget-fields.ts'
import { furnishingOf } from './folder-fields.ts'
import { gatesOf } from './highway-fields.ts'
import { teamDefaults } from './limits.ts'
import { mergeOf } from './merge-fields.ts'
import { fallbackOf, salvageOf } from './moving-work-fields.ts'
import { inOrder } from './order.ts'
import { MEANINGS } from './patterns.ts'
import { type Finding, type Place, type Settled, settle, type TeamProblem } from './problem.ts'
import { ruleFindings } from './rules.ts'
import { type TaskFile, type TeamFile, teamFileSchema } from './schema.ts'
import { shapeFindings } from './shape.ts'
import { readSource } from './source.ts'
import { breakersOf, type PlannedTask, type Team, type TeamAgent, type TeamLimits } from './team.ts'
import { count, visible } from './words.ts'

export interface ReadTeamOptions {
  readonly file?: string
  /** The folder of the file; kept in the team. */
  readonly base?: string
}

export interface TeamReader {
  /** Of one agent, and of a whole file: for editors. */
  readonly agentSchema: TSchema
  readonly schema: ReturnType<typeof teamFileSchema>
  /** Refuses with `invalid_team`; `details.problems` is a list of TeamProblem. */
  read(text: string, options?: ReadTeamOptions): Result<Team>
  /** Checks agents that another file lists as team files do. Problems have their place in that file. */
  readAgents(
    agents: Located,
    place: Place,
  ): { readonly agents: Readonly<Record<string, TeamAgent>>; readonly problems: readonly TeamProblem[] }
}

export function teamReader(kinds: readonly AgentKind[]): TeamReader {
  const agent = agentSchema(kinds)
  const schema = teamFileSchema(agent)
  const teamFile = compile(schema)
  const meanings = new Map([...MEANINGS, ...kinds.flatMap(({ patterns }) => [...(patterns ?? [])])])
  const isAgent = (value: Located) => shapeFindings(value, agent, meanings).length === 0
  const check = (root: Located, findings: readonly Finding[]): Result<Checked, readonly Finding[]> => {
    const rules = ruleFindings(root, { kinds, isAgent })
    const problems = [...findings, ...shapeFindings(root, schema, meanings), ...rules.problems]
    if (problems.length > 0) return err(problems)
    const value = plain(root)
    return teamFile.is(value) ? ok({ value, warnings: rules.warnings }) : err(misfits(teamFile, value))
  }
  return {
    agentSchema: agent,
    schema,
    read(text, { file, base } = {}) {
      const { place, root, findings } = readSource(text)
      if (!root) return refused(settle(findings, place), file)
      const checked = check(root, findings)
      if (!checked.ok) return refused(settle(checked.error, place), file)
      const { value, warnings } = checked.value
      return ok(normalised(value, kinds, settle(warnings, place).problems, base))
    },
    readAgents(agents, place) {
      const sound: [string, TeamAgent][] = []
      const problems: TeamProblem[] = []
      for (const entry of agents.kind === 'map' ? agents.entries : []) {
        const checked = check(teamOf({ ...agents, kind: 'map', entries: [entry] }), [])
        if (checked.ok)
          sound.push([entry.key, normalised(checked.value.value, kinds, [], undefined).agents[entry.key]!])
        else problems.push(...settle(checked.error, place).problems)
      }
      return { agents: Object.fromEntries(sound), problems }
    },
  }
}

/** A team of these agents alone. */
function teamOf(agents: Located): Located {
  const { at } = agents
  const word = (key: string, value: string | number) => ({ key, at, value: { kind: 'scalar' as const, at, value } })
  return {
    kind: 'map',
    at,
    entries: [word('version', 1), word('name', 'configured'), { key: 'agents', at, value: agents }],
  }
}

interface Checked {
  readonly value: TeamFile
  readonly warnings: readonly Finding[]
}

/** What the schema refuses and shape.ts let pass: a keyword that is not known there. */
function misfits(teamFile: Validator<TeamFile>, value: unknown): readonly Finding[] {
  return teamFile.problems(value).map(({ path, expected, actual }) => ({
    code: 'bad_value',
    at: 0,
    path: [path],
    message: () => `${path} must be ${expected}, not ${actual}.`,
  }))
}

function refused({ problems, total }: Settled, file: string | undefined): Result<Team> {
  const [first] = problems
  const name = file === undefined ? 'The team file' : visible(basename(file))
  const more = total > 1 ? ` (and ${count(total - 1, 'more problem')})` : ''
  const summary = `${name} cannot be used. Line ${first!.line}, column ${first!.column}: ${first!.message}${more}`
  const details = { ...given({ file }), problems, total }
  return err(new ParleyError('invalid_team', summary, { details }))
}

function normalised(
  file: TeamFile,
  kinds: readonly AgentKind[],
  warnings: readonly TeamProblem[],
  base: string | undefined,
): Team {
  const { timeout, grace, budget, breakers, ...counts } = file.limits ?? {}
  const { concurrency, attempts } = { ...teamDefaults, ...counts }
  const times = inMs(timeout, grace)
  const limits = { concurrency, attempts, ...times, budget: limitsOf(budget ?? {}), breakers: breakersOf(breakers) }
  const agents = Object.entries(file.agents).map(([name, agent]) => [name, teamAgent(kinds, agent, file)] as const)
  return {
    name: file.name,
    description: file.description ?? '',
    ...given({ base }),
    agents: Object.fromEntries(agents),
    limits,
    approval: file.approval ?? teamDefaults.approval,
    ...(file.gates && { gates: gatesOf(file.gates) }),
    ...outside(file.symlinks),
    ...furnishingOf(file),
    plan: planned(file.plan ?? [], limits, file),
    warnings,
  }
}

function planned(tasks: readonly TaskFile[], limits: TeamLimits, all: ForAll): readonly PlannedTask[] {
  return inOrder(tasks.map(task => plannedTask(task, limits, all)))
}

/** What the file, or a task with a plan of its own, says for every task in it that does not say otherwise. */
type ForAll = Pick<TeamFile, 'merge' | 'symlinks'>

function outside(symlinks: ForAll['symlinks']): Pick<PlannedTask, 'symlinks'> {
  return symlinks === 'outside' ? { symlinks } : {}
}

function plannedTask(file: TaskFile, limits: TeamLimits, all: ForAll): PlannedTask {
  const { timeout, grace, review, budget, merge, plan, agent, prompt, fallback, salvage, symlinks, approve, ...task } =
    file
  const saved = salvageOf(salvage)
  const next = fallbackOf(fallback)
  const common = {
    ...task,
    title: task.title ?? task.id,
    prompt: prompt ?? '',
    needs: task.needs ?? [],
    attempts: task.attempts ?? limits.attempts,
    ...inMs(timeout, grace),
    priority: task.priority ?? teamDefaults.priority,
    ...(review && { review: reviewOf(review) }),
    budget: limitsOf(budget ?? {}),
    merge: mergeOf(all.merge, merge),
    ...outside(symlinks ?? all.symlinks),
    ...(approve && { approve }),
    ...(saved && { salvage: saved }),
  }
  // The rules have seen to it that there is one of the two.
  if (plan) return { ...common, plan: planned(plan, limits, { ...all, ...(symlinks && { symlinks }) }) }
  return { ...common, agent: agent!, ...(next.length > 0 && { fallback: next }) }
}

function reviewOf({ by, prompt, fallback }: NonNullable<TaskFile['review']>): NonNullable<PlannedTask['review']> {
  const next = fallbackOf(fallback)
  return { by, prompt: prompt ?? teamDefaults.reviewPrompt, ...(next.length > 0 && { fallback: next }) }
}

function inMs(timeout: string | undefined, grace: string | undefined): Pick<TeamLimits, 'timeoutMs' | 'graceMs'> {
  const ms = (said: string | undefined) => (said === undefined ? undefined : parseDuration(said))
  return given({ timeoutMs: ms(timeout), graceMs: ms(grace) })
}
