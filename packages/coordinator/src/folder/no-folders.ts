// The folders of a run without a project: there are none. Its agents work without files, so that there is one commit,
// which nobody changes, and nothing to prepare, merge or clean up.
import { ok, type Result } from '@parley/core'
import type { Folders } from './folders.ts'
import type { CapturedWork, Draft, FileChange, Finished, Integrated } from './model.ts'

/** Where the record names a commit: no repository has it. */
const NO_COMMIT = 'none'

export class NoFolders implements Folders {
  readonly facts = undefined
  readonly base = NO_COMMIT
  readonly disks: readonly string[] = []
  readonly environment = {}

  async head(): Promise<string> {
    return NO_COMMIT
  }

  async has(commit: string): Promise<boolean> {
    return commit === NO_COMMIT
  }

  async startLine(): Promise<Result<void>> {
    return ok(undefined)
  }

  async prepare(): Promise<Result<undefined>> {
    return ok(undefined)
  }

  /** Nothing is to be set up. */
  async isSetUp(): Promise<boolean> {
    return true
  }

  async keepSetup(): Promise<Result<void>> {
    return ok(undefined)
  }

  async uncarried(): Promise<Result<readonly string[]>> {
    return ok([])
  }

  /** Without a commit: two attempts that changed no file have not come to the same for that. */
  async capture(): Promise<Result<CapturedWork>> {
    return ok({ changed: [], refused: [], outsideLinks: [] })
  }

  async changes(): Promise<FileChange[]> {
    return []
  }

  async integrate(): Promise<Result<Integrated>> {
    return ok({ head: NO_COMMIT, merged: false })
  }

  async draft(): Promise<Result<Draft>> {
    return ok({ head: NO_COMMIT, commit: NO_COMMIT, conflicts: [] })
  }

  async excerpts(): Promise<readonly never[]> {
    return []
  }

  async diff(): Promise<string> {
    return ''
  }

  async show(): Promise<undefined> {
    return undefined
  }

  async discard(): Promise<void> {}

  async finish(): Promise<Result<Finished>> {
    return ok({ head: NO_COMMIT })
  }

  async finished(): Promise<Result<Finished>> {
    return ok({ head: NO_COMMIT })
  }

  async branch(): Promise<undefined> {
    return undefined
  }

  async clean(): Promise<void> {}

  async standOfKept(): Promise<'gone'> {
    return 'gone'
  }

  async leftovers(): Promise<never[]> {
    return []
  }

  async removeRefs(): Promise<boolean> {
    return true
  }
}
