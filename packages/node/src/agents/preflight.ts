// A look before a run starts: what its agents and checks work with must be there, since otherwise every attempt is used
// up to find that out.
import { commandKind, missingProgram } from '@parley/agents'
import { allTasks, planFor, type Team } from '@parley/coordinator'
import { type AgentKind, type MissingPart, ok, type Result, refuse } from '@parley/core'
import { type AgentPlace, kindFor } from './kinds.ts'

/** Where a run's agents are looked for; what programs are relative to is the team's own. */
export type Surroundings = Omit<AgentPlace, 'base'>

type PlannedTask = Team['plan'][number]

interface Missing extends MissingPart {
  /** Who would need it. */
  readonly what: string
  readonly absence: AgentKind['absence']
}

/**
 * Refuses with the code of what is missing, such as `program_missing`; its details name each part. Agents that have
 * nothing to do need not be there.
 */
export function preflight(team: Team, intent: string, around: Surroundings): Result<void> {
  const place = { ...around, base: team.base }
  const plan = [...allTasks(planFor(team, intent))]
  const absent = new Map<string, Missing>()
  for (const name of new Set(plan.flatMap(chainsOf).flat())) {
    if (!Object.hasOwn(team.agents, name)) return refuse('invalid_agent', `The team has no agent ${name}.`)
    const agent = team.agents[name]!
    const kind = kindFor(agent)
    const part = kind.missing(agent, place)
    if (part) absent.set(name, { ...part, what: `agent ${name}`, absence: kind.absence })
  }
  const agents = [...absent].filter(([name]) => !isSpared(name, plan, absent)).map(([, each]) => each)
  const setups = setupsIn(team, plan).flatMap(({ run }) => {
    const part = missingProgram(run[0] ?? '', place)
    return part ? [{ ...part, what: 'setup', absence: commandKind.absence }] : []
  })
  const checks = plan.flatMap(({ id, check }) => {
    const part = check && missingProgram(check[0] ?? '', place)
    return part ? [{ ...part, what: `check of ${id}`, absence: commandKind.absence }] : []
  })
  return refusalOf([...agents, ...setups, ...checks])
}

/** The agents of the plan by name, those among them that may take over. */
export function workersOf(team: Team, intent: string): readonly string[] {
  const names = [...allTasks(planFor(team, intent))].flatMap(chainsOf).flat()
  return [...new Set(names)].filter(name => Object.hasOwn(team.agents, name))
}

/** One refusal for one code. Programs come last: to install one is the longest way. */
function refusalOf(missing: readonly Missing[]): Result<void> {
  const first = missing.find(({ absence }) => absence !== commandKind.absence) ?? missing[0]
  if (!first) return ok(undefined)
  const { code, problem, remedy } = first.absence
  const same = missing.filter(({ absence }) => absence.code === code)
  const each = same.map(({ what, name }) => `${name} (${what})`).join(', ')
  const looked = new Set(same.flatMap(part => part.looked ?? []))
  const message = [`Nothing was started: ${problem} ${each}.`, ...looked, remedy].join(' ')
  const details = same.map(({ what, name, help }) => ({ what, program: name, ...(help !== undefined && { help }) }))
  return refuse(code, message, { details: { missing: details } })
}

/** Everybody who may get something to do, each with those who take over from them. */
function chainsOf({ agent, fallback, review, merge, salvage }: PlannedTask): readonly (readonly string[])[] {
  const chains = [
    [agent, ...(fallback ?? [])],
    [review?.by, ...(review?.fallback ?? [])],
    [merge.by],
    [salvage?.way === 'agent' ? salvage.by : undefined],
  ]
  return chains.map(chain => chain.filter(name => name !== undefined))
}

/** What may run in a folder of this plan, each program once. */
function setupsIn(team: Team, plan: readonly PlannedTask[]): readonly NonNullable<Team['setup']>[] {
  const agents = plan
    .flatMap(chainsOf)
    .flat()
    .map(name => team.agents[name]!)
  // The work of a team is checked in a folder that is no agent's.
  const nobodys = plan.some(task => task.plan && task.check) ? [team] : []
  const all = [...agents, ...nobodys].flatMap(({ setup }) => setup ?? [])
  return [...new Map(all.map(setup => [setup.run[0], setup])).values()]
}

/** An agent that others can stand in for may be missing, as long as one of them is there. */
function isSpared(name: string, plan: readonly PlannedTask[], absent: ReadonlyMap<string, unknown>): boolean {
  const chains = plan.flatMap(chainsOf).filter(chain => chain.includes(name))
  return chains.every(chain => chain.some(each => !absent.has(each)))
}
