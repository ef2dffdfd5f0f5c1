// What a run that is over has left in the repository: its branch, and commits that were kept beside it.
import type { Repository } from './repository.ts'
import type { Site } from './site.ts'

export interface Leftover {
  readonly ref: string
  readonly commit: string
  readonly checkedOut: boolean
  /** It is not where the run left it. */
  readonly moved: boolean
  /** Another ref, which is not of this run, has its commits, or the commit that holds the same as all of them. */
  readonly reached: boolean
}

/** A commit of the user's that holds what a commit of the run does. */
export interface StandIn {
  readonly of: string
  readonly commit: string
}

interface Left {
  /** The one that got the result, which was left at `head`. */
  readonly branch: string | undefined
  readonly head: string
  readonly standIns: readonly StandIn[]
}

export async function leftovers({ facts, repository }: Site, { branch, head, standIns }: Left): Promise<Leftover[]> {
  // The copy of a project that is no repository goes with its folder.
  if (facts.kind === 'copy') return []
  const checkedOut = await repository.checkedOut()
  const own = [...(branch === undefined ? [] : [`refs/heads/${branch}`]), ...(await repository.refs())]
  const found: Leftover[] = []
  for (const ref of own) {
    const commit = await repository.read(ref)
    if (commit === undefined) continue
    const moved = ref === own[0] && branch !== undefined && commit !== head
    const same = standIns.filter(({ of }) => of === commit).map(each => each.commit)
    const reached = await isAnyReached(repository, [commit, ...same], own)
    found.push({ ref, commit, checkedOut: checkedOut.has(ref), moved, reached })
  }
  return found
}

async function isAnyReached(repository: Repository, commits: readonly string[], own: readonly string[]) {
  for (const commit of commits) if (await isReached(repository, commit, own)) return true
  return false
}

async function isReached(repository: Repository, commit: string, own: readonly string[]): Promise<boolean> {
  if (!(await repository.has(commit))) return false
  return (await repository.containing(commit)).some(ref => !own.includes(ref))
}
