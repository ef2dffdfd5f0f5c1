// Git on files and trees, with a git folder of our own in the run's home. For a copy it is the repository; for a git
// project it borrows the user's objects. No filter, driver, hook or monitor of the user or an agent is run.
import { copyFile, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, harmless, ParleyError } from '@parley/core'
import { removeAll } from './files/remove.ts'
import { type GitAnswer, type GitCall, git } from './git/git.ts'
import { folderLimits } from './limits.ts'

interface ContentsOptions {
  readonly gitDir: string
  /** Of a git project: where the user's repository keeps its objects. */
  readonly objects?: string
  readonly clock: Clock
}

/** A folder with files, and the index that goes with it. */
export interface Tree {
  readonly folder: string
  readonly index: string
}

interface CommitOptions {
  readonly tree: string
  readonly parents: readonly string[]
  readonly message: string
  readonly author?: string
  /** Seconds since 1970. */
  readonly date: number
}

export class Contents {
  readonly gitDir: string
  readonly #options: ContentsOptions

  constructor(options: ContentsOptions) {
    this.gitDir = options.gitDir
    this.#options = options
  }

  static async create(
    options: ContentsOptions,
    made: { readonly format: string; readonly exclude: string; readonly attributes: string; readonly shallow?: Buffer },
  ): Promise<Contents> {
    const { gitDir, clock } = options
    await removeAll(gitDir)
    await mkdir(gitDir, { recursive: true, mode: 0o700 })
    const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${made.format}`, '.']
    await git({ cwd: gitDir, clock, env: ownConfiguration }, init)
    await mkdir(join(gitDir, 'info'), { recursive: true })
    await writeFile(join(gitDir, 'info', 'exclude'), made.exclude)
    await writeFile(join(gitDir, 'info', 'attributes'), made.attributes)
    if (made.shallow !== undefined) await writeFile(join(gitDir, 'shallow'), made.shallow)
    return new Contents(options)
  }

  run(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    return this.#run(this.gitDir, args, call)
  }

  /** With a folder as git's working tree. */
  runOn({ folder, index }: Tree, args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    // Started there: from a place inside it, git would see nothing but that place.
    return this.#run(folder, args, { ...call, env: { GIT_WORK_TREE: folder, GIT_INDEX_FILE: index } })
  }

  #run(cwd: string, args: readonly string[], call: GitCall): Promise<GitAnswer> {
    const { objects, clock } = this.#options
    const env = {
      ...ownConfiguration,
      GIT_DIR: this.gitDir,
      ...(objects !== undefined && { GIT_OBJECT_DIRECTORY: objects }),
    }
    return git({ cwd, clock, env, config: ownFiles }, args, call)
  }

  async text(args: readonly string[], call: GitCall = {}): Promise<string> {
    return (await this.run(args, call)).stdout.toString('utf8').trim()
  }

  /** With the files of a commit or a tree. */
  async fill(tree: Tree, commit: string): Promise<void> {
    await rm(tree.index, { force: true })
    const timeoutMs = folderLimits.checkoutMs
    await this.runOn(tree, ['read-tree', '--reset', '-u', `${commit}^{tree}`], { timeoutMs })
  }

  async writeTree(tree: Tree): Promise<string> {
    return (await this.runOn(tree, ['write-tree'])).stdout.toString('latin1').trim()
  }

  /** The same options give the same id. */
  async commit({ tree, parents, message, author, date }: CommitOptions): Promise<string> {
    const name = authorName(author)
    const when = `@${date} +0000`
    return this.text(['commit-tree', tree, ...parents.flatMap(parent => ['-p', parent])], {
      input: harmless(message).slice(0, folderLimits.messageLength),
      env: {
        GIT_AUTHOR_DATE: when,
        GIT_COMMITTER_DATE: when,
        ...(name !== undefined && { GIT_AUTHOR_NAME: name }),
      },
    })
  }

  /** When a commit was made, in seconds since 1970. */
  async dateOf(commit: string): Promise<number> {
    const raw = (await this.run(['cat-file', 'commit', commit])).stdout.toString('latin1')
    const date = /^committer .*> (\d+) [+-]\d+$/m.exec(raw)?.[1]
    if (date === undefined) throw new ParleyError('git_failed', `The commit ${commit} has no date.`)
    return Number(date)
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    return (await this.run(['merge-base', '--is-ancestor', commit, of], { codes: [0, 1] })).code === 0
  }
}

const ownConfiguration = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
}

/** Git would look for these in the user's home. */
const ownFiles = ['core.excludesFile=', 'core.attributesFile=']

/** Git refuses an author whose name has nothing but punctuation. */
function authorName(author: string | undefined): string | undefined {
  const name = author
    ?.replace(/[\p{C}<>]/gu, ' ')
    .trim()
    .slice(0, folderLimits.authorLength)
  return name !== undefined && /[\p{L}\p{N}]/u.test(name) ? name : undefined
}

/** With its date, rounded down: git takes a file with a later date than the index for possibly changed. */
export async function copyIndex(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  const second = Math.floor((await stat(from)).mtimeMs / 1000)
  await utimes(to, second, second)
}
