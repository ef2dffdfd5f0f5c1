// The end of a run: its folders are removed, its result becomes a branch of the user's repository or a folder in the
// run's home. All of it can be repeated.
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compile, ParleyError, Type } from '@parley/core'
import { removeAll } from './files/remove.ts'
import { folderLimits } from './limits.ts'
import type { Finished } from './model.ts'
import { privateFolder } from './repository.ts'
import { places, type Site } from './site.ts'
import { dropAll } from './worktree.ts'

const finishedFile = compile(
  Type.Object({
    head: Type.String(),
    branch: Type.Optional(Type.String()),
    folder: Type.Optional(Type.String()),
  }),
)

export async function finish(site: Site): Promise<Finished> {
  const { home, facts, repository } = site
  await dropAll(site)
  const stored = await repository.read(repository.ref('head'))
  const before = await readFinished(home)
  // Cleaned away already: what was said then still holds.
  if (stored === undefined && before !== undefined) return before
  const head = stored ?? facts.base
  const finished = facts.kind === 'git' ? await makeBranch(site, head, before?.head) : await makeFolder(site, head)
  const file = places.finished(home)
  await writeFile(`${file}.new`, `${JSON.stringify(finished)}\n`, { flush: true, mode: 0o600 })
  await rename(`${file}.new`, file)
  return finished
}

/** The head where no ref tells it: as it was when the run was finished, or the start. */
export async function lastHead({ home, facts }: Site): Promise<string> {
  return (await readFinished(home))?.head ?? facts.base
}

/** What `finish` wrote. An unreadable file is an error, not a missing one: its result would be lost. */
export async function readFinished(home: string): Promise<Finished | undefined> {
  const file = places.finished(home)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const value: unknown = JSON.parse(text)
  return finishedFile.is(value) ? value : undefined
}

/** `before`: where an earlier end left the branch. */
async function makeBranch(site: Site, head: string, before: string | undefined): Promise<Finished> {
  const { repository, facts } = site
  if (head === facts.base) return { head }
  const ours = repository.ref('branch')
  const made = (await repository.read(ours)) ?? before
  const checkedOut = await repository.checkedOut()
  for (let number = 1; number <= folderLimits.branchNames; number++) {
    const branch = number === 1 ? facts.branchName : `${facts.branchName}-${number}`
    const ref = `refs/heads/${branch}`
    const now = await repository.read(ref)
    if (now === head) return { head, branch }
    // Only a branch that still is where this run left it, and that nobody looks at, is moved on.
    const free = now === undefined || (now === made && !checkedOut.has(ref))
    const changes = [
      { ref, to: head, from: now ?? 'none' },
      { ref: ours, to: head },
    ]
    if (free && (await repository.update(changes))) return { head, branch }
  }
  throw new ParleyError(
    'branch_taken',
    `No branch could be made for the result ${head}: ${facts.branchName} and ${folderLimits.branchNames - 1} names like it are taken. The result can be had with "git branch <name> ${head}".`,
  )
}

async function makeFolder({ home, contents, repository, facts }: Site, head: string): Promise<Finished> {
  // As with a branch. Whoever only answers a question must not leave a copy of the project each time.
  if (head === facts.base) return { head }
  const folder = places.result(home)
  const ref = repository.ref('result')
  const made = await repository.read(ref)
  if (made === head && existsSync(folder)) return { head, folder }
  const making = join(places.making(home), '.result')
  await privateFolder(making)
  const fresh = await mkdtemp(`${making}/`)
  await contents.fill({ folder: fresh, index: `${fresh}.index` }, head)
  // Somebody may have worked in an older result: it is set aside.
  if (existsSync(folder)) {
    const aside = `${folder}-${made?.slice(0, folderLimits.branchIdLength) ?? 'before'}`
    await removeAll(aside)
    await rename(folder, aside)
  }
  // The ref comes before the folder, so that both together mean that the folder is whole.
  await repository.update([{ ref, to: head }])
  await rename(fresh, folder)
  await removeAll(places.making(home))
  return { head, folder }
}
