// What a folder holds: the files that an index knows, and the others that are not ignored. Git stops at repositories
// inside the folder; they are looked into here.
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contents, Tree } from '../contents.ts'
import { folderLimits } from '../limits.ts'
import { type FileName, lossyText, splitNames, textName } from './file-name.ts'

export interface TrackedFile {
  readonly name: FileName
  /** A submodule: a commit of another repository. */
  readonly submodule: boolean
}

export async function trackedFiles(contents: Contents, tree: Tree): Promise<TrackedFile[]> {
  const { stdout } = await contents.runOn(tree, ['ls-files', '-s', '-z'])
  return splitNames(stdout).map(line => ({
    name: line.slice(line.indexOf('\t') + 1) as FileName,
    submodule: line.startsWith('160000'),
  }))
}

interface OtherFiles {
  readonly files: readonly FileName[]
  /** Repositories inside that cannot be looked into: too many, or with a name that is not UTF-8. */
  readonly closed: readonly FileName[]
  readonly cut: boolean
}

/** Files that the index does not know. `.git` is never one of them. */
export async function otherFiles(contents: Contents, tree: Tree, exclude: readonly string[] = []): Promise<OtherFiles> {
  const files: FileName[] = []
  const closed: FileName[] = []
  const open: { readonly prefix: string; readonly tree: Tree }[] = [{ prefix: '', tree }]
  let cut = false
  for (let next = open.shift(), seen = 1; next !== undefined; next = open.shift()) {
    const { prefix, tree: within } = next
    const answer = await contents.runOn(
      within,
      ['ls-files', '-z', '--others', '--exclude-standard', ...exclude.map(each => `--exclude=${each}`)],
      { cut: true, timeoutMs: folderLimits.checkoutMs },
    )
    cut ||= answer.cut
    for (const found of splitNames(answer.stdout)) {
      const name = (prefix + found) as FileName
      if (!found.endsWith('/')) files.push(name)
      else if (seen >= folderLimits.nestedRepositories || !isText(found)) closed.push(name)
      else {
        seen++
        open.push({ prefix: name, tree: { folder: join(within.folder, lossyText(found)), index: noIndex() } })
      }
    }
    if (files.length > folderLimits.files) return { files, closed, cut }
  }
  return { files, closed, cut }
}

/** A file that is not there is an empty index. */
function noIndex(): string {
  return join(tmpdir(), `parley-no-index-${randomUUID()}`)
}

function isText(name: string): boolean {
  return textName(lossyText(name)) === name
}
