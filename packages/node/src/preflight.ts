// A look before a run starts: the programs of its agents and checks must be there, since otherwise every attempt is used up to find that
// out.
import { delimiter, isAbsolute } from 'node:path'
import { presetNames, presets } from '@parley/agents'
import { allTasks, type PlannedTask, planFor, type Team } from '@parley/coordinator'
import { ok, type Result, refuse } from '@parley/core'
import { agentPlan, type KeptAgent } from './adapter.ts'
import { findProgram } from './find-program.ts'
import { inFront } from './shim.ts'

export interface Surroundings {
  /** Where programs are looked for; an agent may have another. */
  readonly path: string
  /** In front of either. */
  readonly bin?: string | undefined
  /** Whether there is a peer of this name. */
  readonly pinned: (peer: string) => boolean
}

interface Missing {
  readonly what: string
  readonly program: string
  readonly help?: string
  /** It is no program but a peer, of this name. */
  readonly peer?: string
}

/**
 * Refuses with `program_missing` or, of peers, `unknown_peer`, whose details name each, or with `invalid_agent`. Agents that have nothing to do
 * need not be there.
 */
export function preflight(team: Team, intent: string, { path, bin, pinned }: Surroundings): Result<void> {
  const plan = [...allTasks(planFor(team, intent))]
  const missing: Missing[] = []
  const isThere = (program: string, on: string) =>
    cannotTell(program, on) || findProgram(program, inFront(bin, on), team.base ?? '/') !== undefined
  const absent = new Map<string, Missing>()
  for (const name of new Set(plan.flatMap(chainsOf).flat())) {
    const agent: KeptAgent = Object.hasOwn(team.agents, name) ? team.agents[name]! : {}
    const { peer } = agent
    if (peer !== undefined) {
      if (!pinned(peer)) absent.set(name, { what: `agent ${name}`, program: `peer ${peer}`, peer })
      continue
    }
    const planned = agentPlan(agent)
    if (!planned.ok) return planned
    const [program] = planned.value.command
    const preset = presetNames.find(each => each === planned.value.preset)
    const help = preset && { help: presets[preset].needs.help }
    if (!isThere(program, agent.env?.PATH ?? path))
      absent.set(name, { what: `agent ${name}`, program, ...help })
  }
  for (const [name, each] of absent) if (!isSpared(name, plan, absent)) missing.push(each)
  for (const { id, check } of plan)
    if (check && !isThere(check[0] ?? '', path))
      missing.push({ what: `check of ${id}`, program: check[0] ?? '' })
  if (missing.length === 0) return ok(undefined)
  const strangers = missing.filter(({ peer }) => peer !== undefined)
  if (strangers.length > 0) return unknownPeers(strangers)
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

function unknownPeers(missing: readonly Missing[]): Result<void> {
  const each = missing.map(({ what, peer }) => `${peer} (${what})`).join(', ')
  const message = `Nothing was started: nobody is pinned as ${each}. \`parley peers list\` shows who is; \`parley peers add\` pins others.`
  return refuse('unknown_peer', message, { details: { missing } })
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

/** Whoever only does what another can take over need not be there, as long as one of them is. */
function isSpared(name: string, plan: readonly PlannedTask[], absent: ReadonlyMap<string, unknown>): boolean {
  const chains = plan.flatMap(chainsOf).filter(chain => chain.includes(name))
  return chains.every(chain => chain.some(each => !absent.has(each)))
}

/** What is filled in later, or may lie in the folder of a turn, cannot be looked up before there is one. */
function cannotTell(program: string, path: string): boolean {
  if (/\{\w+\}/.test(program)) return true
  return !program.includes('/') && path.split(delimiter).some(folder => folder !== '' && !isAbsolute(folder))
}
