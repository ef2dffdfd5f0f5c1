// Turns what a workspace's folder holds into a commit, whatever the agent did with git there, by comparing the files
// with the parent through an index of our own. What the turn may not change is left out, put back and reported.
import { lstat, rename, rm } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { limits, ParleyError, type WorkspaceId } from '@parley/core'
import { mendGitFile } from './agent-repository.ts'
import { type Contents, copyIndex, type Tree } from './contents.ts'
import { allowedPaths } from './files/allowed-paths.ts'
import { changesBetween, type NamedChange, shownChange } from './files/changes.ts'
import { type FileName, foldersOf, joinNames } from './files/file-name.ts'
import { leadsOutside, targetsOf } from './files/links.ts'
import { putBack } from './files/put-back.ts'
import { requireSize } from './files/size.ts'
import { type Barred, type FoundChange, type Survey, surveyFolder } from './files/survey.ts'
import {
  type Furnished,
  ignoredIn,
  isAmong,
  NOTHING,
  readFurnished,
  withBaseline,
  writeFurnished,
} from './furnished.ts'
import { folderLimits } from './limits.ts'
import type { Captured, RefusalReason, RefusedChange } from './model.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'
import { replaceFiles, treeOf } from './trees.ts'
import { knownIndex, newIndex } from './worktree.ts'

export interface CaptureOptions {
  readonly parent: string
  readonly paths?: readonly string[]
  /** `outside`: symbolic links may lead out of the project. */
  readonly symlinks?: 'outside'
  readonly message: string
  readonly author: string
}

export function capture(site: Site, workspace: WorkspaceId, options: CaptureOptions): Promise<Captured> {
  return inFolder(site, workspace, tree => takeAll(site, workspace, tree, options))
}

/**
 * What setup has made in a folder that was prepared at the commit: from now on it is none of the work. `setup` is what
 * tells this one from another.
 */
export function keepSetup(site: Site, workspace: WorkspaceId, commit: string, setup: string): Promise<void> {
  return inFolder(site, workspace, async tree => {
    const { contents, repository } = site
    const before = await readFurnished(site, workspace)
    const options = { parent: commit, symlinks: 'outside', message: 'What setup changed\n', author: 'setup' } as const
    // What was carried belongs to no commit, not even to this one, which nobody merges.
    const furniture = { ...NOTHING, carried: before.carried }
    const { tree: result, changed } = await takeSteady(site, workspace, tree, options, furniture)
    const carried = new Set(before.carried)
    const made = (await ignoredIn(contents, tree)).filter(name => !carried.has(name))
    let baseline: string | undefined
    if (changed.length > 0) {
      const { message, author } = options
      const date = await contents.dateOf(commit)
      baseline = await contents.commit({ tree: result, parents: [commit], message, author, date })
      await repository.update([{ ref: repository.ref(`setup/${workspace}`), to: baseline }])
    }
    await rename(tree.index, knownIndex(site, workspace))
    const all = made.length <= folderLimits.madeEntries
    // What cannot be noted whole is made again.
    await writeFurnished(site, workspace, { ...before, made, setup: all ? setup : '', ...(baseline && { baseline }) })
  })
}

async function inFolder<T>(site: Site, workspace: WorkspaceId, work: (tree: Tree) => Promise<T>): Promise<T> {
  const folder = places.workspace(site.home, workspace)
  const found = await lstat(folder).catch(() => undefined)
  if (!found?.isDirectory()) {
    throw new ParleyError(
      'folder_missing',
      `The folder ${folder} of workspace ${workspace} is gone. Prepare it again: what was captured before is kept.`,
    )
  }
  const tree = { folder, index: newIndex(site, workspace) }
  try {
    return await work(tree)
  } finally {
    await rm(tree.index, { force: true })
  }
}

async function takeAll(site: Site, workspace: WorkspaceId, tree: Tree, options: CaptureOptions): Promise<Captured> {
  const { contents, repository, scope } = site
  const { parent, message, author } = options
  const furnished = await readFurnished(site, workspace)
  const taken = await takeSteady(site, workspace, tree, options, furnished)
  let commit = parent
  // What changes nothing is the parent itself.
  if (taken.changed.length > 0) {
    const date = await contents.dateOf(parent)
    commit = await contents.commit({ tree: taken.tree, parents: [parent], message, author, date })
    await repository.update([{ ref: repository.ref(`ws/${workspace}`), to: commit }])
  }
  const namesOf = (which: (each: Refused) => boolean) => taken.refused.filter(which).map(({ name }) => name)
  await putBack(contents, tree, {
    remove: namesOf(each => each.kind === 'added' && !each.stays),
    restore: namesOf(each => each.kind !== 'added' && each.reason !== 'submodule'),
    empty: namesOf(each => each.reason === 'submodule'),
  })
  const refused = taken.refused.map(({ name, kind, reason }): RefusedChange => {
    return { path: scope.text(name), kind, reason }
  })
  const gitDir = places.repository(site.home, workspace)
  if ((await mendGitFile(tree.folder, gitDir)) === 'mended') {
    refused.push({ path: scope.text('.git' as FileName), kind: 'changed', reason: 'git' })
  }
  await rename(tree.index, knownIndex(site, workspace))
  return {
    commit,
    tree: taken.tree,
    changed: taken.changed.map(each => shownChange(scope, each)),
    refused,
    outsideLinks: taken.outsideLinks.map(name => scope.text(name)),
  }
}

interface Refused extends Barred {
  readonly stays?: true
}

type Furniture = Pick<Furnished, 'baseline' | 'made' | 'carried'>

/** An agent may be at work while a checkpoint is made, and git fails on a file that becomes a folder under its eyes. */
async function takeSteady(
  site: Site,
  workspace: WorkspaceId,
  tree: Tree,
  options: CaptureOptions,
  furnished: Furniture,
) {
  // What the folder held when the agent came: its parent, with what setup changed.
  const base = await withBaseline(site, options.parent, furnished.baseline)
  for (let tried = 1; ; tried++) {
    try {
      await startIndex(site, workspace, tree, base)
      return await take(site, tree, { ...options, base, furnished })
    } catch (error) {
      const unsteady = error instanceof ParleyError && ['git_failed', 'folder_busy'].includes(error.code)
      if (!unsteady || tried === folderLimits.captureAttempts) throw error
    }
  }
}

/** The files of a tree, with what an earlier index knows about those that are still the same. */
async function startIndex(site: Site, workspace: WorkspaceId, tree: Tree, base: string): Promise<void> {
  const { contents } = site
  await privateFolder(places.indexes(site.home))
  await rm(tree.index, { force: true })
  try {
    await copyIndex(knownIndex(site, workspace), tree.index)
    await contents.runOn(tree, ['read-tree', '--reset', base])
  } catch {
    await rm(tree.index, { force: true })
    await contents.runOn(tree, ['read-tree', '--reset', base])
  }
}

interface Taking extends CaptureOptions {
  readonly base: string
  readonly furnished: Furniture
}

async function take(site: Site, tree: Tree, options: Taking) {
  const { contents } = site
  const { parent, base } = options
  const { found, refused: barred, special, cut } = await surveyFolder(contents, tree)
  const { accepted, refused, outsideLinks } = await judge(site, tree, { found, special }, options)
  requireSize(
    accepted.map(({ name, bytes }) => ({ name, bytes })),
    { code: 'capture_too_large', of: `What was changed in ${tree.folder}`, more: cut },
  )
  const deleted = accepted.filter(each => each.kind === 'deleted')
  const written = accepted.filter(each => each.kind !== 'deleted')
  // Deleted ones first: a folder may have taken the place of a file.
  await updateIndex(site, tree, ['--force-remove'], deleted)
  await updateIndex(site, tree, ['--add', '--remove'], written)
  const held = await contents.writeTree(tree)
  const own = accepted.length === 0 ? [] : await changesBetween(contents, base, held)
  const inTree = new Set(own.flatMap(({ name, from }) => (from === undefined ? [name] : [name, from])))
  const may = new Set(accepted.map(each => each.name))
  if ([...inTree].some(name => !may.has(name)) || !(await sameLinks(contents, own, accepted))) {
    throw new ParleyError('folder_busy', `Files in ${tree.folder} changed while they were captured. Try again.`, {
      retryable: true,
    })
  }
  // Git passes over names that would mean trouble on some system, such as `git~1`.
  const passedOver = accepted
    .filter(({ name, kind }) => kind === 'added' && !inTree.has(name))
    .map(({ name, kind }): Refused => ({ name, kind, reason: 'unusable' }))
  const all: readonly Refused[] = [...barred, ...refused, ...passedOver]
  if (base === parent) return { tree: held, changed: own, refused: all, outsideLinks }
  const result = await replaceFiles(site, await treeOf(site, parent), [...inTree], held)
  return { tree: result, changed: await changesBetween(contents, parent, result), refused: all, outsideLinks }
}

/** Whether every link of the tree is one that was judged: something else may have stood there then. */
async function sameLinks(
  contents: Contents,
  changed: readonly NamedChange[],
  accepted: readonly FoundChange[],
): Promise<boolean> {
  const judged = new Map(accepted.map(({ name, link }) => [name, link]))
  const links = changed.flatMap(({ name, link }) => (link === undefined ? [] : [{ name, id: link }]))
  const targets = await targetsOf(contents, [...new Set(links.map(({ id }) => id))])
  return links.every(({ name, id }) => judged.get(name) === targets.get(id))
}

async function updateIndex(
  { contents }: Site,
  tree: Tree,
  how: readonly string[],
  changes: readonly FoundChange[],
): Promise<void> {
  if (changes.length === 0) return
  const input = joinNames(changes.map(each => each.name))
  const timeoutMs = folderLimits.checkoutMs
  await contents.runOn(tree, ['update-index', ...how, '-z', '--stdin'], { input, timeoutMs })
}

/** Which of the names a task may change. Others get their turn in between: matching many names takes time. */
async function permittedNames(
  scope: Site['scope'],
  found: readonly FoundChange[],
  paths: readonly string[] | undefined,
): Promise<ReadonlySet<FileName>> {
  const allowed = allowedPaths(paths)
  const permitted = new Set<FileName>()
  let matched = 0
  for (const { name } of found) {
    if (!scope.contains(name)) continue
    matched += name.length
    if (matched > limits.globCharactersPerTurn) {
      matched = 0
      await setImmediate()
    }
    if (allowed(scope.matchable(name))) permitted.add(name)
  }
  return permitted
}

async function judge(
  { scope }: Site,
  { folder }: Tree,
  { found, special }: Pick<Survey, 'found' | 'special'>,
  { paths, symlinks, furnished }: Taking,
) {
  const permitted = await permittedNames(scope, found, paths)
  const accepted: FoundChange[] = []
  const refused: Refused[] = []
  const refuse = ({ name, kind }: FoundChange, reason: RefusalReason) => refused.push({ name, kind, reason })
  const isSpecial = new Set<string>(special)
  const outside = found.filter(({ name, link }) => link !== undefined && leadsOutside(folder, name, link))
  const isOutside = new Set<string>(symlinks === 'outside' ? [] : outside.map(({ name }) => name))
  const isMade = isAmong(furnished.made)
  const isCarried = isAmong(furnished.carried)
  const kept = new Set<string>()
  const keptFolders = new Set<string>()
  for (const change of found) {
    if (permitted.has(change.name) || change.kind !== 'deleted') continue
    kept.add(change.name)
    for (const folder of foldersOf(change.name)) keptFolders.add(folder)
  }
  for (const change of found) {
    const { name, kind, bytes, readable } = change
    // A file cannot take the place of a folder that stays, nor a folder that of a file.
    const inTheWay = kind !== 'deleted' && (keptFolders.has(name) || foldersOf(name).some(each => kept.has(each)))
    // A folder whose place was taken by what is refused comes back with all that was in it.
    const replaced = kind === 'deleted' ? foldersOf(name) : []
    if (kind === 'added' && isCarried(name)) continue
    if (kind === 'added' && isMade(name)) refused.push({ name, kind, reason: 'furnished', stays: true })
    else if (!permitted.has(name) || inTheWay) refuse(change, 'outside')
    else if (isOutside.has(name) || replaced.some(each => isOutside.has(each))) refuse(change, 'symlink')
    else if (isSpecial.has(name) || replaced.some(each => isSpecial.has(each))) refuse(change, 'special')
    else if (bytes > folderLimits.fileBytes) refuse(change, 'too_large')
    else if (!readable) refuse(change, 'unusable')
    else accepted.push(change)
  }
  const restored = new Set(refused.flatMap(({ name }) => [name, ...foldersOf(name)]))
  for (const name of special) {
    if (refused.some(each => each.name === name)) continue
    refused.push({ name, kind: 'added', reason: 'special', ...(!restored.has(name) && { stays: true }) })
  }
  const taken = new Set(accepted.map(({ name }) => name))
  return {
    accepted,
    refused,
    outsideLinks: outside.map(({ name }) => name).filter(name => taken.has(name)),
  }
}
