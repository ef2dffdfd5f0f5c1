// People give work to another agent (W-MIG-05). The kernel allows it to coordinators only: a person asks the
// coordinator, on record under their name.
import { ok, type Result, type RunId, refuse } from '@parley/core'
import type { TeamAgent } from '../team/team.ts'
import { didYouMean, listed } from '../team/words.ts'
import { nameOf } from '../turn/identities.ts'
import { Acts, type By, workspaceAt } from './acts.ts'

interface Migration {
  readonly task: string
  readonly to: string
  readonly reason: string
  /** Used where the team has no agent of that name. */
  readonly agent?: TeamAgent | undefined
}

/** Refuses: `not_found`, `unknown_agent`, `invalid_state`, `invalid_argument`, `permission_denied`, the kernel's. */
export class Migrations extends Acts {
  async hasAgent(run: RunId, name: string): Promise<boolean> {
    return this.host.drivers.get(run)?.projection.agentConfig(name) !== undefined
  }

  /** Another agent goes on with a task from what was kept last. */
  async migrate(
    run: RunId,
    { principal, task, to, reason, agent }: Migration & By,
  ): Promise<Result<{ readonly workspace: string; readonly from: string; readonly to: string }>> {
    const driver = this.driving(run)
    if (!driver.ok) return driver
    const { projection } = driver.value
    const found = workspaceAt(driver.value, task)
    if (!found.ok) return found
    const { id, facts, state } = found.value
    if (!facts || facts.kind === 'team' || facts.kind === 'check')
      return refuse('invalid_argument', `${task} has no agent that could be replaced; name a task of an agent.`)
    const names = Object.keys(projection.facts?.team.agents ?? {})
    const known = projection.agentConfig(to)
    if (!known && !agent) {
      const hint = didYouMean(to, names) || ` The agents of this run are ${listed(names)}.`
      return refuse('unknown_agent', `There is no agent '${to}'.${hint}`, { details: { agents: names } })
    }
    if (state !== 'active' && state !== 'blocked')
      return refuse('invalid_state', `${task} is ${state}: only work that goes on or waits is handed over.`)
    if (nameOf(facts.agent) === to) return refuse('invalid_argument', `${to} does ${task} already; name another agent.`)
    if (!projection.facts?.project && agent && !this.host.worksWithoutFolder?.(agent))
      return refuse('invalid_argument', `${to} works in a folder, and the run has none.`)
    const refused = this.denied(principal, found.value, ['suspend_own', 'suspend_any'])
    if (refused) return refused
    const brought = known ? {} : { agent: agent! }
    const told = await this.tell(principal, run, { parley: 'migrate', workspace: id, to, reason, ...brought })
    if (!told.ok) return told
    await driver.value.poke()
    const moved = await driver.value.migrate(found.value, to, `${principal.id}: ${reason}`)
    return moved.ok ? ok({ workspace: id, from: facts.agent, to: moved.value.to }) : moved
  }
}
