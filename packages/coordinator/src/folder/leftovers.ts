// What a run that is over has left in the repository: its branch, and commits that were kept beside it.
import type { Repository } from './repository.ts'
import type { Site } from './site.ts'

export interface Leftover {
  readonly ref: string
  readonly commit: string
  readonly checkedOut: boolean
  /** It is not where the run left it. */
  readonly moved: boolean
  /** Another ref, which is not of this run, has its commits. */
  readonly reached: boolean
}

/** `branch`: the one that got the result, which was left at `head`. */
export async function leftovers(
  { facts, repository }: Site,
  branch: string | undefined,
  head: string,
): Promise<Leftover[]> {
  // The copy of a project that is no repository goes with its folder.
  if (facts.kind === 'copy') return []
  const checkedOut = await repository.checkedOut()
  const own = [...(branch === undefined ? [] : [`refs/heads/${branch}`]), ...(await repository.refs())]
  const found: Leftover[] = []
  for (const ref of own) {
    const commit = await repository.read(ref)
    if (commit === undefined) continue
    const moved = ref === own[0] && branch !== undefined && commit !== head
    const reached = await isReached(repository, commit, own)
    found.push({ ref, commit, checkedOut: checkedOut.has(ref), moved, reached })
  }
  return found
}

async function isReached(repository: Repository, commit: string, own: readonly string[]): Promise<boolean> {
  return (await repository.containing(commit)).some(ref => !own.includes(ref))
}
