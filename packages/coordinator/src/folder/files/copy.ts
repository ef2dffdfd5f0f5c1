// The first commit of a project that is no git repository: its files, byte for byte, except ignored ones, those with
// names for secrets, and Parley profiles. Writes nothing in the project.
import { constants } from 'node:fs'
import { access, lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, ParleyError, ticksPerMillisecond } from '@parley/core'
import type { Contents, Tree } from '../contents.ts'
import { folderLimits } from '../limits.ts'
import { outsideProfiles } from '../unfit-project.ts'
import { type FileName, joinNames, nameText } from './file-name.ts'
import { otherFiles, trackedFiles } from './list-files.ts'
import { below } from './remove.ts'
import { secretPatterns } from './secret-names.ts'
import { requireSize, type SizedFile } from './size.ts'

/** For a copy there is no repository whose attributes could ask for other bytes. */
export const exactBytes = '* -text -ident -filter -working-tree-encoding\n'

export async function firstCommit(
  contents: Contents,
  options: { readonly project: string; readonly home: string; readonly clock: Clock },
): Promise<string> {
  const { project, home, clock } = options
  const tree: Tree = { folder: project, index: join(home, 'first-index') }
  await rm(tree.index, { force: true })
  const files = await filesOf(contents, tree)
  await contents.runOn(tree, ['update-index', '--add', '-z', '--stdin'], {
    input: joinNames(files),
    timeoutMs: folderLimits.checkoutMs,
  })
  await requireAll(contents, tree, files)
  const commit = await contents.commit({
    tree: await contents.writeTree(tree),
    parents: [],
    message: 'The project as it was found\n',
    date: Math.floor(clock.now() / ticksPerMillisecond / 1000),
  })
  await rm(tree.index, { force: true })
  return commit
}

async function filesOf(contents: Contents, tree: Tree): Promise<readonly FileName[]> {
  const { files, closed, cut } = await otherFiles(contents, tree, secretPatterns)
  if (closed.length > 0) throw unusable(tree.folder, closed)
  const kept = await outsideProfiles(tree.folder, files)
  const sized: SizedFile[] = []
  const unreadable: FileName[] = []
  for (const name of kept) {
    const path = below(tree.folder, name)
    const found = await lstat(path)
    sized.push({ name, bytes: found.size })
    if (found.isFile() && !(await canRead(path))) unreadable.push(name)
  }
  requireSize(sized, { code: 'project_too_large', of: `The project ${tree.folder}`, more: cut })
  if (unreadable.length > 0) throw unusable(tree.folder, unreadable)
  return kept
}

export function canRead(path: Buffer): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  )
}

/** Git passes over names that would mean trouble on some system, such as `git~1`. */
async function requireAll(contents: Contents, tree: Tree, files: readonly FileName[]): Promise<void> {
  const taken = new Set((await trackedFiles(contents, tree)).map(each => each.name))
  const missing = files.filter(name => !taken.has(name))
  if (missing.length > 0) throw unusable(tree.folder, missing)
}

function unusable(project: string, names: readonly FileName[]): ParleyError {
  const named = names.slice(0, folderLimits.namedFiles).map(nameText).join(', ')
  const more = names.length > folderLimits.namedFiles ? ` and ${names.length - folderLimits.namedFiles} more` : ''
  return new ParleyError(
    'project_unusable',
    `The project ${project} holds files that cannot be read or have a name that git does not take: ${named}${more}. List them in a .gitignore file there or make them readable, then try again.`,
    { details: { files: names.slice(0, folderLimits.namedFiles).map(nameText) } },
  )
}
