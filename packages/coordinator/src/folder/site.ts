// What the parts of a run's folders share, and where everything lies in the run's home.
import { join } from 'node:path'
import { type Clock, ParleyError, type RunId, type WorkspaceId } from '@parley/core'
import type { Contents } from './contents.ts'
import type { Scope } from './files/scope.ts'
import type { ProjectFacts } from './model.ts'
import type { Repository } from './repository.ts'

export interface Site {
  readonly home: string
  readonly run: RunId
  readonly facts: ProjectFacts
  readonly scope: Scope
  readonly repository: Repository
  readonly contents: Contents
  readonly clock: Clock
}

export const places = {
  /** The git folder of our own, which no agent's folder leads to. */
  git: (home: string) => join(home, 'git'),
  work: (home: string) => join(home, 'work'),
  /** The files of a workspace; the agent's folder is the project inside it. */
  workspace: (home: string, workspace: WorkspaceId) => join(home, 'work', workspace),
  repositories: (home: string) => join(home, 'repositories'),
  /** What the `.git` of a workspace's folder leads to. */
  repository: (home: string, workspace: WorkspaceId) => join(home, 'repositories', workspace),
  /** Folders in the making. */
  making: (home: string) => join(home, 'new'),
  /** What its folder has beside the files of a commit: see furnished.ts. */
  furnished: (home: string) => join(home, 'furnished'),
  indexes: (home: string) => join(home, 'index'),
  result: (home: string) => join(home, 'result'),
  finished: (home: string) => join(home, 'finished.json'),
}

const nameForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const commitForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** Ids become names of folders and refs. */
export function requireName(id: string, what: string): void {
  if (nameForm.test(id)) return
  throw new ParleyError(
    'invalid_id',
    `The ${what} ${JSON.stringify(id.slice(0, 80))} cannot name a folder: expected letters, digits, _ and -.`,
  )
}

export function requireCommit(commit: string): void {
  if (commitForm.test(commit)) return
  throw new ParleyError(
    'invalid_commit',
    `Expected the full id of a commit, got ${JSON.stringify(commit.slice(0, 80))}.`,
  )
}
