// The repository that a run's commits live in: the user's own, or the private one of a copy. Only refs below
// refs/parley/<run>/, one branch at the end and the entries of our own worktrees are ever written there.
import { mkdir, readdir, readFile, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, ParleyError, type RunId } from '@parley/core'
import { type GitPlace, git, whileLocked } from './git.ts'
import { folderLimits } from './limits.ts'
import { removeAll } from './remove.ts'
import { inTurn } from './turns.ts'

export interface RefChange {
  readonly ref: string
  /** undefined removes it. */
  readonly to: string | undefined
  /** What it must be now: a commit, or `none`. */
  readonly from?: string
}

interface WorktreeEntry {
  readonly name: string
  /** The folder under `worktrees/` where git keeps the entry. */
  readonly admin: string
  /** The folder that it is about; undefined if git was killed before it could say so. */
  readonly folder: string | undefined
}

const ZERO = '0'.repeat(40)

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

  /** The full name of a ref of this run. */
  ref(name: string): string {
    return this.#prefix + name
  }

  async read(ref: string): Promise<string | undefined> {
    const { code, stdout } = await git(this.#place, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], {
      codes: [0, 1],
    })
    return code === 0 ? stdout.toString('latin1').trim() : undefined
  }

  async has(commit: string): Promise<boolean> {
    return (await this.read(commit)) !== undefined
  }

  /** Every ref of this run. */
  async refs(): Promise<string[]> {
    const { stdout } = await git(this.#place, ['for-each-ref', '--format=%(refname)', this.#prefix])
    return stdout.toString('utf8').split('\n').filter(Boolean)
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

  /**
   * A lock on a ref of this run that outlasts all attempts was left by a process that was killed: only this process writes
   * them.
   */
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

  /** Makes a worktree without files, its HEAD at the commit; answers with the folder where git keeps its entry. */
  addWorktree(folder: string, commit: string): Promise<string> {
    return inTurn(this.gitDir, async () => {
      const args = ['worktree', 'add', '--quiet', '--detach', '--no-checkout', folder, commit]
      await whileLocked(this.#place.clock, () => git(this.#place, args))
      const admin = /^gitdir: (.+)\n$/s.exec(await readFile(join(folder, '.git'), 'utf8'))?.[1]
      if (admin === undefined) throw new ParleyError('git_failed', `git made no worktree in ${folder}.`)
      // Git takes over the user's choice of a part of the files; agents get all of them.
      await rm(join(admin, 'info', 'sparse-checkout'), { force: true })
      return admin
    })
  }

  /** After a worktree's folder was moved. */
  async moveWorktree(admin: string, folder: string): Promise<void> {
    const file = join(admin, 'gitdir')
    await writeFile(`${file}.new`, `${join(folder, '.git')}\n`)
    await rename(`${file}.new`, file)
  }

  async worktreeOf(folder: string): Promise<string | undefined> {
    return (await this.#worktrees()).find(each => each.folder === folder)?.admin
  }

  /** Forgets worktrees, half made ones too. Their folders are not touched. */
  dropWorktrees(ours: (entry: { name: string; folder: string | undefined }) => boolean): Promise<void> {
    return inTurn(this.gitDir, async () => {
      const entries = await this.#worktrees()
      const dropped = entries.filter(ours)
      for (const { admin } of dropped) await removeEntry(admin)
      if (dropped.length === entries.length) await rmdir(join(this.gitDir, 'worktrees')).catch(() => {})
    })
  }

  async #worktrees(): Promise<WorktreeEntry[]> {
    const parent = join(this.gitDir, 'worktrees')
    const names = await readdir(parent).catch(() => [])
    return Promise.all(
      names.map(async name => {
        const admin = join(parent, name)
        const file = await readFile(join(admin, 'gitdir'), 'utf8').catch(() => '')
        return { name, admin, folder: /^(.+)\/\.git\n?$/s.exec(file)?.[1] }
      }),
    )
  }

  /** Branches that are checked out somewhere; moving one of them would make that checkout look changed. */
  async checkedOut(): Promise<ReadonlySet<string>> {
    const { stdout } = await git(this.#place, ['worktree', 'list', '--porcelain', '-z'])
    const lines = stdout.toString('utf8').split('\0')
    return new Set(lines.filter(line => line.startsWith('branch ')).map(line => line.slice('branch '.length)))
  }

  /** Removes every ref of this run. */
  async clean(): Promise<void> {
    await this.update((await this.refs()).map(ref => ({ ref, to: undefined })))
    // What is left there are locks of killed processes.
    await removeAll(join(this.gitDir, this.#prefix))
    await rmdir(join(this.gitDir, 'refs', 'parley')).catch(() => {})
  }
}

function instruction({ ref, to, from }: RefChange): string {
  const old = from === undefined ? '' : ` ${from === 'none' ? ZERO.padEnd(to?.length ?? 0, '0') : from}`
  return to === undefined ? `delete ${ref}${old}` : `update ${ref} ${to}${old}`
}

/** What says whose it is goes last, so that the rest is found again after a kill. */
async function removeEntry(admin: string): Promise<void> {
  for (const name of await readdir(admin).catch(() => [])) {
    if (name !== 'gitdir') await removeAll(join(admin, name))
  }
  await unlink(join(admin, 'gitdir')).catch(() => {})
  await removeAll(admin)
}

/** A folder that only its owner can read. */
export async function privateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
}
