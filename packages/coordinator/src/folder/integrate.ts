// Merges a commit into a line, the run's head or that of a team inside it: a new tree, a new commit, a compare-and-swap
// of the ref. Repeating it changes nothing.
import { ParleyError, type WorkspaceId } from '@parley/core'
import type { Contents } from './contents.ts'
import { changesBetween, type NamedChange } from './files/changes.ts'
import { type FileName, splitNames } from './files/file-name.ts'
import { placeInside, targetsOf } from './files/links.ts'
import { lastHead } from './finish.ts'
import { folderLimits } from './limits.ts'
import type { Draft, Integrated, MergeWay } from './model.ts'
import type { Site } from './site.ts'
import { namesBetween, replaceFiles, treeOf } from './trees.ts'

export interface IntegrateOptions {
  readonly message: string
  /** The workspace whose line it is; the run's own head without it. */
  readonly into?: WorkspaceId
  /** A three-way merge, which conflicts may end, unless it says otherwise. */
  readonly way?: MergeWay
}

export async function integrate(
  site: Site,
  commit: string,
  { message, into, way = { way: 'merge' } }: IntegrateOptions,
): Promise<Integrated> {
  const { repository, contents, scope } = site
  const ref = lineRef(site, into)
  for (let tried = 0; tried < folderLimits.integrateAttempts; tried++) {
    const stored = await repository.read(ref)
    const head = stored ?? (await lineStart(site, into))
    if (await contents.isAncestor(commit, head)) return { head, merged: false }
    const merged = await mergedTree(site, head, commit, way)
    if ('conflicts' in merged) return { conflicts: merged.conflicts.map(name => scope.text(name)) }
    const date = Math.max(await contents.dateOf(head), await contents.dateOf(commit))
    const to = await contents.commit({ tree: merged.tree, parents: [head, commit], message, date })
    if (await repository.update([{ ref, to, from: stored ?? 'none' }])) return { head: to, merged: true }
  }
  throw new ParleyError(
    'integration_contended',
    `The head of ${site.run} moved ${folderLimits.integrateAttempts} times while ${commit} was being merged. Try again.`,
    { retryable: true },
  )
}

/** What a three-way merge would give, conflicts with their marks in it, as a commit that no line has. */
export async function draftMerge(site: Site, commit: string, into: WorkspaceId | undefined): Promise<Draft> {
  const { contents, scope } = site
  const head = await headOf(site, into)
  const { tree, conflicts } = await mergeTrees(site, head, commit)
  const date = Math.max(await contents.dateOf(head), await contents.dateOf(commit))
  const message = `Merge of ${commit}, to be settled`
  const draft = await contents.commit({ tree, parents: [head, commit], message, date })
  return { head, commit: draft, conflicts: conflicts.map(name => scope.text(name)) }
}

/** A line for the team of a workspace, from a commit on. Doing it again changes nothing. */
export async function startLine(site: Site, workspace: WorkspaceId, commit: string): Promise<void> {
  const { repository } = site
  const ref = lineRef(site, workspace)
  if ((await repository.read(ref)) !== undefined) return
  await repository.update([{ ref, to: commit, from: 'none' }])
}

export async function headOf(site: Site, into: WorkspaceId | undefined): Promise<string> {
  return (await site.repository.read(lineRef(site, into))) ?? lineStart(site, into)
}

function lineRef({ repository }: Site, into: WorkspaceId | undefined): string {
  return repository.ref(into === undefined ? 'head' : `lines/${into}`)
}

async function lineStart(site: Site, into: WorkspaceId | undefined): Promise<string> {
  if (into === undefined) return lastHead(site)
  throw new ParleyError('line_missing', `There is no line of merged work for ${into}.`)
}

type Merge = { readonly tree: string } | { readonly conflicts: readonly FileName[] }

async function mergedTree(site: Site, head: string, commit: string, way: MergeWay): Promise<Merge> {
  if (way.way === 'result') return { tree: await treeOf(site, way.commit) }
  if (way.way === 'overwrite') {
    const base = await site.contents.text(['merge-base', head, commit])
    const names = await namesBetween(site, base, commit)
    return { tree: await replaceFiles(site, await treeOf(site, head), names, commit) }
  }
  const { tree, conflicts } = await mergeTrees(site, head, commit)
  if (conflicts.length === 0) return { tree }
  if (way.way === 'merge') return { conflicts }
  return { tree: await replaceFiles(site, tree, conflicts, way.side === 'incoming' ? commit : head) }
}

/** With conflicts too there is a tree: the files in question have both versions between marks. */
async function mergeTrees({ contents }: Site, head: string, commit: string) {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', head, commit]
  const { code, stdout } = await contents.run(args, { codes: [0, 1] })
  const [tree, ...names] = splitNames(stdout)
  const conflicts = code === 0 ? [] : names.filter(name => name !== '')
  const strayed = await strayedLinks(contents, head, commit, tree!)
  return { tree: tree!, conflicts: [...new Set([...conflicts, ...strayed])] }
}

/** Links that only the merge lets lead outside, since one side moved what the other side changed. */
async function strayedLinks(contents: Contents, head: string, commit: string, tree: string) {
  const changed = (await changesBetween(contents, head, tree)).filter(({ link }) => link !== undefined)
  if (changed.length === 0) return []
  const own = await changesBetween(contents, commit, tree)
  const made = new Set(own.flatMap(({ name, link }) => (link === undefined ? [] : [name])))
  const links = changed.filter(({ name }) => made.has(name))
  const targets = await targetsOf(contents, [...new Set(links.map(({ link }) => link!))])
  const isOutside = ({ name, link }: NamedChange) => placeInside(name, targets.get(link!) ?? '') === undefined
  return links.filter(isOutside).map(({ name }) => name)
}
