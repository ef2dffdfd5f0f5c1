// Trees that no folder is needed for: one with some files of another.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileName, nameBytes, splitNames } from './files/file-name.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'

export function treeOf({ contents }: Site, commit: string): Promise<string> {
  return contents.text(['rev-parse', '--verify', `${commit}^{tree}`])
}

let indexes = 0

/** A tree in which some files are as another commit has them, or gone. No folder is needed for it. */
export async function replaceFiles(
  { home, contents }: Site,
  tree: string,
  names: readonly FileName[],
  from: string,
): Promise<string> {
  await privateFolder(places.indexes(home))
  const index = join(places.indexes(home), `merge.${process.pid}-${++indexes}`)
  const call = { env: { GIT_INDEX_FILE: index } }
  const wanted = new Set<string>(names)
  const { stdout } = await contents.run(['ls-tree', '-r', '-z', '--full-tree', from])
  const there = new Map<string, string>()
  for (const line of splitNames(stdout)) {
    const [, entry, name] = /^(\d+ \w+ [0-9a-f]+)\t(.*)$/s.exec(line)!
    if (wanted.has(name!)) there.set(name!, entry!)
  }
  // What goes makes room first: a file may take the place of a folder, or the other way round.
  const gone = names.filter(name => !there.has(name)).map(name => `0 ${'0'.repeat(tree.length)}\t${name}\0`)
  const kept = [...there].map(([name, entry]) => `${entry.replace(/ \w+ /, ' ')}\t${name}\0`)
  try {
    await contents.run(['read-tree', tree], call)
    const input = nameBytes([...gone, ...kept].join(''))
    await contents.run(['update-index', '--replace', '-z', '--index-info'], { ...call, input })
    return await contents.text(['write-tree'], call)
  } finally {
    await rm(index, { force: true })
  }
}

/** Files that are not the same in both. */
export async function namesBetween({ contents }: Site, from: string, to: string): Promise<FileName[]> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to]
  return splitNames((await contents.run(args)).stdout)
}
