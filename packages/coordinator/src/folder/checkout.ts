// The user's own checkout, where a result is applied: read as the user's git would, with hooks off. A step changes
// files and index together; the branch moves last, by compare-and-swap, so that a step can be completed or taken back.
import { lstat, readdir, readlink, realpath, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { type Clock, deadline, ParleyError, pause } from '@parley/core'
import { type FileName, foldersOf, joinNames, lossyText, nameText, splitNames } from './files/file-name.ts'
import { targetsOf } from './files/links.ts'
import { type GitAnswer, type GitCall, git, whileLocked } from './git/git.ts'
import { folderLimits } from './limits.ts'
import { locate } from './project.ts'

/** What git is in the middle of, by the file that says so. */
const UNFINISHED = {
  MERGE_HEAD: 'a merge',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
} as const

interface Person {
  readonly name: string
  readonly email: string
}

interface InTheWay {
  /** Changed files, and those that git does not know. */
  readonly changed: readonly string[]
  readonly ignored: readonly string[]
  /** Changed, and git was told not to look: skip-worktree or assume-unchanged. */
  readonly hidden: readonly string[]
}

export class Checkout {
  /** The top of the working tree. */
  readonly top: string
  /** Where the repository keeps what all its worktrees share. */
  readonly gitDir: string
  /** Where it keeps what belongs to this one. */
  readonly #own: string
  /** The branch that is checked out, as a ref; undefined where HEAD is detached. */
  readonly branch: string | undefined
  readonly head: string
  readonly #clock: Clock
  readonly #config: readonly string[]

  private constructor(
    places: {
      readonly top: string
      readonly gitDir: string
      readonly own: string
      readonly branch: string | undefined
      readonly head: string
    },
    clock: Clock,
    config: readonly string[],
  ) {
    this.top = places.top
    this.gitDir = places.gitDir
    this.#own = places.own
    this.branch = places.branch
    this.head = places.head
    this.#clock = clock
    this.#config = config
  }

  /** Throws `not_a_repository`, `bare_repository`, `repository_empty`, `repository_busy`. */
  static async open(folder: string, clock: Clock): Promise<Checkout> {
    const found = await lstat(folder).catch(() => undefined)
    const location = found && (await locate(folder, clock))
    if (!location) throw new ParleyError('not_a_repository', `${folder} is in no git repository.`)
    const line = async (args: readonly string[], codes = [0]) =>
      (await git({ cwd: folder, clock }, args, { codes })).stdout.toString('utf8').replace(/\n$/, '')
    const top = await realpath(await line(['rev-parse', '--path-format=absolute', '--show-toplevel']))
    const own = await line(['rev-parse', '--path-format=absolute', '--git-dir'])
    for (const [file, what] of Object.entries(UNFINISHED)) {
      if ((await lstat(join(own, file)).catch(() => undefined)) === undefined) continue
      throw new ParleyError('repository_busy', `${top} is in the middle of ${what}. Finish or abort it first.`)
    }
    const head = await line(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], [0, 1])
    if (head === '') throw new ParleyError('repository_empty', `The branch of ${top} has no commit yet.`)
    const branch = (await line(['symbolic-ref', '--quiet', 'HEAD'], [0, 1])) || undefined
    const { gitDir } = location
    return new Checkout({ top, gitDir, own, branch, head }, clock, await bytesAsTheUserWants(folder, clock))
  }

  /** The same place as it is now. */
  again(): Promise<Checkout> {
    return Checkout.open(this.top, this.#clock)
  }

  run(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    return git({ cwd: this.top, clock: this.#clock, config: this.#config }, args, call)
  }

  async text(args: readonly string[], call: GitCall = {}): Promise<string> {
    return (await this.run(args, call)).stdout.toString('utf8').trim()
  }

  tree(commit: string): Promise<string> {
    return this.text(['rev-parse', '--verify', `${commit}^{tree}`])
  }

  async has(commit: string): Promise<boolean> {
    return (await this.run(['cat-file', '-e', `${commit}^{commit}`], { codes: [0, 1, 128] })).code === 0
  }

  async isAncestor(commit: string, of: string): Promise<boolean> {
    if (!(await this.has(commit))) return false
    return (await this.run(['merge-base', '--is-ancestor', commit, of], { codes: [0, 1] })).code === 0
  }

  /** Whether a branch that was last seen elsewhere has it: others may have built on it. */
  async isPushed(commit: string): Promise<boolean> {
    return (await this.text(['for-each-ref', '--count=1', `--contains=${commit}`, 'refs/remotes'])) !== ''
  }

  /** The refs that have it. */
  async containing(commit: string): Promise<string[]> {
    return (await this.text(['for-each-ref', '--format=%(refname)', `--contains=${commit}`]))
      .split('\n')
      .filter(Boolean)
  }

  async between(from: string, to: string): Promise<FileName[]> {
    return splitNames((await this.run(['diff-tree', '-r', '-z', '--no-renames', '--name-only', from, to])).stdout)
  }

  /** The messages of the branch's commits since another one that contain one of some texts. */
  async messages(since: string, texts: readonly string[]): Promise<string[]> {
    const args = ['log', '-z', '--no-show-signature', '--format=%B', '--fixed-strings', `${since}..${this.head}`]
    return splitNames((await this.run([...args, ...texts.map(text => `--grep=${text}`)])).stdout).map(lossyText)
  }

  /** The tree of a three-way merge, or the files in which both sides do not fit together. */
  async merged(ours: string, theirs: string): Promise<{ readonly tree: string } | { readonly conflicts: string[] }> {
    const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
    const { code, stdout } = await this.run(args, { codes: [0, 1] })
    const [tree, ...names] = splitNames(stdout)
    if (code === 0) return { tree: tree! }
    return { conflicts: [...new Set(names.filter(name => name !== '').map(nameText))] }
  }

  /** The tree with the change from one commit to another on top of a third, or the files where it does not fit. */
  async replayed({ from, to, on }: { readonly from: string; readonly to: string; readonly on: string }) {
    // Git 2.38 has no option for the base of a merge: commits with the same trees have the base that is meant.
    const base = await this.draft(`${from}^{tree}`, [])
    return this.merged(await this.draft(`${on}^{tree}`, [base]), await this.draft(`${to}^{tree}`, [base]))
  }

  /** A commit in nobody's name, for git to compare with; on no branch. */
  async draft(tree: string, parents: readonly string[]): Promise<string> {
    return this.text(['commit-tree', tree, ...parents.flatMap(each => ['-p', each]), '-m', 'draft'])
  }

  /** In the user's name. Throws `no_identity`. */
  async commit(options: { readonly tree: string; readonly parents: readonly string[]; readonly message: string }) {
    const { name, email } = await this.#person()
    const env = {
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
    }
    const { tree, parents, message } = options
    return this.text(['commit-tree', tree, ...parents.flatMap(each => ['-p', each])], { env, input: message })
  }

  async #person(): Promise<Person> {
    const value = (key: string) => this.text(['config', '--get', key], { codes: [0, 1] })
    const [name, email] = [await value('user.name'), await value('user.email')]
    if (name !== '' && email !== '') return { name, email }
    throw new ParleyError(
      'no_identity',
      `Git does not know who commits in ${this.top}. Set it with "git config --global user.name NAME" and "git config --global user.email ADDRESS".`,
    )
  }

  /** What is where a step would write, and in no commit. */
  async inTheWay(from: string, to: string): Promise<InTheWay> {
    const names = new Set<string>(await this.between(from, to))
    if (names.size === 0) return { changed: [], ignored: [], hidden: [] }
    const status = [
      'status',
      '--porcelain=v1',
      '-z',
      '--no-renames',
      '--untracked-files=all',
      '--ignore-submodules=dirty',
    ]
    const told = splitNames((await this.run(status)).stdout).map(each => each.slice('XY '.length))
    const changed = new Set(told.filter(each => names.has(each) || [...names].some(name => overlaps(name, each))))
    const tracked = new Map(
      splitNames((await this.run(['ls-files', '-v', '-z'])).stdout).map(each => [each.slice(2), each[0]!]),
    )
    const ignored = new Set<string>()
    const hidden: string[] = []
    for (const name of names) {
      const tag = tracked.get(name)
      if (tag === undefined)
        for (const each of await this.#untracked(name, tracked)) if (!changed.has(each)) ignored.add(each)
      if (tag !== undefined && isHiding(tag) && (await this.#stat(name)) && !(await this.#isAt(name as FileName, from)))
        hidden.push(name)
    }
    return { changed: [...changed].map(nameText), ignored: [...ignored].map(nameText), hidden: hidden.map(nameText) }
  }

  /** What git does not know in the place of a file or of a folder that it is in. */
  async #untracked(name: string, tracked: ReadonlyMap<string, string>) {
    const found: string[] = []
    for (const place of [...foldersOf(name), name]) {
      if (tracked.has(place)) continue
      const there = await this.#stat(place)
      if (there && (place === name || !there.isDirectory())) found.push(place)
    }
    return found
  }

  /** When no git writes files and index any more: one that a dead node has started goes on by itself. */
  async idle(stopping: AbortSignal): Promise<void> {
    const lock = join(this.#own, 'index.lock')
    const until = deadline(this.#clock.now(), folderLimits.orphanMs)
    while (await lstat(lock).catch(() => undefined)) {
      if (stopping.aborted || this.#clock.now() >= until) {
        const message = `Another git program seems to be at work: ${lock} exists. Try again when it has ended.`
        throw new ParleyError('repository_locked', message, { retryable: true })
      }
      await pause(this.#clock, folderLimits.lockMostMs, stopping)
    }
  }

  /**
   * Brings files and index from one commit to another; what else is changed there stays as it is. Refuses before it
   * writes anything where that is not possible.
   */
  async move(from: string, to: string): Promise<void> {
    await this.run(['update-index', '-q', '--refresh'], { codes: [0, 1] })
    const args = ['read-tree', '-m', '-u', from, to]
    await whileLocked(this.#clock, () => this.run(args, { timeoutMs: folderLimits.checkoutMs }))
  }

  /** Takes back what was done of a move from one commit to another, except where HEAD has gone on from `head`. */
  async putBack(from: string, to: string, head: string): Promise<void> {
    const now = await this.text(['rev-parse', '--verify', 'HEAD^{commit}'])
    await this.settle(to, from, new Set(now === head ? [] : await this.between(head, now)))
  }

  /** After a move that was cut off or failed: whatever is at one end or the other goes to `to`. */
  async settle(from: string, to: string, except: ReadonlySet<FileName> = new Set()): Promise<void> {
    const inTo = await this.#entries(to)
    const inIndex = new Set<string>(splitNames((await this.run(['ls-files', '-z'])).stdout))
    const known: FileName[] = []
    for (const name of await this.between(from, to)) {
      if (except.has(name)) continue
      if (!(await this.#isAt(name, from)) && !(await this.#isAt(name, to))) continue
      if (inTo.has(name) || inIndex.has(name)) known.push(name)
      else await rm(join(this.top, lossyText(name)), { force: true })
    }
    if (known.length === 0) return
    const args = [
      'restore',
      `--source=${to}`,
      '--staged',
      '--worktree',
      '--pathspec-from-file=-',
      '--pathspec-file-nul',
    ]
    const call = { input: joinNames(known), timeoutMs: folderLimits.checkoutMs, env: { GIT_LITERAL_PATHSPECS: '1' } }
    await whileLocked(this.#clock, () => this.run(args, call))
  }

  async #entries(commit: string): Promise<ReadonlySet<string>> {
    return new Set(splitNames((await this.run(['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit])).stdout))
  }

  /** Whether the index has what a change from one commit to another came to. */
  async isStaged(from: string, to: string): Promise<boolean> {
    const names = new Set<string>(await this.between(from, to))
    const { stdout } = await this.run(['diff-index', '--cached', '-z', '--no-renames', '--name-only', to])
    return !splitNames(stdout).some(name => names.has(name))
  }

  async #isAt(name: FileName, commit: string): Promise<boolean> {
    const entry = splitNames(
      (await this.run(['ls-tree', '-z', '--full-tree', commit, '--', lossyText(name)])).stdout,
    )[0]
    const there = await this.#stat(name)
    if (entry === undefined || there === undefined) return entry === undefined && there === undefined
    if (!there.isFile()) return false
    const [, , id] = entry.split(/[ \t]/)
    return (await this.text(['hash-object', '--', join(this.top, lossyText(name))])) === id
  }

  #stat(name: string) {
    return lstat(join(this.top, lossyText(name))).catch(() => undefined)
  }

  /** False if the branch is not where it was. */
  async moveBranch(from: string, to: string, reason: string): Promise<boolean> {
    try {
      await whileLocked(this.#clock, () => this.run(['update-ref', '-m', reason, 'HEAD', to, from]))
      return true
    } catch (error) {
      if ((await this.again()).head !== from) return false
      throw error
    }
  }

  /** A file of a commit as text; undefined where there is none. */
  async file(commit: string, path: string): Promise<string | undefined> {
    const { code, stdout } = await this.run(['cat-file', 'blob', `${commit}:${path}`], { codes: [0, 128] })
    return code === 0 ? stdout.toString('utf8') : undefined
  }

  /** What the symbolic links of a commit or tree say. */
  async links(commit: string): Promise<ReadonlyMap<FileName, string>> {
    const lines = splitNames((await this.run(['ls-tree', '-r', '-z', '--full-tree', commit])).stdout)
    const found = lines.flatMap(line => {
      const [, id, name] = /^120000 blob ([0-9a-f]+)\t(.*)$/s.exec(line) ?? []
      return id === undefined ? [] : [[name as FileName, id] as const]
    })
    const targets = await targetsOf(this, [...new Set(found.map(([, id]) => id))])
    return new Map(found.map(([name, id]) => [name, targets.get(id) ?? '']))
  }

  /** Where git looks for the user's hooks, and what it finds there by links: what of that is below the top. */
  async hooks(): Promise<string[]> {
    const set = await configured(this.top, this.#clock, 'core.hooksPath')
    const own = join(await realpath(this.gitDir), 'hooks')
    const inside = (await readdir(own).catch(() => [])).map(each => join(own, each))
    const targets = await Promise.all([own, ...inside].map(each => linkTarget(each)))
    const places = [set?.replace(/^~(?=\/)/, homedir()), ...targets].filter(each => each !== undefined)
    const found: string[] = []
    for (const each of places) {
      const place = resolve(this.top, each)
      // By its words, for what is not there yet, and as it is.
      for (const path of [place, await realpath(place).catch(() => place)]) {
        const name = relative(this.top, path)
        if (name !== '..' && !name.startsWith('../') && !found.includes(name)) found.push(name)
      }
    }
    return found.filter(name => name !== '.git' && !name.startsWith('.git/'))
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  const target = await readlink(path).catch(() => undefined)
  return target === undefined ? undefined : resolve(dirname(path), target)
}

/** As `ls-files -v` has it: `S` for skip-worktree, a small letter for assume-unchanged. */
function isHiding(tag: string): boolean {
  return tag === 'S' || tag !== tag.toUpperCase()
}

/** One is a folder in the place of the other. */
function overlaps(one: string, other: string): boolean {
  return one.startsWith(`${other}/`) || other.startsWith(`${one}/`)
}

/** Line ends are as everywhere else in this checkout. */
async function bytesAsTheUserWants(cwd: string, clock: Clock): Promise<string[]> {
  const wanted = await configured(cwd, clock, 'core.autocrlf')
  return wanted === undefined ? [] : [`core.autocrlf=${wanted}`]
}

/** What the user's configuration says, not what this program always sets. */
async function configured(cwd: string, clock: Clock, key: string): Promise<string | undefined> {
  const args = ['config', '-z', '--show-origin', '--get-all', key]
  const fields = (await git({ cwd, clock }, args, { codes: [0, 1] })).stdout.toString('utf8').split('\0')
  let found: string | undefined
  for (let at = 0; at + 1 < fields.length; at += 2) if (!fields[at]!.startsWith('command line')) found = fields[at + 1]
  return found
}
