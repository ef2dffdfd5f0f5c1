// People judge what failed work left (W-INT-18 to -20). The kernel allows it to coordinators only: a person asks the
// coordinator, on record under their name.
import { err, ok, type Result, type RunId, refuse } from '@parley/core'
import { given } from '../given.ts'
import { candidateOf, leftOf } from '../merge/salvaging.ts'
import type { ProjectedCheckpoint, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunDriver } from '../run/run-driver.ts'
import type { LeftView, SalvageView } from '../view/people-view.ts'
import { leftView, salvageView } from '../view/salvage-view.ts'
import { Acts, type By } from './acts.ts'

/** By default what the newest attempt left that left something. */
interface Which {
  readonly task: string
  readonly checkpoint?: string | undefined
}

interface Left {
  readonly driver: RunDriver
  readonly work: ProjectedWorkspace
  readonly checkpoint: ProjectedCheckpoint
}

/** Refusals: `not_found`, `invalid_state`, `permission_denied`, `nothing_to_salvage`, and the kernel's. */
export class Salvages extends Acts {
  async left(run: RunId, which: Which): Promise<Result<LeftView>> {
    const found = this.#left(run, which)
    if (!found.ok) return found
    const { driver, work, checkpoint } = found.value
    return ok(await leftView(driver.projection, driver.folders, work, checkpoint))
  }

  /** A person's judgement of it. Answers where it stands then. */
  async decide(
    run: RunId,
    {
      principal,
      take,
      reason,
      ...which
    }: By & Which & { readonly take: boolean; readonly reason?: string | undefined },
  ): Promise<Result<SalvageView>> {
    const found = this.#left(run, which)
    if (!found.ok) return found
    const { driver, work, checkpoint } = found.value
    const { task } = which
    if (work.salvage?.open) return refuse('invalid_state', `What ${task} left is being judged already.`)
    if (work.salvage?.merged !== undefined) return refuse('invalid_state', `What ${task} left was taken over already.`)
    const refused = this.denied(principal, work, ['approve_integration', 'approve_integration_any'])
    if (refused) return refused
    const said = { workspace: work.id, take, checkpoint: checkpoint.id, ...given({ reason }) }
    const told = await this.tell(principal, run, { parley: 'salvage', ...said })
    if (!told.ok) return told
    await driver.poke()
    const { projection } = driver
    const planned = projection.plan.get(work.facts!.task)!
    const view = salvageView(projection, projection.workspaces.get(work.id)!, planned, true)
    return view ? ok(view) : refuse('invalid_state', `What ${task} left cannot be taken over any more.`)
  }

  /** What is meant of what was left: of a task, of a workspace, or one checkpoint. */
  #left(run: RunId, { task: text, checkpoint }: Which): Result<Left> {
    const driver = this.driving(run)
    if (!driver.ok) return over(run, driver)
    const { projection } = driver.value
    const task = projection.task(text)
    const workspaces = [...projection.workspaces.values()]
    const named = workspaces.find(each => each.id === (text as string))
    const holder = workspaces.find(each => each.checkpoints.some(({ id }) => id === checkpoint))
    const work = named ?? (checkpoint !== undefined ? holder : task && leftOf(projection, task))
    if (!task && !named) return refuse('not_found', `There is no task ${text}.`)
    if (task && work && !task.attempts.includes(work.id))
      return refuse('not_found', `${text} has no checkpoint ${checkpoint}.`)
    const newest = task && projection.workspaces.get(task.attempts.at(-1)!)
    const judged = work ?? newest
    if (judged && judged.state !== 'failed')
      return refuse('invalid_state', `${text} is ${judged.state}; only what has failed is salvaged.`)
    if (!work) return refuse('nothing_to_salvage', `${text} left nothing that was kept.`)
    const chosen = checkpoint === undefined ? candidateOf(work) : work.checkpoints.find(({ id }) => id === checkpoint)
    if (checkpoint !== undefined && !chosen) return refuse('not_found', `${text} has no checkpoint ${checkpoint}.`)
    if (chosen?.commit === undefined) return refuse('nothing_to_salvage', `${text} left nothing that was kept.`)
    return ok({ driver: driver.value, work, checkpoint: chosen })
  }
}

/** Nothing is merged into a run that has ended (W-INT-18). */
function over(run: RunId, { error }: Extract<Result<never>, { readonly ok: false }>) {
  if (error.code !== 'invalid_state') return err(error)
  const hint = '`salvage: ask` in the team file lets a run wait for your judgement.'
  return refuse('invalid_state', `The run ${run} is not at work, and nothing is merged into it any more. ${hint}`)
}
