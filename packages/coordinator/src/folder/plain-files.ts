// The files of a project that is no git repository, for a result that is taken over there: what a change from one
// commit to another means for them, file by file. A file is written only where it is as one of the two commits has it.
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readFile, readlink, rename, rmdir, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, ParleyError } from '@parley/core'
import { Contents } from './contents.ts'
import { type FileName, foldersOf, lossyText, nameText, splitNames } from './files/file-name.ts'
import { targetsOf } from './files/links.ts'
import { isReached } from './files/put-back.ts'
import { below, removeAll } from './files/remove.ts'
import { folderLimits } from './limits.ts'
import { places } from './site.ts'

/** A file of a commit or of the folder: git's mode and the id of its content. */
interface Entry {
  readonly mode: string
  readonly id: string
}

interface PlainChange {
  readonly name: FileName
  readonly from: Entry | undefined
  readonly to: Entry | undefined
}

const LINK = '120000'
const PROGRAM = '100755'

export class PlainFiles {
  /** The project's folder. */
  readonly top: string
  readonly #contents: Contents

  /** `home`: of the run, where the private repository of the copy is. Throws `work_gone`. */
  static async open(top: string, home: string, clock: Clock): Promise<PlainFiles> {
    const gitDir = places.git(home)
    if (!(await lstat(join(gitDir, 'HEAD')).catch(() => undefined)))
      throw new ParleyError('work_gone', `The copy of ${top} that the run worked on is gone: ${gitDir} is missing.`)
    if (!(await lstat(top).catch(() => undefined))?.isDirectory())
      throw new ParleyError('project_gone', `The project ${top} is not there any more.`)
    return new PlainFiles(top, new Contents({ gitDir, clock }))
  }

  private constructor(top: string, contents: Contents) {
    this.top = top
    this.#contents = contents
  }

  async changes(from: string, to: string): Promise<PlainChange[]> {
    const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', '--raw', from, to]
    const fields = splitNames((await this.#contents.run(args)).stdout)
    const entry = (mode: string, id: string) => (/^0+$/.test(mode) ? undefined : { mode, id })
    const found: PlainChange[] = []
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const [before, after, old, now] = fields[at]!.slice(1).split(' ') as [string, string, string, string]
      found.push({ name: fields[at + 1]!, from: entry(before, old), to: entry(after, now) })
    }
    return found
  }

  /** Which of them are still to be made, and which files are as neither commit has them. */
  async compare(changes: readonly PlainChange[]) {
    const open: PlainChange[] = []
    const foreign: FileName[] = []
    const gone = new Set<string>(changes.filter(({ to }) => !to).map(({ name }) => name))
    for (const change of changes) {
      const now = await this.#entryAt(change.name, gone)
      if (same(now, change.to)) continue
      if (same(now, change.from)) open.push(change)
      else foreign.push(change.name)
    }
    return { open, foreign }
  }

  /** Deletes first: a folder may come where a file was. */
  async write(changes: readonly PlainChange[]): Promise<void> {
    for (const { name, to } of changes) if (!to) await this.#remove(name)
    for (const { name, to } of changes) if (to) await this.#put(name, to)
  }

  /** What the symbolic links of a commit say, and a file of it as text: for what other programs run. */
  async links(commit: string): Promise<ReadonlyMap<FileName, string>> {
    const lines = splitNames((await this.#contents.run(['ls-tree', '-r', '-z', '--full-tree', commit])).stdout)
    const found = lines.flatMap(line => {
      const [, id, name] = /^120000 blob ([0-9a-f]+)\t(.*)$/s.exec(line) ?? []
      return id === undefined ? [] : [[name as FileName, id] as const]
    })
    const targets = await targetsOf(this.#contents, [...new Set(found.map(([, id]) => id))])
    return new Map(found.map(([name, id]) => [name, targets.get(id) ?? '']))
  }

  async file(commit: string, path: string): Promise<string | undefined> {
    const call = { codes: [0, 128] }
    const { code, stdout } = await this.#contents.run(['cat-file', 'blob', `${commit}:${path}`], call)
    return code === 0 ? stdout.toString('utf8') : undefined
  }

  /** No git is at work here. */
  hooks(): Promise<string[]> {
    return Promise.resolve([])
  }

  /** Undefined where nothing is; something that no commit can have is an entry that is like none. */
  async #entryAt(name: FileName, gone: ReadonlySet<string>): Promise<Entry | undefined> {
    if (!(await isReached(this.top, name))) {
      // A file that the change deletes makes room for the folder.
      const inTheWay = await this.#blocker(name)
      return inTheWay !== undefined && gone.has(inTheWay) ? undefined : UNLIKE
    }
    const path = below(this.top, name)
    const found = await lstat(path).catch(() => undefined)
    if (found === undefined) return undefined
    if (found.isSymbolicLink()) return { mode: LINK, id: blobId(await readlink(path, 'buffer')) }
    // An empty folder, or one whose files all go, makes room for a file.
    if (found.isDirectory()) return [...gone].some(each => each.startsWith(`${name}/`)) ? undefined : UNLIKE
    if (!found.isFile() || found.size > folderLimits.bytes) return UNLIKE
    return { mode: found.mode & 0o100 ? PROGRAM : '100644', id: blobId(await readFile(path)) }
  }

  async #blocker(name: FileName): Promise<string | undefined> {
    for (const each of foldersOf(name)) {
      const found = await lstat(below(this.top, each)).catch(() => undefined)
      if (found && !found.isDirectory()) return each
    }
    return undefined
  }

  async #remove(name: FileName): Promise<void> {
    if (!(await isReached(this.top, name))) return
    await unlink(below(this.top, name)).catch(ignoreMissing)
    for (const each of foldersOf(name).toReversed()) {
      try {
        await rmdir(below(this.top, each))
      } catch {
        return
      }
    }
  }

  /** The old file or the new one, whatever happens in between. */
  async #put(name: FileName, { mode, id }: Entry): Promise<void> {
    if (!(await isReached(this.top, name))) throw blocked(this.top, name)
    const path = below(this.top, name)
    const folder = path.subarray(0, path.lastIndexOf('/'))
    await mkdir(folder, { recursive: true })
    const fresh = Buffer.concat([folder, Buffer.from(`/.parley-${id.slice(0, folderLimits.branchIdLength)}.new`)])
    await removeAll(fresh)
    const { stdout } = await this.#contents.run(['cat-file', 'blob', id])
    if (mode === LINK) await symlink(stdout, fresh)
    else {
      const before = await lstat(path).catch(() => undefined)
      const kept = before?.isFile() ? before.mode & 0o666 : 0o644
      await writeFile(fresh, stdout, { flush: true })
      await chmod(fresh, mode === PROGRAM ? kept | ((kept & 0o444) >> 2) : kept)
    }
    // Refused where a folder with files is: nobody's work goes.
    await rmdir(path).catch(() => undefined)
    await rename(fresh, path)
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

const UNLIKE: Entry = { mode: '', id: '' }

function same(one: Entry | undefined, other: Entry | undefined): boolean {
  return one?.mode === other?.mode && one?.id === other?.id
}

/** As git names it; a copy always has the usual format. */
function blobId(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}

function blocked(top: string, name: FileName): ParleyError {
  return new ParleyError('folder_failed', `${nameText(name)} in ${top} is behind a link.`, {
    details: { file: lossyText(name) },
  })
}
