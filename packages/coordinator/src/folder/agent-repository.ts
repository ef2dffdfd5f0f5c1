// The git repository behind an agent's folder, made anew with it. It borrows the objects of the run's repository and
// has copies of the project's branches and tags. What an agent does with git reaches neither the project nor another
// agent.
import { appendFile, copyFile, cp, lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { removeAll } from './files/remove.ts'
import { identity } from './git/git.ts'
import type { Site } from './site.ts'

/** HEAD is detached at the commit; there is no remote, no hook and no index yet. */
export async function makeAgentRepository(site: Site, gitDir: string, commit: string): Promise<void> {
  const { contents, repository } = site
  const copied = (name: string) => [join(contents.gitDir, name), join(gitDir, name)] as const
  await mkdir(join(gitDir, 'objects', 'info'), { recursive: true, mode: 0o700 })
  await mkdir(join(gitDir, 'refs'))
  await writeFile(join(gitDir, 'objects', 'info', 'alternates'), alternates(join(repository.gitDir, 'objects')))
  // What git found out about the file system and the format of ids, and what is ignored.
  await copyFile(...copied('config'))
  await appendFile(join(gitDir, 'config'), configuration)
  await cp(...copied('info'), { recursive: true })
  await copyFile(...copied('shallow')).catch(ifMissing)
  await writeFile(join(gitDir, 'packed-refs'), await repository.projectRefs())
  await writeFile(join(gitDir, 'HEAD'), `${commit}\n`)
}

/** Bytes of files stay as they are. A commit needs an author, and no git may go on in the background after a turn. */
const configuration = `[core]
	bare = false
	logAllRefUpdates = true
	autocrlf = false
[user]
	name = ${identity.GIT_AUTHOR_NAME}
	email = ${identity.GIT_AUTHOR_EMAIL}
[gc]
	auto = 0
[maintenance]
	auto = false
`

/** One path in a line; only one with a line break needs git's quotes. */
function alternates(path: string): string {
  if (!path.includes('\n')) return `${path}\n`
  return `"${path.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"\n`
}

function ifMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

export function gitFile(gitDir: string): string {
  return `gitdir: ${gitDir}\n`
}

/** Whether the `.git` file of a folder leads where it must; if not it is written again. */
export async function mendGitFile(folder: string, gitDir: string): Promise<'whole' | 'mended'> {
  const file = join(folder, '.git')
  const found = await lstat(file).catch(() => undefined)
  if (found?.isFile() && (await readFile(file, 'utf8').catch(() => '')) === gitFile(gitDir)) return 'whole'
  await removeAll(file)
  await writeFile(file, gitFile(gitDir))
  return 'mended'
}
