// The result of a run as people see it: a commit, what it changes, and its branch or folder.

import type { Folders } from '../folder/folders.ts'
import type { Finished } from '../folder/model.ts'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { mayChange } from '../team/team.ts'
import type { RunView } from './view.ts'

type RunResult = NonNullable<RunView['result']>

/** Undefined for a run without files. */
export async function resultAt(folders: Folders, commit: string): Promise<RunResult | undefined> {
  const { base, facts } = folders
  if (!facts) return undefined
  const changes = await folders.changes(base, commit)
  const shown = changes.slice(0, coordinatorLimits.shownFiles)
  const deleted = shown.filter(({ kind }) => kind === 'deleted').map(({ path }) => path)
  return { commit, base, files: shown.map(({ path }) => path), ...(deleted.length > 0 && { deleted }) }
}

export function placed(result: RunResult | undefined, { branch, folder }: Finished): RunResult | undefined {
  return result && { ...result, ...given({ branch, folder }) }
}

/** A run that could change nothing has none. */
export function hasResult({ facts }: RunProjection): boolean {
  return !facts || mayChange(facts.plan)
}
