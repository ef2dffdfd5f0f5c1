// Reads the work under judgement: of a run at work from its driver, of any other from its trail and its repository.
import { ok, type Result, type RunId, refuse } from '@parley/core'
import type { Folders } from '../folder/folders.ts'
import { coordinatorLimits } from '../limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { RunsHost } from '../run/runs-host.ts'
import type { RunViews } from './run-views.ts'
import { aboutWork, fileViews, type Subject, subjectOf, type WorkView } from './work-view.ts'

interface Wanted {
  /** A task of the plan or a workspace; all that is integrated without it. */
  readonly task?: string | undefined
  readonly patch?: boolean | undefined
  /** The patch has what `git apply` needs for files that are no text. */
  readonly binary?: boolean | undefined
}

/**
 * Refusals: `not_found`, `invalid_state`, `no_files` of a run without a project,
 * `work_gone` where nothing here has its files, and what reading refuses.
 */
export class Works {
  readonly #host: RunsHost
  readonly #views: Pick<RunViews, 'view' | 'readable'>

  constructor(host: RunsHost, views: Pick<RunViews, 'view' | 'readable'>) {
    this.#host = host
    this.#views = views
  }

  async show(run: RunId, { task, patch = false, binary }: Wanted): Promise<Result<WorkView>> {
    const view = await this.#views.view(run)
    if (!view.ok) return view
    return this.withFolders(run, async (folders, projection) => {
      const subject = task === undefined ? await whole(folders) : subjectOf(projection, task)
      if (!subject)
        return projection.plan.has(task!)
          ? refuse('invalid_state', `Nobody has worked on ${task} yet.`)
          : refuse('not_found', `There is no task ${task}.`)
      const { base, commit } = subject
      if (!(await folders.has(commit)))
        return refuse('work_gone', `What ${task ?? run} changed is gone from the repository: ${commit}.`)
      const maxBytes = coordinatorLimits.patchBytes
      return ok({
        ...aboutWork(view.value, subject),
        ...fileViews(await folders.changes(base, commit)),
        ...(patch && { patch: await folders.diff(base, commit, { maxBytes, binary }) }),
      })
    })
  }

  /** With the folders of a run, whether it is at work or over. */
  async withFolders<T>(
    run: RunId,
    use: (folders: Folders, projection: RunProjection) => Promise<Result<T>>,
  ): Promise<Result<T>> {
    const { drivers, homes, trail } = this.#host
    const driver = drivers.get(run)
    if (driver?.knows) return driver.folders.facts ? use(driver.folders, driver.projection) : withoutFiles(run)
    if (trail.imported(run)) return refuse('work_gone', `The run ${run} was imported: its files are where it was made.`)
    const read = await this.#views.readable(run)
    if (!read.ok) return read
    const projection = read.value
    if (!projection.facts) return refuse('not_found', `There is no run ${run}.`)
    const { project } = projection.facts
    if (!project) return withoutFiles(run)
    if (!homes.has(run))
      return refuse('work_gone', `The folder of ${run} is gone: it could change nothing, or was cleaned up.`)
    return homes.use(run, project, folders => use(folders, projection))
  }
}

function withoutFiles(run: RunId) {
  return refuse('no_files', `The run ${run} works without a project: its agents have no files to change.`)
}

async function whole(folders: Folders): Promise<Subject> {
  return { base: folders.base, commit: await folders.head() }
}
