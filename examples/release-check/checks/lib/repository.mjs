// The repository that is looked at, through the `git` program. Nothing here changes it, runs its hooks or reaches the
// network.
import { spawnSync } from 'node:child_process'
import { limits } from './limits.mjs'

/** The check could not be made: said to the user as it is, and the process ends with 1. */
export class CannotCheck extends Error {}

/** The files of the check itself: a run puts them into the history before later checks look at it. */
const OWN = /^(?:release-report\/|RELEASE-REPORT\.md$)/
export const isOwnFile = path => OWN.test(path)

/** A user's settings may colour, sign, page or filter; none of that is wanted here. */
const settings = {
  'color.ui': 'false',
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.quotePath': 'false',
  'diff.mnemonicPrefix': 'false',
  'diff.noprefix': 'false',
  'log.showSignature': 'false',
}

export function gitArguments(args) {
  return ['--no-pager', ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]), ...args]
}

export function gitEnvironment() {
  const env = {
    ...process.env,
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
  }
  // Set by git for hooks and aliases; they would make every command look at another repository.
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']) delete env[name]
  return env
}

/** What git prints, or undefined where it says no (no tag, no such file). */
export function tryGit(args, cwd = process.cwd()) {
  const { status, stdout, error } = spawnSync('git', gitArguments(args), {
    cwd,
    env: gitEnvironment(),
    encoding: 'utf8',
    maxBuffer: limits.commandBytes,
    timeout: limits.commandMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (error?.code === 'ENOENT') throw new CannotCheck('git is not installed or not on PATH.')
  return status === 0 ? stdout : undefined
}

export function git(...args) {
  const output = tryGit(args)
  if (output === undefined) throw new CannotCheck(`git ${args[0]} failed in ${process.cwd()}.`)
  return output
}

/**
 * `commit` is what is to be released: the latest commit that changed anything but this check's own report. Paths are
 * relative to the current folder, which may be a subfolder of the repository.
 */
export function openRepository() {
  const top = tryGit(['rev-parse', '--show-toplevel'])?.trim()
  if (!top)
    throw new CannotCheck(`${process.cwd()} is not in a git repository. Run this in the folder of a git project.`)
  const head = tryGit(['rev-parse', '--verify', 'HEAD^{commit}'])?.trim()
  if (!head) throw new CannotCheck('The repository has no commit yet. Commit something first.')
  const commit = withoutReports(head)
  return {
    top,
    commit,
    short: commit.slice(0, 10),
    shallow: git('rev-parse', '--is-shallow-repository').trim() === 'true',
    /** The newest tag before or at the commit, if there is one. */
    tag: tryGit(['describe', '--tags', '--abbrev=0', commit])?.trim(),
    /** Every tracked file below this folder: path and bytes. Submodules have no bytes of their own. */
    files: filesOf(commit),
  }
}

function withoutReports(head) {
  let commit = head
  for (let step = 0; step < 64; step++) {
    const parent = tryGit(['rev-parse', '--verify', '--quiet', `${commit}^1`])?.trim()
    if (!parent) return commit
    const changed = git('diff-tree', '-r', '-z', '--name-only', '--relative', parent, commit)
      .split('\0')
      .filter(Boolean)
    if (changed.length === 0 || !changed.every(isOwnFile)) return commit
    commit = parent
  }
  return commit
}

export function filesOf(commit) {
  return git('ls-tree', '-r', '-l', '-z', commit)
    .split('\0')
    .filter(Boolean)
    .map(entry => {
      const [meta, path] = [entry.slice(0, entry.indexOf('\t')), entry.slice(entry.indexOf('\t') + 1)]
      const [mode, type, , size] = meta.split(/ +/)
      return { path, bytes: type === 'blob' ? Number(size) : 0, kind: mode === '120000' ? 'link' : type }
    })
    .filter(file => !isOwnFile(file.path))
}
