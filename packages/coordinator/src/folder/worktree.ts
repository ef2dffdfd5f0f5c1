// The folder of a workspace: made beside its place and moved there when it is whole, so that nothing that a killed
// process left, or an orphan still writes, ends up in it.
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkspaceId } from '@parley/core'
import { gitFile, makeAgentRepository } from './agent-repository.ts'
import { carry } from './carry.ts'
import { copyIndex } from './contents.ts'
import { removeAll } from './files/remove.ts'
import { forgetFurnished, hasAll, moveAll, NOTHING, readFurnished, withBaseline, writeFurnished } from './furnished.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'

/** What a folder is to have beside the files of its commit. */
export interface Wanted {
  /** Globs of ignored files of the project. */
  readonly carry?: readonly string[]
  /** Whatever tells one setup from another. What it made stays if it ran here. */
  readonly setup?: string
}

/** Makes the folder with exactly a commit's files, HEAD detached at it; answers with the project's place inside it. */
export async function prepare(
  site: Site,
  workspace: WorkspaceId,
  commit: string,
  { carry: globs = [], setup = '' }: Wanted,
): Promise<string> {
  const { home, contents, facts } = site
  const place = places.workspace(home, workspace)
  const before = await readFurnished(site, workspace)
  const kept = setup !== '' && before.setup === setup && (await hasAll(place, before.made)) ? before : undefined
  if (!kept) await drop(site, workspace)
  const making = join(places.making(home), workspace)
  for (const each of [making, places.indexes(home), places.work(home), places.repositories(home)]) {
    await privateFolder(each)
  }
  const fresh = await mkdtemp(`${making}/`)
  const folder = join(fresh, 'files')
  const gitDir = join(fresh, 'git')
  const index = newIndex(site, workspace)
  await mkdir(folder, { mode: 0o700 })
  await contents.fill({ folder, index }, await withBaseline(site, commit, kept?.baseline))
  await makeAgentRepository(site, gitDir, commit)
  await copyIndex(index, join(gitDir, 'index'))
  await mkdir(join(folder, facts.folder), { recursive: true })
  if (kept) await moveAll(kept.made, place, folder)
  const carried = globs.length > 0 ? await carry(site, { folder, index }, globs) : []
  if (kept) await removePlace(site, workspace)
  await rename(index, knownIndex(site, workspace))
  const repository = places.repository(home, workspace)
  await writeFile(join(folder, '.git'), gitFile(repository))
  await rename(gitDir, repository)
  await rename(folder, place)
  if (kept || carried.length > 0) await writeFurnished(site, workspace, { ...(kept ?? NOTHING), carried })
  await removeAll(making)
  return join(place, facts.folder)
}

async function removePlace({ home }: Site, workspace: WorkspaceId): Promise<void> {
  await removeAll(places.workspace(home, workspace))
  await removeAll(places.repository(home, workspace))
}

/** Takes the folder away with its repository, and whatever a prepare that was killed has left. */
export async function drop(site: Site, workspace: WorkspaceId): Promise<void> {
  const { home } = site
  await forgetFurnished(site, workspace)
  await removePlace(site, workspace)
  // An orphan may still write there for a moment. It disturbs nobody, and finish removes the rest.
  await removeAll(join(places.making(home), workspace)).catch(() => {})
  await dropIndexes(site, workspace)
}

/** The same for every workspace. */
export async function dropAll({ home }: Site): Promise<void> {
  const all = [places.work, places.repositories, places.making, places.indexes, places.furnished]
  for (const place of all) await removeAll(place(home))
}

/** The index that prepare or the last capture wrote: git need not read files again that have not been touched since. */
export function knownIndex({ home }: Site, workspace: WorkspaceId): string {
  return join(places.indexes(home), workspace)
}

let indexes = 0

/** Nobody else's, not even an orphan's of this workspace. */
export function newIndex({ home }: Site, workspace: WorkspaceId): string {
  return join(places.indexes(home), `${workspace}.${process.pid}-${++indexes}`)
}

async function dropIndexes({ home }: Site, workspace: WorkspaceId): Promise<void> {
  const folder = places.indexes(home)
  for (const name of await readdir(folder).catch(() => [])) {
    if (name === workspace || name.startsWith(`${workspace}.`)) await rm(join(folder, name), { force: true })
  }
}
