// What a workspace's folder has beside the files of its commit: ignored files that were carried there, and what setup
// made. It is none of the agent's work, and what setup made stays when the folder is made anew.
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compile, Type, type WorkspaceId } from '@parley/core'
import type { Contents, Tree } from './contents.ts'
import { type FileName, foldersOf, splitNames } from './files/file-name.ts'
import { isReached } from './files/put-back.ts'
import { below } from './files/remove.ts'
import { folderLimits } from './limits.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'
import { namesBetween, replaceFiles, treeOf } from './trees.ts'

const furnished = compile(
  Type.Object({
    /** What setup ran there; empty where none has. */
    setup: Type.String(),
    /** A commit with what setup changed and git does not ignore; its parent is the one that setup ran on. */
    baseline: Type.Optional(Type.String()),
    /** Ignored files, and folders with a slash at their end, that setup made. All names have one character a byte. */
    made: Type.Array(Type.String()),
    /** Files that came from the project. */
    carried: Type.Array(Type.String()),
  }),
)

export interface Furnished {
  readonly setup: string
  readonly baseline?: string
  readonly made: readonly string[]
  readonly carried: readonly string[]
}

export const NOTHING: Furnished = { setup: '', made: [], carried: [] }

function fileOf(home: string, workspace: WorkspaceId): string {
  return join(places.furnished(home), `${workspace}.json`)
}

/** What is not whole is as good as nothing: setup is run again. */
export async function readFurnished({ home }: Site, workspace: WorkspaceId): Promise<Furnished> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home, workspace), 'utf8'))
    return furnished.is(value) ? value : NOTHING
  } catch {
    return NOTHING
  }
}

export async function writeFurnished({ home }: Site, workspace: WorkspaceId, now: Furnished): Promise<void> {
  const file = fileOf(home, workspace)
  await privateFolder(places.furnished(home))
  await writeFile(`${file}.new`, JSON.stringify(now), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

export async function forgetFurnished({ home }: Site, workspace: WorkspaceId): Promise<void> {
  await rm(fileOf(home, workspace), { force: true })
}

/** Ignored files, and folders in which everything is ignored, with a slash at their end. */
export async function ignoredIn(contents: Contents, tree: Tree): Promise<readonly FileName[]> {
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']
  const { stdout } = await contents.runOn(tree, args, { cut: true, timeoutMs: folderLimits.checkoutMs })
  const names = splitNames(stdout)
  // Git also names what is inside some of the folders.
  const folders = new Set<string>(names.filter(name => name.endsWith('/')))
  const isInside = (name: string) => foldersOf(plain(name)).some(each => folders.has(`${each}/`))
  return names.filter(name => !isInside(name))
}

/** Whether a file is one of those, or in one of those folders. */
export function isAmong(names: Iterable<string>): (name: FileName) => boolean {
  const known = new Set(names)
  return name => known.has(name) || foldersOf(name).some(each => known.has(`${each}/`))
}

/** Whether everything that setup made is still there. */
export async function hasAll(folder: string, made: readonly string[]): Promise<boolean> {
  for (const name of made) {
    if (!(await isReached(folder, name))) return false
    if (!(await lstat(below(folder, plain(name))).catch(() => undefined))) return false
  }
  return true
}

export async function moveAll(made: readonly string[], from: string, to: string): Promise<void> {
  for (const name of made) {
    const [old, place] = [below(from, plain(name)), below(to, plain(name))]
    // Another commit may have files of its own there.
    if (!(await isReached(to, name)) || (await lstat(place).catch(() => undefined))) continue
    await mkdir(parentOf(place), { recursive: true })
    await rename(old, place)
  }
}

function plain(name: string): string {
  return name.endsWith('/') ? name.slice(0, -1) : name
}

function parentOf(path: Buffer): Buffer {
  return path.subarray(0, path.lastIndexOf('/'))
}

/** A commit, or a tree: its files with what setup changed, except where they differ from what setup found. */
export async function withBaseline(site: Site, commit: string, baseline: string | undefined): Promise<string> {
  if (baseline === undefined) return commit
  const differs = new Set<string>(await namesBetween(site, `${baseline}^`, commit))
  const names = (await namesBetween(site, `${baseline}^`, baseline)).filter(name => !differs.has(name))
  return names.length === 0 ? commit : replaceFiles(site, await treeOf(site, commit), names, baseline)
}
