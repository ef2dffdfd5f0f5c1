// The repository that a run's commits live in: the user's own, or the private one of a copy. A run writes only refs
// below refs/parley/<run>/ and one branch at the end.
import { lstat, mkdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, ParleyError, type RunId } from '@parley/core'
import { removeAll } from './files/remove.ts'
import { type GitPlace, git, whileLocked } from './git/git.ts'
import { folderLimits } from './limits.ts'
import { inTurn } from './turns.ts'

interface RefChange {
  readonly ref: string
  /** undefined removes it. */
  readonly to: string | undefined
  /** What it must be now: a commit, or `none`. */
  readonly from?: string
}

/** Work of a run that is over and that its result does not have. */
export interface KeptCommit {
  /** Of its workspace. */
  readonly name: string
  readonly commit: string
}

const ZERO = '0'.repeat(40)

/** Where the branches of the user, those last seen elsewhere, and tags are. */
const projectRefs = ['refs/heads', 'refs/remotes', 'refs/tags']

export class Repository {
  readonly gitDir: string
  readonly #place: GitPlace
  readonly #prefix: string

  constructor(gitDir: string, options: { readonly run: RunId; readonly clock: Clock }) {
    this.gitDir = gitDir
    this.#prefix = `refs/parley/${options.run}/`
    this.#place = {
      cwd: gitDir,
      clock: options.clock,
      // The repository is named and trusted already, so that nothing of the user's other configuration is needed.
      env: { GIT_DIR: gitDir, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    }
  }

  keptRef(name: string): string {
    return this.ref(`kept/${name}`)
  }

  ref(name: string): string {
    return this.#prefix + name
  }

  /** Undefined where there is none. Git says the same of a ref that it cannot read, and work would be lost then. */
  async read(ref: string): Promise<string | undefined> {
    const found = await this.#find(ref)
    if (found !== undefined) return found
    if (!(await isFile(join(this.gitDir, ref)))) return undefined
    // It may have been made in between.
    const again = await this.#find(ref)
    if (again !== undefined) return again
    throw new ParleyError('git_failed', `The ref ${ref} of ${this.gitDir} is there and cannot be read.`)
  }

  async #find(ref: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]
    const { code, stdout } = await git(this.#place, args, { codes: [0, 1] })
    return code === 0 ? stdout.toString('latin1').trim() : undefined
  }

  async has(commit: string): Promise<boolean> {
    return (await this.read(commit)) !== undefined
  }

  async refs(): Promise<string[]> {
    const { stdout } = await git(this.#place, ['for-each-ref', '--format=%(refname)', this.#prefix])
    return stdout.toString('utf8').split('\n').filter(Boolean)
  }

  /** All refs that reach a commit. */
  async containing(commit: string): Promise<string[]> {
    const { stdout } = await git(this.#place, ['for-each-ref', '--format=%(refname)', `--contains=${commit}`])
    return stdout.toString('utf8').split('\n').filter(Boolean)
  }

  /** The project's branches and tags, in the form of git's packed-refs. */
  async projectRefs(): Promise<Buffer> {
    const args = ['for-each-ref', '--format=%(objectname) %(refname)', ...projectRefs]
    return (await git(this.#place, args)).stdout
  }

  /** All of them or none; false if one was not what it had to be. */
  update(changes: readonly RefChange[]): Promise<boolean> {
    if (changes.length === 0) return Promise.resolve(true)
    const input = changes.map(change => `${instruction(change)}\n`).join('')
    return inTurn(this.gitDir, async () => {
      try {
        await this.#unlocking(() => git(this.#place, ['update-ref', '--no-deref', '--stdin'], { input }))
        return true
      } catch (error) {
        if (await this.#holds(changes)) throw error
        return false
      }
    })
  }

  async #holds(changes: readonly RefChange[]): Promise<boolean> {
    for (const { ref, from } of changes) {
      if (from !== undefined && ((await this.read(ref)) ?? 'none') !== from) return false
    }
    return true
  }

  /** Only this process writes refs of this run: a lock that outlasts all attempts was left by a killed process. */
  async #unlocking<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await whileLocked(this.#place.clock, attempt)
      } catch (error) {
        const lock = error instanceof ParleyError ? error.details.lock : undefined
        const ours = typeof lock === 'string' && lock.startsWith(join(this.gitDir, this.#prefix))
        if (!ours || tried === folderLimits.captureAttempts) throw error
        await rm(lock, { force: true })
      }
    }
  }

  /** Branches that are checked out somewhere; moving one of them would make that checkout look changed. */
  async checkedOut(): Promise<ReadonlySet<string>> {
    const { stdout } = await git(this.#place, ['worktree', 'list', '--porcelain', '-z'])
    const lines = stdout.toString('utf8').split('\0')
    return new Set(lines.filter(line => line.startsWith('branch ')).map(line => line.slice('branch '.length)))
  }

  /** All refs of the run but those of work that is kept. */
  async clean(keep: readonly KeptCommit[] = []): Promise<void> {
    const kept = new Map(keep.map(({ name, commit }) => [this.keptRef(name), commit]))
    const gone = (await this.refs()).filter(ref => !kept.has(ref)).map(ref => ({ ref, to: undefined }))
    await this.update([...[...kept].map(([ref, to]) => ({ ref, to })), ...gone])
    if (kept.size > 0) return
    // What is left there are locks of killed processes.
    await removeAll(join(this.gitDir, this.#prefix))
    await rmdir(join(this.gitDir, 'refs', 'parley')).catch(() => {})
  }
}

function instruction({ ref, to, from }: RefChange): string {
  const old = from === undefined ? '' : ` ${from === 'none' ? ZERO.padEnd(to?.length ?? 0, '0') : from}`
  return to === undefined ? `delete ${ref}${old}` : `update ${ref} ${to}${old}`
}

export async function privateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}

/** A folder in a ref's place holds other refs; a ref in the place of one of its folders leaves no room for it. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}
