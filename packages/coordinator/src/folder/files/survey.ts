// Looks through a workspace's folder: which files differ from the index, and what can never be part of a commit, such
// as repositories inside it and altered submodules. Changes nothing.
import { lstatSync } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Contents, Tree } from '../contents.ts'
import { folderLimits } from '../limits.ts'
import type { ChangeKind, RefusalReason } from '../model.ts'
import { canRead } from './copy.ts'
import { type FileName, foldersOf, joinNames, splitNames } from './file-name.ts'
import { otherFiles, type TrackedFile, trackedFiles } from './list-files.ts'
import { below } from './remove.ts'

interface Named {
  readonly name: FileName
  readonly kind: Exclude<ChangeKind, 'renamed'>
}

export interface FoundChange extends Named {
  /** 0 if it was deleted. */
  readonly bytes: number
  readonly readable: boolean
  /** Of a symbolic link: its target, one character for each byte. */
  readonly link?: string
}

export interface Barred extends Named {
  readonly reason: RefusalReason
}

export interface Survey {
  readonly found: readonly FoundChange[]
  /** Refused whatever the turn may change. */
  readonly refused: readonly Barred[]
  /** Neither file, folder nor link: git passes over them, unless they took the place of something. */
  readonly special: readonly FileName[]
  readonly cut: boolean
}

export async function surveyFolder(contents: Contents, tree: Tree): Promise<Survey> {
  await contents.runOn(tree, ['update-index', '-q', '--refresh'], {
    codes: [0, 1],
    timeoutMs: folderLimits.checkoutMs,
  })
  const [tracked, differing, others, special] = await Promise.all([
    trackedFiles(contents, tree),
    differingFiles(contents, tree),
    otherFiles(contents, tree),
    specialFiles(contents, tree),
  ])
  const submodules = tracked.filter(each => each.submodule)
  const isSubmodule = new Set(submodules.map(each => each.name))
  const moved = new Set(differing.filter(({ name }) => isSubmodule.has(name)).map(({ name }) => name))
  const names: Named[] = [
    ...differing.filter(({ name }) => !isSubmodule.has(name)),
    ...others.files.map(name => ({ name, kind: 'added' as const })),
  ]
  return {
    found: await lookAt(tree, names),
    refused: [
      ...(await alteredSubmodules(tree, submodules, moved)),
      ...(await repositoriesInside(tree, tracked, others.files)),
      ...others.closed.map((name): Barred => ({ name: name.slice(0, -1) as FileName, kind: 'added', reason: 'git' })),
    ],
    special,
    cut: others.cut,
  }
}

async function differingFiles(contents: Contents, tree: Tree): Promise<Named[]> {
  // The changes inside a submodule would be found by a git there, with whatever is configured there.
  const args = ['diff-files', '-z', '--raw', '--no-renames', '--ignore-submodules=dirty']
  const fields = splitNames((await contents.runOn(tree, args)).stdout)
  const found: Named[] = []
  for (let next = 0; next + 1 < fields.length; next += 2) {
    found.push({ name: fields[next + 1]!, kind: fields[next]!.endsWith(' D') ? 'deleted' : 'changed' })
  }
  return found
}

async function lookAt(tree: Tree, names: readonly Named[]): Promise<FoundChange[]> {
  const found: FoundChange[] = []
  for (const { name, kind } of names.slice(0, folderLimits.files + 1)) {
    const path = below(tree.folder, name)
    const stats = kind === 'deleted' ? undefined : await lstat(path).catch(() => undefined)
    const isFile = stats?.isFile() ?? false
    // Gone by now, it is taken for a file, and the tree that comes of it will tell.
    const link = stats?.isSymbolicLink() ? await readlink(path, 'buffer').catch(() => undefined) : undefined
    found.push({
      name,
      kind,
      bytes: isFile ? stats!.size : 0,
      readable: !isFile || (await canRead(path)),
      ...(link && { link: link.toString('latin1') }),
    })
  }
  return found
}

/** A submodule is an empty folder, or a checkout of the very commit that the parent names. */
async function alteredSubmodules(
  tree: Tree,
  submodules: readonly TrackedFile[],
  moved: ReadonlySet<FileName>,
): Promise<Barred[]> {
  const barred: Barred[] = []
  for (const { name } of submodules) {
    const inside = await readdir(below(tree.folder, name)).catch(() => undefined)
    if (inside === undefined) barred.push({ name, kind: 'deleted', reason: 'submodule' })
    else if (moved.has(name) || (inside.length > 0 && !inside.includes('.git'))) {
      barred.push({ name, kind: 'changed', reason: 'submodule' })
    }
  }
  return barred
}

/** Every `.git` below the top, in any folder that holds files. Git itself shows none of them. */
async function repositoriesInside(
  tree: Tree,
  tracked: readonly TrackedFile[],
  others: readonly FileName[],
): Promise<Barred[]> {
  const folders = new Set([...tracked.map(({ name }) => name), ...others].flatMap(foldersOf))
  const barred: Barred[] = []
  // Beyond a link, or a file in a folder's place, nothing is the project's. Outer folders come before inner ones.
  const real = new Set([''])
  let looked = 0
  for (const folder of folders) {
    if (++looked % folderLimits.filesPerTurn === 0) await setImmediate()
    if (!real.has(folder.slice(0, Math.max(0, folder.lastIndexOf('/'))))) continue
    if (!lstatSync(below(tree.folder, folder), { throwIfNoEntry: false })?.isDirectory()) continue
    real.add(folder)
    const name = `${folder}/.git` as FileName
    if (lstatSync(below(tree.folder, name), { throwIfNoEntry: false })) {
      barred.push({ name, kind: 'added', reason: 'git' })
    }
  }
  return barred
}

/** Pipes, sockets and devices, which git does not see, if not ignored. Very large folders are read only so far. */
async function specialFiles(contents: Contents, tree: Tree): Promise<readonly FileName[]> {
  const ignored = await ignoredFolders(contents, tree)
  const found: FileName[] = []
  const open = ['']
  let looked = 0
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of await entriesOf(tree, folder)) {
      if (++looked % folderLimits.filesPerTurn === 0) await setImmediate()
      const name = folder + entry.name.toString('latin1')
      if (entry.isDirectory()) {
        if (name !== '.git' && !ignored.has(`${name}/`)) open.push(`${name}/`)
      } else if (!entry.isFile() && !entry.isSymbolicLink()) found.push(name as FileName)
    }
    if (looked > folderLimits.lookedAt || found.length >= folderLimits.specialFiles) break
  }
  return found.length === 0 ? [] : notIgnored(contents, tree, found)
}

function entriesOf({ folder }: Tree, name: string) {
  // A folder that cannot be read, or is gone by now, holds nothing that could be told.
  return readdir(below(folder, name), { encoding: 'buffer', withFileTypes: true }).catch(() => [])
}

async function ignoredFolders(contents: Contents, tree: Tree): Promise<ReadonlySet<string>> {
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory']
  const { stdout } = await contents.runOn(tree, args, { cut: true, timeoutMs: folderLimits.checkoutMs })
  return new Set(splitNames(stdout).filter(name => name.endsWith('/')))
}

async function notIgnored(contents: Contents, tree: Tree, names: readonly FileName[]): Promise<FileName[]> {
  const call = { input: joinNames(names), codes: [0, 1] }
  const { stdout } = await contents.runOn(tree, ['check-ignore', '-z', '--stdin'], call)
  const ignored = new Set(splitNames(stdout))
  return names.filter(name => !ignored.has(name))
}
