// A look before a run starts: the programs of its agents and checks must be there, since otherwise every attempt is used up to find that
// out.
import { delimiter, isAbsolute } from 'node:path'
import { presetNames, presets } from '@parley/agents'
import { allTasks, planFor, type Team } from '@parley/coordinator'
import { ok, type Result, refuse } from '@parley/core'
import { agentPlan, type KeptAgent } from './adapter.ts'
import { findProgram } from './find-program.ts'
import { inFront } from './shim.ts'

export interface Surroundings {
  /** Where programs are looked for; an agent may have another. */
  readonly path: string
  /** In front of either. */
  readonly bin?: string | undefined
}

interface Missing {
  readonly what: string
  readonly program: string
  readonly help?: string
}

/** Refuses with `program_missing`, whose details name each, or `invalid_agent`. Agents that have nothing to do need not be there. */
export function preflight(team: Team, intent: string, { path, bin }: Surroundings): Result<void> {
  const plan = [...allTasks(planFor(team, intent))]
  const missing: Missing[] = []
  const look = (what: string, program: string, on: string, help?: string) => {
    if (cannotTell(program, on) || findProgram(program, inFront(bin, on), team.base ?? '/') !== undefined)
      return
    missing.push({ what, program, ...(help !== undefined && { help }) })
  }
  const used = new Set(plan.flatMap(({ agent, review, merge }) => [agent, review?.by, merge.by]))
  for (const name of used) {
    if (name === undefined) continue
    const agent: KeptAgent = Object.hasOwn(team.agents, name) ? team.agents[name]! : {}
    const planned = agentPlan(agent)
    if (!planned.ok) return planned
    const preset = presetNames.find(each => each === planned.value.preset)
    const help = preset && presets[preset].needs.help
    look(`agent ${name}`, planned.value.command[0], agent.env?.PATH ?? path, help)
  }
  for (const { id, check } of plan) if (check) look(`check of ${id}`, check[0] ?? '', path)
  if (missing.length === 0) return ok(undefined)
  const each = missing.map(({ what, program }) => `${program} (${what})`).join(', ')
  const plain = missing.some(({ program }) => !program.includes('/'))
  const where = plain
    ? ' Programs without a slash are looked for on PATH, as it is where the run is started.'
    : ''
  const relative = missing.some(({ program }) => program.includes('/') && !program.startsWith('/'))
  const beside = relative && team.base ? ` Those with a slash are relative to ${team.base}.` : ''
  const message = `Nothing was started: not found, or not executable: ${each}.${where}${beside} Install what is missing, or name another in the team file or configuration.`
  return refuse('program_missing', message, { details: { missing } })
}

/** What is filled in later, or may lie in the folder of a turn, cannot be looked up before there is one. */
function cannotTell(program: string, path: string): boolean {
  if (/\{\w+\}/.test(program)) return true
  return !program.includes('/') && path.split(delimiter).some(folder => folder !== '' && !isAbsolute(folder))
}
