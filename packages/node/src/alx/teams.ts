// The teams that solve in domains (`alx.domains`): their files are read again when they have changed, and what ALX is
// told of them are names and words, never commands.
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TeamOutline } from '@parley/alx'
import { needsProject, type PlannedTask, planFor, type Team } from '@parley/coordinator'
import { err, ParleyError, type Result, unwrap } from '@parley/core'
import { worksWithoutFolder } from '../agents/kinds.ts'
import { readTeam } from '../agents/team-files.ts'
import { type Domains, domainSetting } from '../config/alx-settings.ts'
import { nodeLimits } from '../limits.ts'

export interface DomainTeam {
  /** With a plan, also where its file has none. */
  readonly team: Team
  readonly outline: TeamOutline
  /** Absolute. */
  readonly project?: string
}

interface Read {
  readonly mark: string
  readonly team: Result<Team>
}

export class DomainTeams {
  readonly #domains: Domains
  readonly #folder: string
  readonly #read = new Map<string, Read>()

  /** `folder`: what relative paths are relative to. */
  constructor(domains: Domains, folder: string) {
    this.#domains = domains
    this.#folder = folder
  }

  /** Undefined where Knowledge Blocks are the answers. Throws `invalid_team` where the file cannot be used. */
  of(domain: string): DomainTeam | undefined {
    const setting = domainSetting(this.#domains, domain, this.#folder)
    if (!setting) return undefined
    const team = withPlan(unwrap(this.#teamIn(setting.file)))
    return { team, outline: outlineOf(team), ...(setting.project !== undefined && { project: setting.project }) }
  }

  /** What is wrong with the files now, one line for each domain. */
  problems(): readonly string[] {
    return Object.keys(this.#domains).flatMap(domain => {
      try {
        const { team, project } = this.of(domain) ?? {}
        const missing = team && project === undefined ? needsProject(team, team.plan, worksWithoutFolder) : undefined
        return missing ? [`ALX cannot solve in the domain ${domain}: ${missing.message}`] : []
      } catch (thrown) {
        if (!(thrown instanceof ParleyError)) throw thrown
        return [`ALX cannot solve in the domain ${domain}: ${thrown.message}`]
      }
    })
  }

  #teamIn(file: string): Result<Team> {
    const mark = markOf(file)
    const before = this.#read.get(file)
    if (before?.mark === mark) return before.team
    const team = read(file)
    this.#read.set(file, { mark, team })
    return team
  }
}

/** What changes when the file does. */
function markOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
}

function read(file: string): Result<Team> {
  try {
    const text = readFileSync(file, 'utf8')
    if (text.length > nodeLimits.teamText) return unusable(file, 'it is too large.')
    const team = readTeam(text, { file, base: dirname(file) })
    return team.ok ? team : unusable(file, team.error.message, team.error)
  } catch (cause) {
    return unusable(file, `it cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`, cause)
  }
}

function unusable(file: string, why: string, cause?: unknown): Result<never> {
  return err(new ParleyError('invalid_team', `The team file ${file} cannot be used: ${why}`, { cause }))
}

const INTENT = '{intent}'

/** A team of one agent has one task, whose prompt is the intent. */
function withPlan(team: Team): Team {
  if (team.plan.length > 0) return team
  return { ...team, plan: planFor(team, INTENT).map(task => ({ ...task, title: 'Solve the intent' })) }
}

function outlineOf({ name, agents, plan, limits: { timeoutMs } }: Team): TeamOutline {
  return {
    team: name,
    agents: Object.keys(agents),
    tasks: plan.map(outlined),
    ...(timeoutMs !== undefined && { timeoutMs }),
  }
}

function outlined({ id, title, prompt, agent, needs, approve }: PlannedTask): TeamOutline['tasks'][number] {
  return { id, title, prompt, needs, ...(agent !== undefined && { agent }), ...(approve && { approve }) }
}
