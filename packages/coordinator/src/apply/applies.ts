// Taking a result over into the branch that is checked out, and taking it back.
import { realpath } from 'node:fs/promises'
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
import {
  APPLY_WAYS,
  type ApplicationView,
  COPY,
  isOver,
  PlanTaskViewSchema,
  type RunView,
  RunViewSchema,
} from '../view/view.ts'
import { Copies } from './copies.ts'
import type { Application, HouseRecords, Step } from './house-record.ts'
import { NotableSchema, notableChanges } from './notable.ts'
import { applyWords, isElsewhere, type Presence, presenceOf } from './presence.ts'
import { Steps } from './steps.ts'

export const AppliedSchema = closed({
  run: Type.String(),
  how: Type.Enum([...APPLY_WAYS, COPY]),
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
  /** Of a run that did not come to a good end: which of its tasks have work in the result, and which do not. */
  partial: Type.Optional(
    closed({
      state: RunViewSchema.properties.state,
      has: Type.Array(Type.String()),
      lacks: Type.Array(closed({ task: Type.String(), state: PlanTaskViewSchema.properties.state })),
    }),
  ),
})
export type AppliedView = Static<typeof AppliedSchema>

export const UndoneSchema = closed({
  run: Type.String(),
  how: Type.Enum(['back', 'commit', 'files', COPY]),
  folder: Type.String(),
  branch: Type.Optional(Type.String()),
  from: Type.String(),
  to: Type.String(),
  already: Type.Boolean(),
  files: Type.Array(Type.String()),
  /** Of a new commit: a branch that goes back has only what was there before. */
  notable: Type.Array(NotableSchema),
  /** Nothing would have the work any more. */
  lost: Type.Optional(Type.Literal(true)),
})
export type UndoneView = Static<typeof UndoneSchema>

interface Wanted {
  /** Where the caller is: somewhere in a checkout of the run's repository. */
  readonly folder: string
  readonly how?: (typeof APPLY_WAYS)[number] | undefined
  /** Changes that something runs by itself are agreed to, and a result without the work of all tasks. */
  readonly accept?: boolean | undefined
  /** Only say what would be done. */
  readonly check?: boolean | undefined
}

/** Refusals: those of a checkout, and `invalid_state`, `nothing_to_apply`, `other_repository`, `detached_head`,
 * `merge_conflict`, `dirty_overlap`, `ignored_overlap`, `hidden_overlap`, `unconfirmed`, `no_repository`,
 * `not_applied`, `repository_moved`, `work_gone`. */
export class Applies {
  readonly #host: RunsHost
  readonly #told: Pick<Coordinator, 'views' | 'users'>
  readonly #records: HouseRecords
  readonly #steps: Steps
  readonly #copies: Copies

  constructor(host: RunsHost, told: Pick<Coordinator, 'views' | 'users'>, records: HouseRecords) {
    this.#host = host
    this.#told = told
    this.#records = records
    this.#steps = new Steps({ ...host, records })
    this.#copies = new Copies(host, records)
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
    if (view.result!.folder !== undefined) return this.#applyCopy(view, principal, { folder, ...wanted })
    return this.#inCheckout(folder, async checkout => {
      const own = await locate(view.project, this.#host.clock)
      if (own === undefined) return refuse('not_a_repository', `${view.project} is in no git repository any more.`)
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
    const { base, commit } = view.result!
    const { head, branch, top } = checkout
    if (how !== 'patch' && branch === undefined) return refuse('detached_head', detached(top))
    const about = { run, how, folder: top, ...given({ branch: branch && shortBranch(branch) }), from: head }
    const nothing = { ...about, already: true, ...NOTHING }
    if (!(await checkout.has(commit)))
      return refuse('work_gone', `The commit ${commit} of the result is gone from ${view.project}.`)
    for (const each of (await this.#records.applications(run)).toReversed()) {
      if ((await presenceOf(checkout, each)) === 'there') return ok({ ...nothing, to: each.to })
    }
    const isMerged = await checkout.isAncestor(commit, head)
    const change = { run, from: base, to: commit }
    if (isMerged && (await presenceOf(checkout, { ...change, how: 'merge' })) === 'there')
      return ok({ ...nothing, to: head })
    // To merge again what was taken back would bring nothing.
    const merged = isMerged ? await checkout.replayed({ ...change, on: head }) : await checkout.merged(head, commit)
    if ('conflicts' in merged) {
      const { conflicts } = merged
      const message = `The result does not fit ${about.branch ?? 'what is checked out'}: ${some(conflicts)} changed on both sides.`
      return err(
        new ParleyError('merge_conflict', message, { details: { files: conflicts, commit, ...given(view.result!) } }),
      )
    }
    const { tree } = merged
    const names = await checkout.between(head, tree)
    const files = names.map(nameText)
    if (files.length === 0) return ok({ ...nothing, to: head })
    const refused = await obstructed(checkout, head, tree)
    if (refused) return refused
    const notable = await notableChanges(checkout, names, { from: head, to: tree })
    const partial = partOf(view)
    const seen = { ...about, already: false, files, notable, ...given({ partial }) }
    if (check) return ok(seen)
    if (!accept && partial) {
      const message = `The run ${run} is ${partial.state}: its result may lack the work of some tasks.`
      return err(new ParleyError('unconfirmed', message, { details: { partial, notable } }))
    }
    if (!accept && notable.length > 0) return unconfirmed('The result', notable)
    const parents = how === 'merge' && !isMerged ? [head, commit] : [head]
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
      result: commit,
      ...given({ branch, head: how === 'patch' ? head : undefined }),
    })
    return taken.ok ? ok({ ...seen, to }) : taken
  }

  async #applyCopy(view: RunView, principal: Principal, { folder, how = 'squash', accept, check }: Wanted) {
    const { project, run } = view
    if (how !== 'squash')
      return refuse('no_repository', `${project} is no git repository: nothing can be merged or staged there.`)
    const here = await realpath(folder).catch(() => folder)
    if (here !== project && !here.startsWith(`${project}/`))
      return refuse('other_repository', `${run} worked on ${project}, and ${here} is outside of it.`)
    await this.recover()
    const partial = partOf(view)
    return this.#copies.apply(view, {
      ...this.#ofCopy(principal, 'The result', { accept, check }),
      ...given({ partial }),
    })
  }

  #ofCopy(principal: Principal, what: string, { accept = false, check = false }: Pick<Wanted, 'accept' | 'check'>) {
    return {
      accept,
      check,
      take: (step: Step) => this.#take(principal, step),
      unconfirmed: (notable: AppliedView['notable']) => unconfirmed(what, notable),
    }
  }

  /** What is to be taken back of a project that is no repository; undefined where a checkout is meant. */
  async #copied(run: RunId | undefined, folder: string) {
    if (run === undefined && (await locate(folder, this.#host.clock).catch(() => undefined))) return undefined
    return this.#copies.newest(run, await realpath(folder).catch(() => folder))
  }

  async undo(
    run: RunId | undefined,
    { principal, folder, accept, check }: By & Omit<Wanted, 'how'>,
  ): Promise<Result<UndoneView>> {
    const copied = await this.#copied(run, folder)
    if (copied) {
      await this.recover()
      return this.#copies.undo(copied, this.#ofCopy(principal, 'Taking it back', { accept, check }))
    }
    return this.#inCheckout(folder, async (checkout): Promise<Result<UndoneView>> => {
      const found = await this.#newest(run, checkout)
      if (!found)
        return refuse(
          'not_applied',
          run === undefined ? `No result was applied in ${checkout.top} yet.` : `${run} was not applied.`,
        )
      const { application, presence } = found
      const { undone, to: applied } = application
      const { head, top } = checkout
      const branch = checkout.branch && shortBranch(checkout.branch)
      const told = { run: application.run, folder: top }
      const nothing = { ...told, already: true, ...NOTHING }
      if (undone && presence !== 'there') return ok({ ...nothing, how: wayOf(application, undone), ...commits(undone) })
      if (presence === 'taken_back')
        return ok({ ...nothing, how: 'commit', from: head, to: head, ...given({ branch }) })
      if (!(await checkout.has(applied)))
        return refuse('other_repository', `${application.run} was applied in ${application.folder}, not in ${top}.`)
      if (presence === 'absent')
        return refuse('not_applied', `${application.run} is not on ${branch ?? 'what is checked out'} any more.`)
      const planned = await this.#planUndo(application, checkout)
      if (!planned.ok) return planned
      const { how, to: tree } = planned.value
      const names = await checkout.between(planned.value.from, tree)
      const files = names.map(nameText)
      const refused = how === 'files' ? undefined : await obstructed(checkout, planned.value.from, tree)
      if (refused) return refused
      const { from } = planned.value
      const notable = how === 'commit' ? await notableChanges(checkout, names, { from, to: tree }) : []
      const lost = how !== 'commit' && !(await isElsewhere(checkout, application)) ? (true as const) : undefined
      const seen = {
        ...told,
        how,
        from,
        ...given({ lost }),
        already: false,
        files,
        notable,
        ...given({ branch }),
      }
      if (check) return ok({ ...seen, to: tree })
      if (!accept && lost)
        return refuse('unconfirmed', `No branch or tag has the work of ${application.run} but what is taken back.`)
      if (!accept && notable.length > 0) return unconfirmed('The commit that takes it back', notable)
      const view = how === 'commit' ? await this.#told.views.view(application.run as RunId) : undefined
      const message = `Take back: ${view?.ok ? subjectOf(view.value) : application.run}\n\n${applyWords.undo(application.to)}\n\n${applyWords.run(application.run)}`
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

  /** The newest application that is on the branch; else of those that nobody took back; else of all. */
  async #newest(run: RunId | undefined, checkout: Checkout) {
    type Found = { readonly application: Application; readonly presence: Presence }
    let standing: Found | undefined
    let last: Found | undefined
    for (const application of (await this.#records.applications(run)).toReversed()) {
      // Without a run, the last one that stands is meant, and no older one; it is one of this repository.
      if (standing && application.run !== standing.application.run) continue
      if (run === undefined && !(await checkout.has(application.to))) continue
      const found = { application, presence: await presenceOf(checkout, application) }
      if (found.presence === 'there') return found
      if (!application.undone) standing ??= found
      last ??= found
    }
    return standing ?? last
  }

  /** Of what is there: back where nobody has built on it, else by a commit of its own. */
  async #planUndo(application: Application, checkout: Checkout) {
    const { how, from, to, branch } = application
    if (how === 'patch' && checkout.head === from) return ok({ how: 'files' as const, from: to, to: from })
    if (how !== 'patch' && checkout.head === to && checkout.branch === branch && !(await checkout.isPushed(to)))
      return ok({ how: 'back' as const, from: to, to: from })
    if (checkout.branch === undefined) return refuse('detached_head', detached(checkout.top))
    const reverted = await checkout.replayed({ from: to, to: from, on: checkout.head })
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

/** Undefined for one that is done: all of it is there. */
function partOf({ state, tasks }: RunView): AppliedView['partial'] {
  if (state === 'done') return undefined
  const own = tasks.filter(({ parent }) => parent === undefined)
  const isIn = ({ state, salvage }: (typeof own)[number]) => state === 'done' || salvage?.state === 'merged'
  return {
    state,
    has: own.filter(isIn).map(({ id }) => id),
    lacks: own.filter(each => !isIn(each)).map(({ id, state }) => ({ task: id, state })),
  }
}

const NOTHING = { files: [], notable: [] }

function unconfirmed(what: string, notable: AppliedView['notable']) {
  const message = `${what} changes files that other programs run: ${some(notable.map(({ path }) => path))}.`
  return err(new ParleyError('unconfirmed', message, { details: { notable } }))
}

function unfit(view: RunView) {
  const { run, state, result, result_unknown, imported, project } = view
  if (imported) return refuse('work_gone', `The run ${run} was imported: its files are where it was made.`)
  if (!isOver(state))
    return refuse('invalid_state', `The run ${run} is at work; its result can be applied when it is over.`)
  if (result_unknown) return refuse('work_gone', `The result of ${run} is not known: ${result_unknown}.`)
  if (project === '') return refuse('nothing_to_apply', `The run ${run} works without a project: it has no files.`)
  if (!result || result.commit === result.base)
    return refuse('nothing_to_apply', `The run ${run} changed nothing in ${project}.`)
  return undefined
}

function wayOf({ from }: Step, undone: Step): UndoneView['how'] {
  if (undone.head !== undefined) return 'files'
  return undone.to === from ? 'back' : 'commit'
}

function commits({ from, to, branch }: Step) {
  return { from, to, ...given({ branch: branch && shortBranch(branch) }) }
}

/** What a step would overwrite. */
async function obstructed(checkout: Checkout, from: string, to: string) {
  const { changed, ignored, hidden } = await checkout.inTheWay(from, to)
  const refused = (code: string, files: readonly string[], what: string) =>
    err(new ParleyError(code, `${some(files)} in ${checkout.top} ${what}`, { details: { files } }))
  const have = (files: readonly string[]) => (files.length === 1 ? 'has' : 'have')
  if (changed.length > 0) return refused('dirty_overlap', changed, `${have(changed)} uncommitted changes.`)
  if (ignored.length > 0)
    return refused('ignored_overlap', ignored, 'would be overwritten, and git ignores what is there.')
  if (hidden.length === 0) return undefined
  return refused('hidden_overlap', hidden, `${have(hidden)} changes that git was told not to look at.`)
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
  return [subjectOf(view), '', ...(tasks.length > 0 ? [...tasks, ''] : []), applyWords.run(view.run)].join('\n')
}
