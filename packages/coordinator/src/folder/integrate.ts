// Merging a commit into the run's head: a new tree, a new commit, and a compare-and-swap of the ref. Killed at any point it
// has either happened or not, and doing it again changes nothing.
import { ParleyError } from '@parley/core'
import { type FileName, splitNames } from './file-name.ts'
import { lastHead } from './finish.ts'
import { folderLimits } from './limits.ts'
import type { Integrated } from './model.ts'
import type { Site } from './site.ts'

export async function integrate(site: Site, commit: string, message: string): Promise<Integrated> {
  const { repository, contents, scope } = site
  const ref = repository.ref('head')
  for (let tried = 0; tried < folderLimits.integrateAttempts; tried++) {
    const stored = await repository.read(ref)
    const head = stored ?? (await lastHead(site))
    if (await contents.isAncestor(commit, head)) return { head, merged: false }
    const merged = await mergeTrees(site, head, commit)
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

type Merge = { readonly tree: string } | { readonly conflicts: readonly FileName[] }

async function mergeTrees({ contents }: Site, head: string, commit: string): Promise<Merge> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', head, commit]
  const { code, stdout } = await contents.run(args, { codes: [0, 1] })
  const [tree, ...names] = splitNames(stdout)
  if (code === 0) return { tree: tree! }
  return { conflicts: names.filter(name => name !== '') }
}
