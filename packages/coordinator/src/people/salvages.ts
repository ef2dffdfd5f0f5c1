// People judge what failed work left (W-INT-18 to -20). The kernel allows it to coordinators only: a person asks the
// coordinator, on record under their name.
import { err, ok, ParleyError, type Result, type RunId, refuse } from '@parley/core'
import type { HouseRecords } from '../apply/house-record.ts'
import type { Folders } from '../folder/folders.ts'
import { given } from '../given.ts'
import { commitMessage } from '../merge/commit-message.ts'
import { candidateOf, keptCommits, leftOf } from '../merge/salvaging.ts'
import type { ProjectedCheckpoint, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { RunsHost } from '../run/runs-host.ts'
import type { LeftView, SalvageView } from '../view/people-view.ts'
import type { RunViews } from '../view/run-views.ts'
import { leftView, salvageView } from '../view/salvage-view.ts'
import type { Works } from '../view/works.ts'
import { Acts, type By } from './acts.ts'

/** By default what the newest attempt left that left something. */
interface Which {
  readonly task: string
  readonly checkpoint?: string | undefined
}

interface Left {
  readonly projection: RunProjection
  readonly folders: Folders
  readonly work: ProjectedWorkspace
  readonly checkpoint: ProjectedCheckpoint
}

type Judged = By & Which & { readonly take: boolean; readonly reason?: string | undefined }

interface Told {
  readonly works: Pick<Works, 'withFolders'>
  readonly views: Pick<RunViews, 'forget'>
  readonly records: HouseRecords
}

/**
 * Refuses with `not_found`, `invalid_state`, `permission_denied`, `nothing_to_salvage`, `merge_conflict`, and as the
 * kernel does.
 */
export class Salvages extends Acts {
  readonly #told: Told

  constructor(host: RunsHost, told: Told) {
    super(host)
    this.#told = told
  }

  async left(run: RunId, which: Which): Promise<Result<LeftView>> {
    return this.#withLeft(run, which, async left => {
      const { projection, folders, work, checkpoint } = left
      // What was let go is still there for a while, and can be looked at.
      const taken = await takenOver(which.task, left)
      return taken ?? ok(await leftView(projection, folders, work, checkpoint))
    })
  }

  /** A person's judgement of it. Answers where it stands then. */
  async decide(run: RunId, judged: Judged): Promise<Result<SalvageView>> {
    return this.#withLeft(run, judged, async left => {
      const { work, projection } = left
      const { task, principal } = judged
      if (work.salvage?.open) return refuse('invalid_state', `What ${task} left is being judged already.`)
      const refused =
        (await takenOver(task, left)) ??
        this.denied(principal, work, ['approve_integration', 'approve_integration_any'])
      if (refused) return refused
      return projection.over ? this.#decideEnded(run, judged, left) : this.#tell(run, judged, left)
    })
  }

  async #tell(run: RunId, judged: Judged, { work, checkpoint, projection }: Left): Promise<Result<SalvageView>> {
    const { principal, take, reason, task } = judged
    const said = { workspace: work.id, take, checkpoint: checkpoint.id, ...given({ reason }) }
    const told = await this.tell(principal, run, { parley: 'salvage', ...said })
    if (!told.ok) return told
    await this.host.drivers.get(run)?.poke()
    const planned = projection.plan.get(work.facts!.task)!
    const view = salvageView(projection, projection.workspaces.get(work.id)!, planned, true)
    return view ? ok(view) : refuse('invalid_state', `What ${task} left cannot be taken over any more.`)
  }

  /**
   * Nothing is merged into a run that has ended (W-INT-18): the result on its branch or in its folder goes on, and the
   * house has who decided it.
   */
  async #decideEnded(run: RunId, judged: Judged, left: Left): Promise<Result<SalvageView>> {
    const { principal, take, task } = judged
    const { projection, folders, work, checkpoint } = left
    const commit = checkpoint.commit!
    if ((await standOf(left)) === 'gone')
      return refuse('nothing_to_salvage', `What ${task} left was let go or cleaned up.`)
    const draft = take ? await folders.draft(commit) : undefined
    if (draft && !draft.ok) return draft
    if (draft && draft.value.conflicts.length > 0) return conflicting(task, commit, draft.value.conflicts)
    const said = { parley: 'salvaged', run, task: work.facts!.task, checkpoint: checkpoint.id, commit, take } as const
    const recorded = await this.#told.records.write(principal.id, said)
    if (!recorded.ok) return recorded
    if (take) {
      const planned = projection.plan.get(work.facts!.task)!
      const message = `Salvaged: ${commitMessage(planned, { 'Parley-Checkpoint': checkpoint.id })}`
      const merged = await folders.integrate(commit, { message })
      if (!merged.ok) return merged
      const finished = await folders.finish()
      if (!finished.ok) return finished
    }
    const others = keptCommits(projection).filter(({ name }) => name !== work.id)
    const stands = await Promise.all(others.map(each => folders.standOfKept(each)))
    await folders.clean(others.filter((_, index) => stands[index] === 'kept'))
    this.#told.views.forget(run)
    const { agent } = work.facts!
    const state = take ? 'merged' : 'discarded'
    return ok({ state, workspace: work.id, checkpoint: checkpoint.id, agent, files: [...checkpoint.files], commit })
  }

  async #withLeft<T>(run: RunId, which: Which, use: (left: Left) => Promise<Result<T>>): Promise<Result<T>> {
    const driver = this.host.drivers.get(run)
    if (driver && !driver.projection.over) {
      const found = leftAt(driver.projection, which)
      return found.ok ? use({ ...found.value, projection: driver.projection, folders: driver.folders }) : found
    }
    // Its folders are in order when nobody drives it any more.
    await driver?.finished
    return this.#told.works.withFolders(run, async (folders, projection) => {
      if (!projection.over) return refuse('invalid_state', `The run ${run} is not at work.`)
      const found = leftAt(projection, which)
      return found.ok ? use({ ...found.value, projection, folders }) : found
    })
  }
}

/** During the run or after its end. */
async function takenOver(task: string, left: Left) {
  const merged = left.work.salvage?.merged !== undefined || (left.projection.over && (await standOf(left)) === 'merged')
  return merged ? refuse('invalid_state', `What ${task} left was taken over already.`) : undefined
}

function standOf({ folders, work, checkpoint }: Left) {
  return folders.standOfKept({ name: work.id, commit: checkpoint.commit! })
}

/** What is meant of what was left: of a task, of a workspace, or one checkpoint. */
function leftAt(
  projection: RunProjection,
  { task: text, checkpoint }: Which,
): Result<Pick<Left, 'work' | 'checkpoint'>> {
  const task = projection.taskMeant(text)
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
  return ok({ work, checkpoint: chosen })
}

function conflicting(task: string, commit: string, conflicts: readonly string[]) {
  const files = [...conflicts]
  const message = `What ${task} left does not fit the result: ${files.join(', ')} changed on both sides. "git merge ${commit}" on the branch of the result lets you settle it.`
  return err(new ParleyError('merge_conflict', message, { details: { files, commit } }))
}
