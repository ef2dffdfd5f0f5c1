// Finding out what a project is: a folder of a git repository with commits, or any other folder. Reads only.
import { readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { type Clock, ParleyError } from '@parley/core'
import { splitNames } from './files/file-name.ts'
import { type GitPlace, git } from './git/git.ts'

export interface GitLocation {
  /** The folder, without symbolic links. */
  readonly path: string
  /** The same inside its repository; empty at its top. */
  readonly folder: string
  /** Where the repository keeps what all its worktrees share. */
  readonly gitDir: string
  readonly format: string
}

export type Project =
  | { readonly kind: 'copy'; readonly path: string }
  | (GitLocation & { readonly kind: 'git'; readonly head: string; readonly dirty: readonly string[] })

export async function findProject(project: string, clock: Clock): Promise<Project> {
  const path = await projectFolder(project)
  const location = await locate(path, clock)
  if (location === undefined) return { kind: 'copy', path }
  const place = { cwd: path, clock }
  const head = await resolve(place, 'HEAD^{commit}')
  if (head === undefined) {
    throw new ParleyError(
      'repository_empty',
      `The repository of ${path} has no commit yet, and a run starts from one. Make a first commit there ("git add" and "git commit"), then try again.`,
    )
  }
  const { folder } = location
  // A folder that its repository does not track, say below a home folder that is one: its files would be missing.
  if (folder !== '' && (await resolve(place, `HEAD:${folder}`)) === undefined) return { kind: 'copy', path }
  return { ...location, kind: 'git', head, dirty: await dirtyFiles(place) }
}

/** undefined if it is in no repository. */
export async function locate(path: string, clock: Clock): Promise<GitLocation | undefined> {
  const place = { cwd: path, clock }
  if (!(await isInRepository(place))) return undefined
  const gitDir = await line(place, ['rev-parse', '--path-format=absolute', '--git-common-dir'])
  const top = await line(place, ['rev-parse', '--path-format=absolute', '--show-toplevel'])
  return {
    path,
    folder: relative(await realpath(top), path),
    gitDir: await realpath(gitDir),
    format: await line(place, ['rev-parse', '--show-object-format']),
  }
}

/**
 * Tells of the folder of a run's project whether a folder belongs to it: the same repository, whichever checkout of it,
 * or exactly the folder of a project without one. A folder further up is another project.
 */
export async function inProject(folder: string, clock: Clock): Promise<(project: string) => Promise<boolean>> {
  const path = await realpath(folder).catch(() => folder)
  const own = await repositoryOf(path, clock)
  const known = new Map<string, Promise<boolean>>()
  const holds = async (project: string) => {
    return own === undefined ? project === path : (await repositoryOf(project, clock)) === own
  }
  return async project => {
    // A run without a project belongs to no folder.
    if (project === '') return false
    const found = known.get(project) ?? holds(project)
    known.set(project, found)
    return found
  }
}

/** Undefined where files are not tracked, and where nothing can be read. */
async function repositoryOf(path: string, clock: Clock): Promise<string | undefined> {
  try {
    const location = await locate(path, clock)
    if (location === undefined || location.folder === '') return location?.gitDir
    return (await resolve({ cwd: path, clock }, `HEAD:${location.folder}`)) && location.gitDir
  } catch {
    return undefined
  }
}

async function projectFolder(project: string): Promise<string> {
  const found = await stat(project).catch(() => undefined)
  if (found === undefined || !found.isDirectory() || !isAbsolute(project)) {
    const what = found === undefined ? 'does not exist' : 'is not the absolute path of a folder'
    throw new ParleyError('invalid_project', `${project} ${what}. Name the folder of the project.`)
  }
  return realpath(project)
}

async function isInRepository(place: GitPlace): Promise<boolean> {
  let said: string
  try {
    said = await line(place, ['rev-parse', '--is-inside-work-tree'])
  } catch (error) {
    const complaint = error instanceof ParleyError ? String(error.details.complaint ?? '') : ''
    if (/not a git repository/i.test(complaint)) return false
    if (/dubious ownership/i.test(complaint)) throw notTrusted(place.cwd, error)
    throw error
  }
  if (said === 'true') return true
  throw new ParleyError(
    'bare_repository',
    `${place.cwd} is a bare repository or the inside of one, without files to work on. Name a folder where a branch is checked out.`,
  )
}

function notTrusted(path: string, cause: unknown): ParleyError {
  return new ParleyError(
    'repository_not_trusted',
    `The repository of ${path} belongs to another user, so git does not read it. If you trust it, add it to git's safe.directory setting.`,
    { cause },
  )
}

async function resolve(place: GitPlace, name: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name]
  const answer = await git(place, args, { codes: [0, 1, 128] })
  return answer.code === 0 ? answer.stdout.toString('latin1').trim() : undefined
}

async function line(place: GitPlace, args: readonly string[]): Promise<string> {
  return (await git(place, args)).stdout.toString('utf8').replace(/\n$/, '')
}

/** Comparing contents may need filters, which are programs of the user's configuration: they are switched off. */
async function dirtyFiles(place: GitPlace): Promise<readonly string[]> {
  const config = await withoutFilters(place)
  const args = ['status', '--porcelain=v1', '-z', '--no-renames', '--ignore-submodules=dirty', '--', '.']
  const { stdout } = await git({ ...place, config }, args, { cut: true })
  // A file that was taken out of the index but not of the folder is told twice.
  return [...new Set(splitNames(stdout).map(line => line.slice('XY '.length)))]
}

async function withoutFilters(place: GitPlace): Promise<string[]> {
  const args = ['config', '-z', '--name-only', '--get-regexp', '^filter\\.']
  const keys = (await git(place, args, { codes: [0, 1] })).stdout.toString('utf8').split('\0')
  const drivers = new Set(keys.flatMap(key => /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1] ?? []))
  const off = ['clean=', 'smudge=', 'process=', 'required=false']
  return [...drivers].flatMap(name => off.map(setting => `filter.${name}.${setting}`))
}

/** What the user has git ignore besides the .gitignore files: for this repository, and everywhere. */
export async function ignoredByUser(path: string, gitDir: string | undefined, clock: Clock): Promise<string> {
  const args = ['config', '--type=path', '--get', 'core.excludesFile']
  const set = await git({ cwd: path, clock }, args, { codes: [0, 1] })
  const usual = join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'git', 'ignore')
  const everywhere = set.code === 0 ? set.stdout.toString('utf8').replace(/\n$/, '') : usual
  const files = [everywhere, ...(gitDir === undefined ? [] : [join(gitDir, 'info', 'exclude')])]
  const texts = await Promise.all(files.map(file => readFile(file, 'utf8').catch(() => '')))
  return texts.join('\n')
}
