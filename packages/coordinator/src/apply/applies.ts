// Taking a result over into the branch that is checked out, and taking it back.
import {
  err,
  ok,
  oneLine,
  ParleyError,
  type Principal,
  type Result,
  type RunId,
  refuse,
  type Static,
  Type,
} from '@parley/core'
import type { Coordinator } from '../coordinator.ts'
import { Checkout } from '../folder/checkout.ts'
import { nameText } from '../folder/files/file-name.ts'
import { locate } from '../folder/project.ts'
import { inTurn } from '../folder/turns.ts'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import type { By } from '../people/acts.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { shorten } from '../team/words.ts'
import { closed } from '../view/people-view.ts'
import { APPLY_WAYS, type ApplicationView, isOver, type RunView } from '../view/view.ts'
import type { Application, HouseRecords, Step } from './house-record.ts'
import { NotableSchema, notableChanges } from './notable.ts'
import { Steps } from './steps.ts'

export const AppliedSchema = closed({
  run: Type.String(),
  how: Type.Enum([...APPLY_WAYS]),
  folder: Type.String(),
  /** Without `refs/heads/`; not where HEAD is detached. */
  branch: Type.Optional(Type.String()),
  from: Type.String(),
  /** The commit that was made; of a patch it is on no branch. Not where it was only looked at. */
  to: Type.Optional(Type.String()),
  /** Nothing was left to be done. */
  already: Type.Boolean(),
  files: Type.Array(Type.String()),
  notable: Type.Array(NotableSchema),
})
export type AppliedView = Static<typeof AppliedSchema>

export const UndoneSchema = closed({
  run: Type.String(),
  how: Type.Enum(['back', 'commit', 'files']),
  folder: Type.String(),
  branch: Type.Optional(Type.String()),
  from: Type.String(),
  to: Type.String(),
  already: Type.Boolean(),
  files: Type.Array(Type.String()),
})
export type UndoneView = Static<typeof UndoneSchema>

interface Wanted {
  /** Where the caller is: somewhere in a checkout of the run's repository. */
  readonly folder: string
  readonly how?: (typeof APPLY_WAYS)[number] | undefined
  /** Changes that something runs by itself are agreed to. */
  readonly accept?: boolean | undefined
  /** Only say what would be done. */
  readonly check?: boolean | undefined
}

/** Refusals: those of a checkout, and `invalid_state`, `nothing_to_apply`, `other_repository`, `detached_head`,
 * `merge_conflict`, `dirty_overlap`, `unconfirmed`, `not_applied`, `repository_moved`, `work_gone`. */
export class Applies {
  readonly #host: RunsHost
  readonly #told: Pick<Coordinator, 'views' | 'users'>
  readonly #records: HouseRecords
  readonly #steps: Steps

  constructor(host: RunsHost, told: Pick<Coordinator, 'views' | 'users'>, records: HouseRecords) {
    this.#host = host
    this.#told = told
    this.#records = records
    this.#steps = new Steps({ ...host, records })
  }

  recover(): Promise<void> {
    return this.#steps.recover()
  }

  /** Of a run, the oldest first. */
  async list(run: RunId): Promise<ApplicationView[]> {
    const all = await this.#records.applications(run)
    return all.map(({ by, at, how, folder, branch, to, undone }) => ({
      by,
      at,
      how,
      folder,
      ...given({ branch: branch && shortBranch(branch), undone: undone?.at as string | undefined }),
      commit: to,
    }))
  }

  async apply(run: RunId, { principal, folder, ...wanted }: By & Wanted): Promise<Result<AppliedView>> {
    const found = await this.#told.views.view(run)
    if (!found.ok) return found
    const view = found.value
    const refused = unfit(view)
    if (refused) return refused
    return this.#inCheckout(folder, async checkout => {
      const own = await locate(view.project, this.#host.clock)
      if (own === undefined)
        return refuse(
          'not_a_repository',
          `${view.project} is no git repository. The files of the result are in ${view.result!.folder}.`,
        )
      if (own.gitDir !== checkout.gitDir)
        return refuse(
          'other_repository',
          `${run} worked on ${view.project}, and ${checkout.top} is another repository.`,
        )
      return this.#apply(view, checkout, principal, wanted)
    })
  }

  async #apply(
    view: RunView,
    checkout: Checkout,
    principal: Principal,
    { how = 'squash', accept = false, check = false }: Omit<Wanted, 'folder'>,
  ): Promise<Result<AppliedView>> {
    const run = view.run as RunId
    const { commit } = view.result!
    const { head, branch, top } = checkout
    if (how !== 'patch' && branch === undefined) return refuse('detached_head', detached(top))
    const about = { run, how, folder: top, ...given({ branch: branch && shortBranch(branch) }), from: head }
    const nothing = { ...about, already: true, files: [], notable: [] }
    if (!(await checkout.has(commit)))
      return refuse('work_gone', `The commit ${commit} of the result is gone from ${view.project}.`)
    for (const each of await this.#records.applications(run)) {
      if (!each.undone && (await isThere(checkout, each))) return ok({ ...nothing, to: each.to })
    }
    if (await checkout.isAncestor(commit, head)) return ok({ ...nothing, to: head })
    const merged = await checkout.merged(head, commit)
    if ('conflicts' in merged) {
      const { conflicts } = merged
      const message = `The result does not fit ${about.branch ?? 'what is checked out'}: ${some(conflicts)} changed on both sides.`
      return err(
        new ParleyError('merge_conflict', message, { details: { files: conflicts, commit, ...given(view.result!) } }),
      )
    }
    const { tree } = merged
    const files = (await checkout.between(head, tree)).map(nameText)
    if (files.length === 0) return ok({ ...nothing, to: head })
    const dirty = await checkout.inTheWay(head, tree)
    if (dirty.length > 0)
      return err(
        new ParleyError(
          'dirty_overlap',
          `${some(dirty)} in ${top} ${dirty.length === 1 ? 'has' : 'have'} changes that no commit holds.`,
          {
            details: { files: dirty },
          },
        ),
      )
    const notable = await notableChanges(checkout, files, { from: head, to: tree })
    const seen = { ...about, already: false, files, notable }
    if (check) return ok(seen)
    if (notable.length > 0 && !accept)
      return err(
        new ParleyError(
          'unconfirmed',
          `The result changes files that other programs run: ${some(notable.map(({ path }) => path))}.`,
          {
            details: { notable },
          },
        ),
      )
    const parents = how === 'merge' ? [head, commit] : [head]
    const message = messageOf(view)
    const to = how === 'patch' ? await checkout.draft(tree, [head]) : await checkout.commit({ tree, parents, message })
    const taken = await this.#take(principal, {
      parley: 'apply',
      id: this.#host.ids.next('apply'),
      run,
      how,
      folder: top,
      from: head,
      to,
      ...given({ branch, head: how === 'patch' ? head : undefined }),
    })
    return taken.ok ? ok({ ...seen, to }) : taken
  }

  /** The newest application that stands, of a run or of all. */
  async undo(run: RunId | undefined, { principal, folder, check }: By & Pick<Wanted, 'folder' | 'check'>) {
    return this.#inCheckout(folder, async (checkout): Promise<Result<UndoneView>> => {
      const all = await this.#records.applications(run)
      const application = all.findLast(({ undone }) => undone === undefined) ?? all.at(-1)
      if (!application)
        return refuse('not_applied', run === undefined ? 'No result was applied yet.' : `${run} was not applied.`)
      const { undone } = application
      const told = { run: application.run, folder: checkout.top }
      if (undone) return ok({ ...told, how: wayOf(application, undone), ...commits(undone), already: true, files: [] })
      if (!(await checkout.has(application.to)))
        return refuse(
          'other_repository',
          `${application.run} was applied in ${application.folder}, not in ${checkout.top}.`,
        )
      const planned = await this.#planUndo(application, checkout)
      if (!planned.ok) return planned
      const { how, to: tree } = planned.value
      const files = (await checkout.between(planned.value.from, tree)).map(nameText)
      const dirty = how === 'files' ? [] : await checkout.inTheWay(planned.value.from, tree)
      if (dirty.length > 0)
        return err(
          new ParleyError(
            'dirty_overlap',
            `${some(dirty)} in ${checkout.top} ${dirty.length === 1 ? 'has' : 'have'} changes that no commit holds.`,
            {
              details: { files: dirty },
            },
          ),
        )
      const seen = {
        ...told,
        how,
        from: planned.value.from,
        already: false,
        files,
        ...given({ branch: checkout.branch && shortBranch(checkout.branch) }),
      }
      if (check) return ok({ ...seen, to: tree })
      const view = how === 'commit' ? await this.#told.views.view(application.run as RunId) : undefined
      const message = `Take back: ${view?.ok ? subjectOf(view.value) : application.run}\n\nThis takes back ${application.to}.\n\nParley-Run: ${application.run}`
      const to = how === 'commit' ? await checkout.commit({ tree, parents: [checkout.head], message }) : tree
      const taken = await this.#take(principal, {
        parley: 'undo',
        id: this.#host.ids.next('undo'),
        run: application.run,
        how: application.how,
        of: application.id,
        folder: checkout.top,
        from: planned.value.from,
        to,
        ...given({ branch: checkout.branch, head: how === 'files' ? checkout.head : undefined }),
      })
      return taken.ok ? ok({ ...seen, to }) : taken
    })
  }

  /** Back where nobody has built on it; else by a commit of its own. */
  async #planUndo(application: Application, checkout: Checkout) {
    const { how, from, to, branch } = application
    if (how === 'patch' && checkout.head === from && (await isThere(checkout, application)))
      return ok({ how: 'files' as const, from: to, to: from })
    if (how !== 'patch' && checkout.head === to && checkout.branch === branch && !(await checkout.isPushed(to)))
      return ok({ how: 'back' as const, from: to, to: from })
    if (checkout.branch === undefined) return refuse('detached_head', detached(checkout.top))
    if (how === 'patch' ? checkout.head === from : !(await checkout.isAncestor(to, checkout.head)))
      return refuse(
        'not_applied',
        `What was applied of ${application.run} is not on ${shortBranch(checkout.branch)} any more.`,
      )
    const reverted = await checkout.reverted({ from, to, on: checkout.head })
    if ('conflicts' in reverted) {
      const message = `What was applied cannot be taken back by itself: ${some(reverted.conflicts)} changed since.`
      return err(new ParleyError('merge_conflict', message, { details: { files: reverted.conflicts, commit: to } }))
    }
    return ok({ how: 'commit' as const, from: checkout.head, to: reverted.tree })
  }

  async #take(principal: Principal, wanted: Step): Promise<Result<void>> {
    const known = await this.#told.users.admit(principal, 'apply')
    return known.ok ? this.#steps.take(principal.id, wanted) : known
  }

  /** One after the other in each repository; what git refuses is a value. */
  async #inCheckout<T>(folder: string, work: (checkout: Checkout) => Promise<Result<T>>): Promise<Result<T>> {
    try {
      await this.recover()
      const { gitDir } = await Checkout.open(folder, this.#host.clock)
      return await inTurn(`${gitDir}/apply`, async () => work(await Checkout.open(folder, this.#host.clock)))
    } catch (error) {
      if (error instanceof ParleyError) return err(error)
      throw error
    }
  }
}

function unfit(view: RunView) {
  const { run, state, result, result_unknown, imported, project } = view
  if (imported) return refuse('work_gone', `The run ${run} was imported: its files are where it was made.`)
  if (!isOver(state))
    return refuse('invalid_state', `The run ${run} is at work; its result can be applied when it is over.`)
  if (result_unknown) return refuse('work_gone', `The result of ${run} is not known: ${result_unknown}.`)
  if (!result || result.commit === result.base)
    return refuse('nothing_to_apply', `The run ${run} changed nothing in ${project}.`)
  return undefined
}

/** Whether an application is in what is checked out. */
async function isThere(checkout: Checkout, { how, from, to }: Step): Promise<boolean> {
  if (how !== 'patch') return checkout.isAncestor(to, checkout.head)
  return checkout.head === from && (await checkout.has(to)) && checkout.isStaged(from, to)
}

function wayOf({ from }: Step, undone: Step): UndoneView['how'] {
  if (undone.head !== undefined) return 'files'
  return undone.to === from ? 'back' : 'commit'
}

function commits({ from, to, branch }: Step) {
  return { from, to, ...given({ branch: branch && shortBranch(branch) }) }
}

function shortBranch(ref: string): string {
  return ref.replace(/^refs\/heads\//, '')
}

function detached(top: string): string {
  return `No branch is checked out in ${top}: a commit there is easily lost.`
}

function some(names: readonly string[]): string {
  const most = coordinatorLimits.namedLinks
  const more = names.length > most ? ` and ${names.length - most} more` : ''
  return `${names.slice(0, most).map(oneLine).join(', ')}${more}`
}

function subjectOf({ intent, run }: RunView): string {
  const first = intent.split('\n').find(line => line.trim() !== '') ?? run
  return shorten(oneLine(first).trim(), coordinatorLimits.subjectLength)
}

/** The intent, the tasks, and where the record is. */
function messageOf(view: RunView): string {
  const tasks = view.tasks
    .filter(({ state }) => state === 'done')
    .map(({ title, agent }) => `- ${oneLine(title)} (${oneLine(agent)})`)
  return [subjectOf(view), '', ...(tasks.length > 0 ? [...tasks, ''] : []), `Parley-Run: ${view.run}`].join('\n')
}
