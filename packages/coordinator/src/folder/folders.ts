// What a run works with in place of the file system and git: its folders, commits and merges. `RunFolders` keeps them
// for a project; a run without one has `NoFolders`.
import type { Result, WorkspaceId } from '@parley/core'
import type { CaptureOptions } from './capture.ts'
import type { DiffOptions } from './files/changes.ts'
import type { IntegrateOptions } from './integrate.ts'
import type { Leftover, StandIn } from './leftovers.ts'
import type { CapturedWork, Draft, FileChange, Finished, Integrated, ProjectFacts } from './model.ts'
import type { KeptCommit } from './repository.ts'
import type { Wanted } from './worktree.ts'

export interface Folders {
  /** Plain JSON, to be stored with the run; undefined where it works without a project. */
  readonly facts: ProjectFacts | undefined
  /** The commit that the run starts from. */
  readonly base: string

  /** The run's own folder, and the repository that its commits go to: they may be on different disks. */
  readonly disks: readonly string[]

  /** What a program in one of the folders must know about them. */
  readonly environment: Readonly<Record<string, string>>

  /** The commit with everything integrated so far; the start at first. Stays known after `clean`. */
  head(into?: WorkspaceId): Promise<string>

  /** Whether the repository still holds a commit. */
  has(commit: string): Promise<boolean>

  /** A line of merged work of its own, for the team of a workspace. Harmless to repeat. */
  startLine(workspace: WorkspaceId, commit: string): Promise<Result<void>>

  /**
   * Makes the agent's folder with exactly the commit's files, in place of whatever was there:
   * `<home>/work/<workspace>`, or the project's subfolder inside it. No process may be at work in it. What the same
   * setup made there before stays; what is carried is copied anew. Undefined where a run has no folders.
   */
  prepare(workspace: WorkspaceId, commit: string, wanted?: Wanted): Promise<Result<string | undefined>>

  /** Whether this setup has run in the folder, and what it made is there. */
  isSetUp(workspace: WorkspaceId, setup: string): Promise<boolean>

  /** What setup made is none of the work from now on. `commit` is the one that the folder was prepared at. */
  keepSetup(workspace: WorkspaceId, commit: string, setup: string): Promise<Result<void>>

  /** Those of the globs that would carry nothing. */
  uncarried(globs: readonly string[]): Promise<Result<readonly string[]>>

  /**
   * What the folder holds now as a commit on top of `parent`. Changes outside `paths` or the project, `.git` folders,
   * changed submodules and files over the limit are put back and reported; ignored files are left alone. The same input
   * gives the same commit.
   */
  capture(workspace: WorkspaceId, options: CaptureOptions): Promise<Result<CapturedWork>>

  changes(from: string, to: string): Promise<FileChange[]>

  /** Merges a commit into the head. Harmless to repeat; conflicts are an answer, and change nothing. */
  integrate(commit: string, options: IntegrateOptions): Promise<Result<Integrated>>

  /** What a three-way merge would give, as a commit that can be looked at and prepared; nothing is merged. */
  draft(commit: string, into?: WorkspaceId): Promise<Result<Draft>>

  /** Conflicting files of a draft as text: at most so many bytes of each, and of the first ten. */
  excerpts(draft: Draft, maxBytes: number): Promise<readonly { readonly path: string; readonly text: string }[]>

  /** The difference as text for people; the end says if it was cut. */
  diff(from: string, to: string, options: DiffOptions): Promise<string>

  /** A file as text, cut after so many bytes; undefined if there is none. The path is relative to the project. */
  show(commit: string, path: string, maxBytes: number): Promise<string | undefined>

  /** Removes a workspace's folder. What was captured stays. */
  discard(workspace: WorkspaceId): Promise<void>

  /** Removes all folders and makes the result: a branch, if anything was merged, or `<home>/result`. Repeatable. */
  finish(): Promise<Result<Finished>>

  /** What `finish` has made; undefined where nothing tells that any more. */
  finished(): Promise<Result<Finished | undefined>>

  /** The branch of the result, if it is there. Somebody may have worked on it since. */
  branch(): Promise<string | undefined>

  /** Removes everything of this run from the repository, except the branch and work that its result does not have. */
  clean(keep?: readonly KeptCommit[]): Promise<void>

  /** Of work that was left when the run ended: it is kept still, the result has it by now, or it is gone. */
  standOfKept(kept: KeptCommit): Promise<'kept' | 'merged' | 'gone'>

  /** What is left of a run that is over, in the repository. */
  leftovers(branch: string | undefined, standIns: readonly StandIn[]): Promise<Leftover[]>

  /** All of them, or none where one is not where it was. */
  removeRefs(gone: readonly { readonly ref: string; readonly commit: string }[]): Promise<boolean>
}
