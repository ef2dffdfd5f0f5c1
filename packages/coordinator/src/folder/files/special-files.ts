// Finds pipes, sockets and devices, which git does not see.
import { readdir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { Contents, Tree } from '../contents.ts'
import { folderLimits } from '../limits.ts'
import { type FileName, joinNames, splitNames } from './file-name.ts'
import { below } from './remove.ts'

/** Those that no .gitignore leaves out. A folder with very many files is looked through only so far. */
export async function specialFiles(contents: Contents, tree: Tree): Promise<readonly FileName[]> {
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
