// What a run's folders tell: facts that are stored with the run, and changes of files.
import { compile, type Static, Type } from '@parley/core'
import type { Side } from '../merge/side.ts'

const commit = Type.String({ pattern: '^([0-9a-f]{40}|[0-9a-f]{64})$' })

const ProjectFactsSchema = Type.Object(
  {
    kind: Type.Union([Type.Literal('git'), Type.Literal('copy')]),
    /** The project's folder: absolute, without symbolic links. */
    path: Type.String({ minLength: 1 }),
    /** The project inside its repository; empty at its top, and always for a copy. */
    folder: Type.String(),
    /** The commit that the run starts from. */
    base: commit,
    /** Changes in the user's checkout that no commit holds, so that the run does not see them. */
    dirty: Type.Integer({ minimum: 0 }),
    /** The first files of those, as a warning names them. */
    dirty_files: Type.Optional(Type.Array(Type.String())),
    /** The branch that gets the result, if another one of that name does not stand in its way. */
    branchName: Type.String({ minLength: 1 }),
  },
  { additionalProperties: false },
)
export type ProjectFacts = Readonly<Static<typeof ProjectFactsSchema>>

export const projectFacts = compile(ProjectFactsSchema, { name: 'project' })

export type ChangeKind = 'added' | 'changed' | 'deleted' | 'renamed'

export interface FileChange {
  /** Relative to the project, `../` for what is outside; a name that is not UTF-8 is in git's quoted form. */
  readonly path: string
  readonly kind: ChangeKind
  /** Of a renamed file: its old path. */
  readonly from?: string
  /** Not of a binary file, and not of a refused one. */
  readonly lines?: { readonly added: number; readonly removed: number }
}

/**
 * Why a change is refused: outside the paths of the turn; a `.git`; a submodule; a link that leads out of the project;
 * a pipe, socket or device; over the limit; one that git cannot take; made by setup, and ignored.
 */
export type RefusalReason =
  | 'outside'
  | 'git'
  | 'submodule'
  | 'symlink'
  | 'special'
  | 'too_large'
  | 'unusable'
  | 'furnished'

export interface RefusedChange extends FileChange {
  readonly reason: RefusalReason
}

export interface Captured {
  readonly commit: string
  readonly tree: string
  readonly changed: readonly FileChange[]
  /** Not in the commit, and put back in the folder. New pipes, sockets and devices, and `furnished`, stay there. */
  readonly refused: readonly RefusedChange[]
  /** Links that lead out of the project, where the turn may make such. */
  readonly outsideLinks: readonly string[]
}

/** The same for a run with or without files: without them there is no commit. */
export type CapturedWork = Omit<Captured, 'commit' | 'tree'> & Partial<Captured>

/** `merged` is false if the commit was part of the head before. With conflicts nothing was changed. */
export type Integrated = { readonly head: string; readonly merged: boolean } | { readonly conflicts: readonly string[] }

/**
 * How a commit is merged. `overwrite`: the files that it changed are as it has them. `take`: where the two do not fit
 * together, one side's version. `result`: exactly the files of another commit, which somebody made of both.
 */
export type MergeWay =
  | { readonly way: 'merge' }
  | { readonly way: 'overwrite' }
  | { readonly way: 'take'; readonly side: Side }
  | { readonly way: 'result'; readonly commit: string }

/** What a three-way merge into `head` would give. */
export interface Draft {
  readonly head: string
  readonly commit: string
  readonly conflicts: readonly string[]
}

export interface Finished {
  readonly head: string
  readonly branch?: string
  readonly folder?: string
}
