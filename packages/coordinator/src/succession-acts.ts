// What people do to work that cannot stay as it is (succession-contract.ts). Each act is told to the coordinator first, which puts it on
// record under the person's name; then the coordinator does it.
import { type EntryId, err, ok, type Principal, type Result, type RunId } from '@parley/core'
import type { ProofReport, Runtime, UserHandle } from '@parley/kernel'
import type { Capability } from '@parley/trail/events'
import { driving, refuse, tellCoordinator, workspaceAt } from './acts.ts'
import { failureText } from './failure-text.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { nameOf } from './identities.ts'
import { coordinatorLimits } from './limits.ts'
import type { SeenCheckpoint, SeenWorkspace } from './projection.ts'
import type { RunDriver } from './run-driver.ts'
import { salvageView } from './salvage-view.ts'
import { candidateOf, leftOf, targetOf } from './salvaging.ts'
import { plannedTasks } from './spending.ts'
import type { LeftView, SalvageView, SuccessionConducting } from './succession-contract.ts'
import { didYouMean, listed } from './team/words.ts'

export interface SuccessionOptions {
  readonly runtime: Runtime
  readonly driver: (run: RunId) => RunDriver | undefined
}

export class Succession implements SuccessionConducting {
  readonly #options: SuccessionOptions

  constructor(options: SuccessionOptions) {
    this.#options = options
  }

  async migrate(
    run: RunId,
    { principal, task, to, reason, agent }: Parameters<SuccessionConducting['migrate']>[1],
  ): Promise<Result<{ readonly workspace: string; readonly from: string; readonly to: string }>> {
    const driver = driving(this.#options.driver(run), run)
    if (!driver.ok) return driver
    const { seen } = driver.value
    const found = workspaceAt(driver.value, task)
    if (!found.ok) return found
    const { id, facts, state } = found.value
    if (!facts || facts.kind === 'team' || facts.kind === 'check')
      return refuse(
        'invalid_argument',
        `${task} has no agent that could be replaced; name a task of an agent.`,
      )
    const names = Object.keys(seen.facts?.team.agents ?? {})
    if (!seen.agentConfig(to) && !agent) {
      const hint = didYouMean(to, names) || ` The agents of this run are ${listed(names)}.`
      return refuse('unknown_agent', `There is no agent '${to}'.${hint}`, { agents: names })
    }
    if (state !== 'active' && state !== 'blocked')
      return refuse('invalid_state', `${task} is ${state}: only work that goes on or waits is handed over.`)
    if (nameOf(facts.agent) === to)
      return refuse('invalid_argument', `${to} does ${task} already; name another agent.`)
    const denied = this.#may(principal, found.value, 'suspend_own', 'suspend_any')
    if (denied) return denied
    const brought = seen.agentConfig(to) ? {} : { agent: agent! }
    const told = await this.#tell(principal, run, {
      parley: 'migrate',
      workspace: id,
      to,
      reason,
      ...brought,
    })
    if (!told.ok) return told
    await driver.value.poke()
    const moved = await driver.value.migrate(found.value, to, `${principal.id}: ${reason}`)
    return moved.ok ? ok({ workspace: id, from: facts.agent, to: moved.value.to }) : moved
  }

  /** W-TERM-01: agents are told, and what is not done in time is ended; of one task, or of the whole run. */
  async windDown(
    run: RunId,
    {
      principal,
      reason,
      task,
      grace,
    }: {
      readonly principal: Principal
      readonly reason: string
      readonly task?: string
      readonly grace: number
    },
  ): Promise<Result<void>> {
    const driver = driving(this.#options.driver(run), run)
    if (!driver.ok) return driver
    const { seen, coordinator } = driver.value
    const meant = task === undefined ? ok(seen.root!) : workspaceAt(driver.value, task)
    if (!meant.ok) return meant
    const work = meant.value
    const denied =
      (task === undefined ? undefined : unfitToFinish(work, task)) ??
      this.#may(principal, work, 'abort_own', 'abort_any')
    if (denied) return denied
    const name = task === undefined ? {} : { task: work.facts!.task }
    const told = await this.#tell(principal, run, { parley: 'abort', reason, grace, ...name })
    if (!told.ok) return told
    // For the whole run the driver does it, again after a restart.
    const asked = task === undefined ? ok(undefined) : await coordinator.terminate(work.id, grace, reason)
    await driver.value.poke()
    return asked.ok ? ok(undefined) : asked
  }

  async hasAgent(run: RunId, name: string): Promise<boolean> {
    return this.#options.driver(run)?.seen.agentConfig(name) !== undefined
  }

  async proof(run: RunId, entry: EntryId | number): Promise<Result<ProofReport>> {
    const handle = await this.#options.runtime.open(run)
    return handle.ok ? handle.value.proof(entry) : handle
  }

  async left(
    run: RunId,
    which: { readonly task: string; readonly checkpoint?: string },
  ): Promise<Result<LeftView>> {
    const driver = driving(this.#options.driver(run), run)
    if (!driver.ok) return over(run, driver)
    const found = this.#left(driver.value, which)
    if (!found.ok) return found
    const { work, checkpoint } = found.value
    const { seen, folders } = driver.value
    return ok(await leftView(seen, folders, work, checkpoint))
  }

  async salvage(
    run: RunId,
    { principal, task, take, checkpoint: named, reason }: Parameters<SuccessionConducting['salvage']>[1],
  ): Promise<Result<SalvageView>> {
    const driver = driving(this.#options.driver(run), run)
    if (!driver.ok) return over(run, driver)
    const which = { task, ...(named !== undefined && { checkpoint: named }) }
    const found = this.#left(driver.value, which)
    if (!found.ok) return found
    const { work, checkpoint } = found.value
    if (work.salvage?.open) return refuse('invalid_state', `What ${task} left is being judged already.`)
    if (work.salvage?.merged !== undefined)
      return refuse('invalid_state', `What ${task} left was taken over already.`)
    const denied = this.#may(principal, work, 'approve_integration', 'approve_integration_any')
    if (denied) return denied
    const told = await this.#tell(principal, run, {
      parley: 'salvage',
      workspace: work.id,
      take,
      checkpoint: checkpoint.id,
      ...(reason !== undefined && { reason }),
    })
    if (!told.ok) return told
    await driver.value.poke()
    const { seen } = driver.value
    const planned = plannedTasks(seen.facts?.plan ?? []).get(work.facts!.task)!
    const view = salvageView(seen, seen.workspaces.get(work.id)!, planned, true)
    return view ? ok(view) : refuse('invalid_state', `What ${task} left cannot be taken over any more.`)
  }

  /** What is meant of what was left: of a task, of a workspace, or one checkpoint. */
  #left(
    { seen }: RunDriver,
    { task: text, checkpoint }: { readonly task: string; readonly checkpoint?: string },
  ): Result<{ readonly work: SeenWorkspace; readonly checkpoint: SeenCheckpoint }> {
    const task = seen.task(text)
    const named = [...seen.workspaces.values()].find(each => each.id === (text as string))
    const holder = [...seen.workspaces.values()].find(each =>
      each.checkpoints.some(({ id }) => id === checkpoint),
    )
    const work = named ?? (checkpoint !== undefined ? holder : task && leftOf(seen, task))
    if (!task && !named) return refuse('not_found', `There is no task ${text}.`)
    if (task && work && !task.attempts.includes(work.id))
      return refuse('not_found', `${text} has no checkpoint ${checkpoint}.`)
    const newest = task && seen.workspaces.get(task.attempts.at(-1)!)
    if (!work)
      return newest && newest.state !== 'failed'
        ? refuse('invalid_state', `${text} is ${newest.state}; only what has failed is salvaged.`)
        : refuse('nothing_to_salvage', `${text} left nothing that was kept.`)
    if (work.state !== 'failed')
      return refuse('invalid_state', `${text} is ${work.state}; only what has failed is salvaged.`)
    const chosen =
      checkpoint === undefined ? candidateOf(work) : work.checkpoints.find(({ id }) => id === checkpoint)
    if (checkpoint !== undefined && !chosen)
      return refuse('not_found', `${text} has no checkpoint ${checkpoint}.`)
    if (chosen?.commit === undefined)
      return refuse('nothing_to_salvage', `${text} left nothing that was kept.`)
    return ok({ work, checkpoint: chosen })
  }

  #user(principal: Principal): UserHandle {
    return this.#options.runtime.user(principal.id)
  }

  #tell(principal: Principal, run: RunId, message: Parameters<typeof tellCoordinator>[3]) {
    return tellCoordinator(this.#options.driver(run), this.#user(principal), run, message)
  }

  /** Whoever may not do the like with their own hands may not have it done either. */
  #may({ id }: Principal, { owner }: SeenWorkspace, own: Capability, any: Capability) {
    const known = this.#options.runtime.users.get(id)
    const wanted = owner === id ? [own, any] : [any]
    if (known?.state === 'active' && wanted.some(each => known.capabilities.includes(each))) return undefined
    return refuse('permission_denied', `${id} may not do this: it takes '${wanted.join("' or '")}'.`)
  }
}

/** What the kernel would refuse is refused before it is on record. */
function unfitToFinish({ facts, state, termination }: SeenWorkspace, task: string) {
  if (facts?.kind === 'team')
    return refuse(
      'invalid_argument',
      `${task} is done by a team: name one of its parts, or end it without grace.`,
    )
  if (state !== 'active' && state !== 'blocked')
    return refuse(
      'invalid_state',
      `${task} is ${state}: only work that goes on or waits can be asked to finish.`,
    )
  return termination && refuse('invalid_state', `${task} was asked to finish already.`)
}

/** Nothing is merged into a run that has ended (W-INT-18). */
function over(run: RunId, { error }: Extract<Result<never>, { readonly ok: false }>) {
  return error.code === 'invalid_state'
    ? refuse(
        'invalid_state',
        `The run ${run} is not at work, and nothing is merged into it any more. \`salvage: ask\` in the team file lets a run wait for your judgement.`,
      )
    : err(error)
}

async function leftView(
  seen: RunDriver['seen'],
  folders: RunFolders,
  work: SeenWorkspace,
  { id, commit, final, text, files }: SeenCheckpoint,
): Promise<LeftView> {
  const target = targetOf(seen, work)
  const line = target === seen.root?.id ? undefined : target
  const draft = await folders.draft(commit!, line)
  return {
    task: work.facts!.task,
    workspace: work.id,
    agent: work.facts!.agent,
    checkpoint: id,
    final,
    failure: failureText(work, seen),
    text,
    files: files.slice(0, coordinatorLimits.shownFiles),
    diff: await folders.diff(work.facts!.commit, commit!, { maxBytes: coordinatorLimits.diffBytes }),
    conflicts: draft.ok ? [...draft.value.conflicts] : [],
  }
}
