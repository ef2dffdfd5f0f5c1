// Puts back what was refused in a workspace's folder: added files go, others come back from the index. Never follows
// links.
import { lstat, mkdir, rmdir } from 'node:fs/promises'
import type { Contents, Tree } from '../contents.ts'
import { type FileName, foldersOf, joinNames } from './file-name.ts'
import { below, removeAll } from './remove.ts'

interface PutBack {
  readonly remove: readonly FileName[]
  readonly restore: readonly FileName[]
  /** Submodules, which are empty folders. */
  readonly empty: readonly FileName[]
}

export async function putBack(contents: Contents, tree: Tree, { remove, restore, empty }: PutBack): Promise<void> {
  for (const name of [...remove, ...empty]) {
    if (await isReached(tree.folder, name)) await removeAll(below(tree.folder, name))
  }
  for (const name of remove) await removeEmptyFolders(tree.folder, name)
  if (restore.length > 0) {
    await contents.runOn(tree, ['checkout-index', '-f', '-u', '-z', '--stdin'], { input: joinNames(restore) })
  }
  for (const name of empty) {
    if (await isReached(tree.folder, name)) await mkdir(below(tree.folder, name), { recursive: true })
  }
}

/** Whether every folder on the way is a real one: through a link somebody else's file would be removed. */
export async function isReached(folder: string, name: string): Promise<boolean> {
  for (const each of foldersOf(name)) {
    const found = await lstat(below(folder, each)).catch(() => undefined)
    if (found !== undefined && !found.isDirectory()) return false
  }
  return true
}

async function removeEmptyFolders(folder: string, name: string): Promise<void> {
  if (!(await isReached(folder, name))) return
  for (const each of foldersOf(name).toReversed()) {
    try {
      await rmdir(below(folder, each))
    } catch {
      return
    }
  }
}
