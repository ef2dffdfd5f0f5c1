// A run's folders and merges. Every workspace has a folder with a private git repository; its work becomes a commit,
// and commits are merged into the run's head. A project that is no repository is copied first.
import { type Clock, err, ok, ParleyError, type Result, type WorkspaceId } from '@parley/core'
import { type CaptureOptions, capture, keepSetup } from './capture.ts'
import { globsWithoutFile } from './carry.ts'
import { changesBetween, type DiffOptions, diffText, fileText, shownChange } from './files/changes.ts'
import { finish, readFinished } from './finish.ts'
import type { Folders } from './folders.ts'
import { readFurnished } from './furnished.ts'
import { draftMerge, headOf, type IntegrateOptions, integrate, startLine } from './integrate.ts'
import { type Leftover, leftovers, type StandIn } from './leftovers.ts'
import { folderLimits } from './limits.ts'
import type { Captured, Draft, FileChange, Finished, Integrated, ProjectFacts } from './model.ts'
import { abandonSite, createSite, type NewSite, openSite, type Start } from './open.ts'
import { locate } from './project.ts'
import type { KeptCommit } from './repository.ts'
import { places, requireCommit, requireName, type Site } from './site.ts'
import { inTurn } from './turns.ts'
import { drop, dropAll, prepare, type Wanted } from './worktree.ts'

export class RunFolders implements Folders {
  readonly #site: Site

  private constructor(site: Site) {
    this.#site = site
  }

  /**
   * For a new run; writes nothing to the project but refs. Refuses with `git_missing`, `git_too_old`,
   * `invalid_project`, `repository_empty`, `bare_repository`, `repository_not_trusted`, `project_too_large`,
   * `project_unusable`, or `run_exists` if the run has results already.
   */
  static create(options: NewSite): Promise<Result<RunFolders>> {
    return asResult(async () => new RunFolders(await createSite(options)))
  }

  /** Takes back what a `create` that was cut off may have left in the project. Harmless to repeat. */
  static abandon(options: Start & { readonly project: string }): Promise<Result<void>> {
    return asResult(() => abandonSite(options))
  }

  /** The repository, which is all of a project that its runs write to; undefined where there is none to read. */
  static async writtenTo(project: string, clock: Clock): Promise<string | undefined> {
    const location = await locate(project, clock).catch(() => undefined)
    return location?.gitDir
  }

  /** After a restart. Refuses with `project_gone` if the repository or its start commit is gone. */
  static open(options: Start & { readonly facts: ProjectFacts }): Promise<Result<RunFolders>> {
    return asResult(async () => new RunFolders(await openSite(options)))
  }

  get facts(): ProjectFacts {
    return this.#site.facts
  }

  get disks(): readonly string[] {
    const { home, repository } = this.#site
    return [home, repository.gitDir]
  }

  get base(): string {
    return this.#site.facts.base
  }

  get environment() {
    return {
      // Above all folders of workspaces: without a `.git` of its own, a git program in one of them must not look for a
      // repository further up.
      GIT_CEILING_DIRECTORIES: places.work(this.#site.home),
      PARLEY_PROJECT: this.#site.facts.path,
    }
  }

  async head(into?: WorkspaceId): Promise<string> {
    return headOf(this.#site, into)
  }

  async has(commit: string): Promise<boolean> {
    requireCommit(commit)
    return this.#site.repository.has(commit)
  }

  startLine(workspace: WorkspaceId, commit: string): Promise<Result<void>> {
    return asResult(async () => {
      requireName(workspace, 'workspace')
      requireCommit(commit)
      await startLine(this.#site, workspace, commit)
    })
  }

  prepare(workspace: WorkspaceId, commit: string, wanted: Wanted = {}): Promise<Result<string>> {
    return this.#inWorkspace(workspace, async () => {
      requireCommit(commit)
      return prepare(this.#site, workspace, commit, wanted)
    })
  }

  async isSetUp(workspace: WorkspaceId, setup: string): Promise<boolean> {
    return (await readFurnished(this.#site, workspace)).setup === setup
  }

  keepSetup(workspace: WorkspaceId, commit: string, setup: string): Promise<Result<void>> {
    return this.#inWorkspace(workspace, async () => {
      requireCommit(commit)
      await keepSetup(this.#site, workspace, commit, setup)
    })
  }

  uncarried(globs: readonly string[]): Promise<Result<readonly string[]>> {
    return asResult(() => globsWithoutFile(this.#site, globs))
  }

  capture(workspace: WorkspaceId, options: CaptureOptions): Promise<Result<Captured>> {
    return this.#inWorkspace(workspace, async () => {
      requireCommit(options.parent)
      return capture(this.#site, workspace, options)
    })
  }

  async changes(from: string, to: string): Promise<FileChange[]> {
    requireCommit(from)
    requireCommit(to)
    const { contents, scope } = this.#site
    return (await changesBetween(contents, from, to)).map(each => shownChange(scope, each))
  }

  integrate(commit: string, options: IntegrateOptions): Promise<Result<Integrated>> {
    return asResult(async () => {
      requireCommit(commit)
      const { into, way } = options
      if (into !== undefined) requireName(into, 'workspace')
      if (way?.way === 'result') requireCommit(way.commit)
      // The ref's compare-and-swap decides; taking turns only saves merges that would be for nothing.
      return inTurn(`${this.#site.home}/head/${into ?? ''}`, () => integrate(this.#site, commit, options))
    })
  }

  draft(commit: string, into?: WorkspaceId): Promise<Result<Draft>> {
    return asResult(async () => {
      requireCommit(commit)
      return draftMerge(this.#site, commit, into)
    })
  }

  async excerpts({ commit, conflicts }: Draft, maxBytes: number) {
    const text = async (path: string) => (await this.show(commit, path, maxBytes)) ?? '[one side removed this file]'
    const shown = conflicts.slice(0, folderLimits.namedFiles)
    return Promise.all(shown.map(async path => ({ path, text: await text(path) })))
  }

  async diff(from: string, to: string, options: DiffOptions): Promise<string> {
    requireCommit(from)
    requireCommit(to)
    const { contents, facts } = this.#site
    return diffText(contents, { from, to, folder: facts.folder }, options)
  }

  async show(commit: string, path: string, maxBytes: number): Promise<string | undefined> {
    requireCommit(commit)
    const { contents, scope } = this.#site
    return fileText(contents, commit, scope.name(path), maxBytes)
  }

  async discard(workspace: WorkspaceId): Promise<void> {
    const done = await this.#inWorkspace(workspace, () => drop(this.#site, workspace))
    if (!done.ok) throw done.error
  }

  finish(): Promise<Result<Finished>> {
    return asResult(() => inTurn(`${this.#site.home}/finish`, () => finish(this.#site)))
  }

  finished(): Promise<Result<Finished | undefined>> {
    return asResult(() => readFinished(this.#site.home))
  }

  async branch(): Promise<string | undefined> {
    const { facts, repository } = this.#site
    const found = facts.kind === 'git' ? await repository.read(`refs/heads/${facts.branchName}`) : undefined
    return found && facts.branchName
  }

  async clean(keep: readonly KeptCommit[] = []): Promise<void> {
    const { repository, contents } = this.#site
    await dropAll(this.#site)
    const head = keep.length === 0 ? '' : await this.head()
    const kept: KeptCommit[] = []
    for (const each of keep) {
      if ((await repository.has(each.commit)) && !(await contents.isAncestor(each.commit, head))) kept.push(each)
    }
    await repository.clean(kept)
  }

  async standOfKept({ name, commit }: KeptCommit): Promise<'kept' | 'merged' | 'gone'> {
    const { repository, contents } = this.#site
    if ((await repository.read(repository.keptRef(name))) === commit) return 'kept'
    const known = await repository.has(commit)
    return known && (await contents.isAncestor(commit, await this.head())) ? 'merged' : 'gone'
  }

  async leftovers(branch: string | undefined, standIns: readonly StandIn[]): Promise<Leftover[]> {
    return leftovers(this.#site, { branch, head: await this.head(), standIns })
  }

  removeRefs(gone: readonly { readonly ref: string; readonly commit: string }[]): Promise<boolean> {
    return this.#site.repository.update(gone.map(({ ref, commit }) => ({ ref, to: undefined, from: commit })))
  }

  #inWorkspace<T>(workspace: WorkspaceId, work: () => Promise<T>): Promise<Result<T>> {
    return asResult(async () => {
      requireName(workspace, 'workspace')
      return inTurn(places.workspace(this.#site.home, workspace), work)
    })
  }
}

/** Refusals and what the file system refuses are values; everything else is a defect. */
async function asResult<T>(work: () => Promise<T>): Promise<Result<T>> {
  try {
    return ok(await work())
  } catch (error) {
    if (error instanceof ParleyError) return err(error)
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    return err(
      new ParleyError('folder_failed', `The system refused something in the folders of a run: ${error.message}.`, {
        cause: error,
      }),
    )
  }
}
