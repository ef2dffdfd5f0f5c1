// Real repositories and folders that go away with their test, and a picture of a repository to compare with later.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import { onTestFinished } from 'vitest'
import { RunFolders } from '../run-folders.ts'

export const RUN = 'run_01kabcdefghjkmnpqrstvwxyz0' as RunId

export function ws(name: string): WorkspaceId {
  return `ws_${name}` as WorkspaceId
}

export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-folder-')))
  onTestFinished(() => {
    makeWritable(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  return folder
}

function makeWritable(folder: string): void {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  chmodSync(folder, 0o700)
  for (const name of readdirSync(folder)) makeWritable(join(folder, name))
}

const identity = ['-c', 'user.name=User', '-c', 'user.email=user@example.org', '-c', 'protocol.file.allow=always']

/** The user's own git: what it prints, without the last line break. */
export function userGit(cwd: string, ...args: string[]): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  return execFileSync('git', [...identity, ...args], {
    cwd,
    env: { ...env, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).replace(/\n$/, '')
}

export type Files = Readonly<Record<string, string>>

export function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

export const someFiles: Files = {
  'readme.md': 'one\ntwo\nthree\n',
  'src/main.ts': 'export {}\n',
  'src/deep/other.ts': 'other\n',
}

/** A repository with one commit on `main`. */
export function gitProject(files: Files = someFiles): string {
  const folder = join(temporaryFolder(), 'project')
  mkdirSync(folder)
  userGit(folder, 'init', '--quiet', '--initial-branch=main')
  write(folder, files)
  commitAll(folder, 'start')
  return folder
}

export function commitAll(folder: string, message: string): string {
  userGit(folder, 'add', '--all')
  userGit(folder, 'commit', '--quiet', '--no-verify', '--no-gpg-sign', '-m', message)
  return userGit(folder, 'rev-parse', 'HEAD')
}

export function plainProject(files: Files = someFiles): string {
  const folder = join(temporaryFolder(), 'project')
  mkdirSync(folder)
  write(folder, files)
  return folder
}

export interface Opened {
  readonly folders: RunFolders
  readonly home: string
}

export async function createFolders(project: string, run: RunId = RUN): Promise<Opened> {
  const home = join(temporaryFolder(), 'home')
  return { folders: unwrap(await RunFolders.create({ project, home, run })), home }
}

/** The folders of a run, with one workspace prepared at its head. */
export async function opened(project: string): Promise<Opened & { readonly base: string; readonly folder: string }> {
  const { folders, home } = await createFolders(project)
  return { folders, home, base: await folders.head(), folder: await prepared(folders) }
}

/** What an answer that refuses looks like. */
export function refusal(code: string) {
  return { ok: false, error: { code } }
}

/** A workspace with the run's head in it. */
export async function prepared(folders: RunFolders, name = 'one'): Promise<string> {
  return unwrap(await folders.prepare(ws(name), await folders.head()))
}

export async function captured(
  folders: RunFolders,
  name = 'one',
  options: { paths?: string[]; parent?: string; symlinks?: 'outside' } = {},
) {
  const { parent = await folders.head(), paths, symlinks } = options
  return unwrap(
    await folders.capture(ws(name), {
      parent,
      ...(paths && { paths }),
      ...(symlinks && { symlinks }),
      message: `work of ${name}\n`,
      author: 'worker',
    }),
  )
}

/**
 * Everything below a folder, as text that shows any difference: kinds, modes, links and contents. `.git` is left out.
 */
export function listing(folder: string, skip: readonly string[] = ['.git']): string[] {
  const lines: string[] = []
  const walk = (path: Buffer, shown: string) => {
    for (const entry of readdirSync(path, { encoding: 'buffer' }).sort(Buffer.compare)) {
      const name = shown + entry.toString('latin1')
      if (skip.includes(name)) continue
      const full = Buffer.concat([path, Buffer.from('/'), entry])
      const stats = lstatSync(full)
      if (stats.isDirectory()) walk(full, `${name}/`)
      else if (stats.isSymbolicLink()) lines.push(`${name} -> ${readlinkSync(full)}`)
      else lines.push(`${name} ${(stats.mode & 0o111) === 0 ? '-' : 'x'} ${hash(readFileSync(full))}`)
    }
  }
  walk(Buffer.from(folder), '')
  return lines
}

function hash(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 16)
}

/**
 * What the user has: checkout, index, branches, hooks, configuration. Refs and worktrees of runs are not part of it.
 */
export function picture(project: string): unknown {
  const gitDir = userGit(project, 'rev-parse', '--path-format=absolute', '--git-dir')
  const common = userGit(project, 'rev-parse', '--path-format=absolute', '--git-common-dir')
  const read = (file: string) => (existsSync(file) ? hash(readFileSync(file)) : 'none')
  const index = [read(join(gitDir, 'index')), lstatSync(join(gitDir, 'index')).mtimeMs]
  return {
    index,
    head: readFileSync(join(gitDir, 'HEAD'), 'utf8'),
    config: [read(join(common, 'config')), read(join(common, 'config.worktree'))],
    hooks: existsSync(join(common, 'hooks')) ? listing(join(common, 'hooks')) : [],
    files: listing(project),
    refs: userGit(project, 'for-each-ref', 'refs/heads', 'refs/tags', 'refs/remotes', 'refs/stash'),
    log: read(join(gitDir, 'logs', 'HEAD')),
    status: userGit(project, '--no-optional-locks', 'status', '--porcelain', '-z'),
  }
}

/** What of any run is left in a repository. */
export function traces(project: string): string[] {
  const common = userGit(project, 'rev-parse', '--path-format=absolute', '--git-common-dir')
  const worktrees = join(common, 'worktrees')
  return [
    ...userGit(project, 'for-each-ref', '--format=%(refname)', 'refs/parley').split('\n').filter(Boolean),
    ...(existsSync(worktrees) ? readdirSync(worktrees) : []),
    ...(existsSync(join(common, 'refs', 'parley')) ? ['refs/parley/'] : []),
  ]
}
