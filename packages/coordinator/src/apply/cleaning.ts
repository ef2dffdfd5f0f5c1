// Cleaning up after runs that are over: their branches, what was kept beside them, their folders. A commit that nothing
// else reaches stays unless it was applied or that is forced, and nobody's own work goes.
import { ok, type Result, type RunId, refuse, type Static, Type, ticksPerMillisecond } from '@parley/core'
import type { Leftover } from '../folder/leftovers.ts'
import { inProject } from '../folder/project.ts'
import { given } from '../given.ts'
import type { By } from '../people/acts.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { closed } from '../view/people-view.ts'
import type { RunViews } from '../view/run-views.ts'
import { isOver } from '../view/view.ts'
import type { Works } from '../view/works.ts'
import type { Application, HouseRecords } from './house-record.ts'

const RefSchema = closed({
  ref: Type.String(),
  commit: Type.String(),
  /** Why it stays. `unreached`: no other ref has its commits. `moved`: somebody has worked on it. */
  stays: Type.Optional(Type.Enum(['unreached', 'checked_out', 'moved'])),
})

export const CleanedSchema = closed({
  run: Type.String(),
  intent: Type.String(),
  ended: Type.Optional(Type.String()),
  refs: Type.Array(RefSchema),
  /** The run's folder in the profile goes. Not while something of the run stays. */
  folder: Type.Boolean(),
  /** The only copy of the result is in it: of a project that is no git repository. */
  result: Type.Optional(Type.String()),
})
export type CleanedView = Static<typeof CleanedSchema>

interface Wanted {
  /** These, whatever their age. */
  readonly runs?: readonly RunId[] | undefined
  /** Without names: only those of the project that this folder is in. */
  readonly folder?: string | undefined
  /** Milliseconds since the end. */
  readonly olderThan: number
  /** Commits that nothing else reaches go as well. */
  readonly force?: boolean | undefined
  readonly check?: boolean | undefined
}

interface CleaningTold {
  readonly views: Pick<RunViews, 'view' | 'forget'>
  readonly works: Pick<Works, 'withFolders'>
  readonly records: HouseRecords
}

export class Cleaning {
  readonly #host: RunsHost
  readonly #told: CleaningTold

  constructor(host: RunsHost, told: CleaningTold) {
    this.#host = host
    this.#told = told
  }

  /** Refusals: `invalid_state` of a run that is named and not over, and what reading it refuses. */
  async clean({ runs, olderThan, folder, ...how }: By & Wanted): Promise<Result<readonly CleanedView[]>> {
    const found: CleanedView[] = []
    for (const run of runs ?? (await this.#old(olderThan, folder))) {
      const cleaned = await this.#clean(run, how)
      // One that cannot be read now must not keep the others from being cleaned up.
      if (!cleaned.ok && runs) return cleaned
      if (!cleaned.ok) this.#host.log('warn', `${run} was not cleaned up: ${cleaned.error.message}`)
      else found.push(cleaned.value)
    }
    return ok(found.filter(({ refs, folder, result }) => runs || refs.length > 0 || folder || result !== undefined))
  }

  async #old(olderThan: number, folder: string | undefined): Promise<RunId[]> {
    const { trail, homes, drivers, clock } = this.#host
    const before = clock.now() - olderThan * ticksPerMillisecond
    const all = (await trail.runs()).filter(each => each.ended && !each.imported && each.updated <= before)
    const old = all.map(({ run }) => run).filter(run => homes.has(run) && !drivers.has(run))
    if (folder === undefined) return old
    const isHere = await inProject(folder, clock)
    const here: RunId[] = []
    for (const run of old) {
      const seen = await this.#told.views.view(run)
      if (seen.ok && (await isHere(seen.value.project))) here.push(run)
    }
    return here
  }

  async #clean(
    run: RunId,
    { principal, force = false, check = false }: By & Omit<Wanted, 'olderThan' | 'runs' | 'folder'>,
  ) {
    const { homes, drivers } = this.#host
    const seen = await this.#told.views.view(run)
    if (!seen.ok) return seen
    const { intent, ended, state, result, imported } = seen.value
    if (!isOver(state) || drivers.has(run)) return refuse('invalid_state', `The run ${run} is at work.`)
    const about = { run, intent, ...given({ ended }) }
    if (imported || !homes.has(run)) return ok({ ...about, refs: [], folder: false })
    const standing = standingOf(await this.#told.records.applications(run))
    const standIns = standing.flatMap(({ result: of, to: commit }) => (of === undefined ? [] : [{ of, commit }]))
    const cleaned = await this.#told.works.withFolders(run, async (folders): Promise<Result<CleanedView>> => {
      const left = await folders.leftovers(result?.branch, standIns)
      const refs = left.map(each => ({
        ref: each.ref,
        commit: each.commit,
        ...given({ stays: reasonOf(each, force) }),
      }))
      const only = result?.folder
      const folder = refs.every(({ stays }) => stays === undefined) && (only === undefined || force)
      const view = { ...about, refs, folder, ...given({ result: only }) }
      const gone = refs.filter(({ stays }) => stays === undefined).map(({ ref, commit }) => ({ ref, commit }))
      if (check || (gone.length === 0 && !folder)) return ok(view)
      const recorded = await this.#told.records.write(principal.id, { parley: 'clean', run, refs: gone, folder })
      if (!recorded.ok) return recorded
      // One that moves at this moment is somebody's own work by now.
      if (!(await folders.removeRefs(gone))) return refuse('repository_moved', `A branch of ${run} moved meanwhile.`)
      return ok(view)
    })
    if (cleaned.ok && !check) {
      if (cleaned.value.folder) homes.remove(run)
      this.#told.views.forget(run)
    }
    return cleaned
  }
}

/** What was applied as a commit of the user's own, and is not taken back: two applies of one second make one commit. */
export function standingOf(applications: readonly Application[]): readonly Application[] {
  const takenBack = ({ to, at }: Application) =>
    applications.some(other => other.to === to && other.undone !== undefined && other.undone.at > at)
  return applications.filter(each => !takenBack(each))
}

function reasonOf({ checkedOut, moved, reached }: Leftover, force: boolean) {
  if (checkedOut) return 'checked_out' as const
  if (moved) return reached ? undefined : ('moved' as const)
  return reached || force ? undefined : ('unreached' as const)
}
