// Reads a team file: text in, a team or the problems of the file out. Never throws, whatever the text is.
import { basename } from 'node:path'
import { parseDuration } from '@parley/agents'
import { compile, err, ok, ParleyError, type Result } from '@parley/core'
import { agentConfig } from './agent-fields.ts'
import { limitsOf } from './budget-fields.ts'
import { gatesOf } from './highway-fields.ts'
import { teamDefaults } from './limits.ts'
import { mergeOf } from './merge-fields.ts'
import { inOrder } from './order.ts'
import { type Finding, type Settled, settle, type TeamProblem } from './problem.ts'
import { ruleFindings } from './rules.ts'
import { type TaskFile, type TeamFile, TeamFileSchema } from './schema.ts'
import { shapeFindings } from './shape.ts'
import { plain, readSource } from './source.ts'
import { fallbackOf, salvageOf } from './succession-fields.ts'
import { breakersOf, type PlannedTask, type Team, type TeamLimits } from './team.ts'
import { count, visible } from './words.ts'

export interface ReadTeamOptions {
  /** The name of the file, for messages. */
  readonly file?: string
  /** The folder of the file; kept in the team. */
  readonly base?: string
}

const teamFile = compile(TeamFileSchema)

/** Refuses with `invalid_team`; `details.problems` is a list of TeamProblem. */
export function readTeam(text: string, { file, base }: ReadTeamOptions = {}): Result<Team> {
  // A byte order mark is no part of the first line.
  const { lines, root, findings } = readSource(text.startsWith('\ufeff') ? text.slice(1) : text)
  if (!root) return refused(settle(findings, lines), file)
  const rules = ruleFindings(root)
  const problems = [...findings, ...shapeFindings(root, TeamFileSchema), ...rules.problems]
  if (problems.length > 0) return refused(settle(problems, lines), file)
  const value = plain(root)
  if (!teamFile.is(value)) return refused(settle(misfits(value), lines), file)
  const warnings = settle(rules.warnings, lines).problems
  return ok(normalised(value, warnings, base))
}

/** What the schema refuses and shape.ts let pass: a keyword that is not known there. */
function misfits(value: unknown): readonly Finding[] {
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
  const details = { ...(file !== undefined && { file }), problems, total }
  return err(new ParleyError('invalid_team', summary, { details }))
}

function normalised(file: TeamFile, warnings: readonly TeamProblem[], base: string | undefined): Team {
  const {
    concurrency = teamDefaults.concurrency,
    attempts = teamDefaults.attempts,
    timeout,
    grace,
    budget,
    breakers,
  } = file.limits ?? {}
  const limits: TeamLimits = {
    concurrency,
    attempts,
    ...inMs(timeout, grace),
    budget: limitsOf(budget ?? {}),
    breakers: breakersOf(breakers),
  }
  const agents = Object.entries(file.agents).map(([name, { slots = teamDefaults.slots, ...fields }]) => {
    return [name, { ...agentConfig(fields), slots }] as const
  })
  return {
    name: file.name,
    description: file.description ?? '',
    ...(base !== undefined && { base }),
    agents: Object.fromEntries(agents),
    limits,
    approval: file.approval ?? teamDefaults.approval,
    ...(file.gates && { gates: gatesOf(file.gates) }),
    ...outside(file.symlinks),
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
  const { timeout, grace, review, budget, merge, plan, agent, prompt, fallback, salvage, symlinks, ...task } =
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
    ...(saved && { salvage: saved }),
  }
  // The rules have seen to it that there is one of the two.
  if (plan) return { ...common, plan: planned(plan, limits, { ...all, ...(symlinks && { symlinks }) }) }
  return { ...common, agent: agent!, ...(next.length > 0 && { fallback: next }) }
}

function reviewOf({
  by,
  prompt,
  fallback,
}: NonNullable<TaskFile['review']>): NonNullable<PlannedTask['review']> {
  const next = fallbackOf(fallback)
  return { by, prompt: prompt ?? teamDefaults.reviewPrompt, ...(next.length > 0 && { fallback: next }) }
}

function inMs(
  timeout: string | undefined,
  grace: string | undefined,
): Pick<TeamLimits, 'timeoutMs' | 'graceMs'> {
  return {
    ...(timeout !== undefined && { timeoutMs: parseDuration(timeout)! }),
    ...(grace !== undefined && { graceMs: parseDuration(grace)! }),
  }
}
