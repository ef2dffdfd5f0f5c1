// The folder of a workspace: made anew for every turn, beside its place and moved there when it is whole, so that nothing
// which a killed process left, or which an orphan of it still writes, can end up in it.
import { cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { WorkspaceId } from '@parley/core'
import { removeAll } from './remove.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'

/** Makes the folder with exactly a commit's files, HEAD detached at it; answers with the project's place inside it. */
export async function prepare(site: Site, workspace: WorkspaceId, commit: string): Promise<string> {
  const { home, repository, contents, facts } = site
  await drop(site, workspace)
  const making = join(places.making(home), workspace)
  await privateFolder(making)
  await privateFolder(places.indexes(home))
  // Git names its entry after the folder, so the name comes last.
  const folder = join(await mkdtemp(`${making}/`), workspace)
  const index = newIndex(site, workspace)
  const admin = await repository.addWorktree(folder, commit)
  await contents.fill({ folder, index }, commit)
  await cp(index, join(admin, 'index'))
  await rename(index, knownIndex(site, workspace))
  await mkdir(join(folder, facts.folder), { recursive: true })
  const place = places.workspace(home, workspace)
  await privateFolder(dirname(place))
  await rename(folder, place)
  await repository.moveWorktree(admin, place)
  await removeAll(making)
  return join(place, facts.folder)
}

/** Takes the folder away, and whatever a prepare that was killed has left. */
export async function drop(site: Site, workspace: WorkspaceId): Promise<void> {
  const { home, repository } = site
  const place = places.workspace(home, workspace)
  const making = join(places.making(home), workspace)
  const halfMade = new RegExp(`^${workspace}\\d*$`)
  await repository.dropWorktrees(({ name, folder }) =>
    folder === undefined ? halfMade.test(name) : folder === place || folder.startsWith(`${making}/`),
  )
  await removeAll(place)
  // An orphan may still write there for a moment. It disturbs nobody, and finish removes the rest.
  await removeAll(making).catch(() => {})
  await dropIndexes(site, workspace)
}

/** Every workspace that may have something left: folders, and folders in the making. */
export async function dropAll(site: Site): Promise<void> {
  const { home, repository } = site
  const folders = [places.work(home), places.making(home)]
  const names = await Promise.all(folders.map(folder => readdir(folder).catch(() => [])))
  const known = repository.ref('ws/')
  const captured = (await repository.refs()).flatMap(ref =>
    ref.startsWith(known) ? ref.slice(known.length) : [],
  )
  for (const name of new Set([...names.flat(), ...captured])) await drop(site, name as WorkspaceId)
  for (const folder of [...folders, places.indexes(home)]) await removeAll(folder)
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
