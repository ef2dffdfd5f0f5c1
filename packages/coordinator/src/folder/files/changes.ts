// What differs between two commits: as a list of files, as text for people, and one file as it was. All of it bounded.
import { ParleyError } from '@parley/core'
import { given } from '../../given.ts'
import type { Contents } from '../contents.ts'
import type { ChangeKind, FileChange } from '../model.ts'
import { type FileName, joinNames, splitNames } from './file-name.ts'
import type { Scope } from './scope.ts'

export interface NamedChange {
  readonly name: FileName
  readonly from?: FileName
  readonly kind: ChangeKind
  /** Of a symbolic link: the id of its content, which is its target. */
  readonly link?: string
  readonly lines?: { readonly added: number; readonly removed: number }
}

const kinds: Readonly<Record<string, ChangeKind>> = {
  A: 'added',
  C: 'added',
  D: 'deleted',
  M: 'changed',
  T: 'changed',
  R: 'renamed',
}

/** Git's mode of a symbolic link. */
const LINK = '120000'

export async function changesBetween(contents: Contents, from: string, to: string): Promise<NamedChange[]> {
  const { stdout } = await contents.run(['diff-tree', '-r', '-z', '-M', '--no-abbrev', '--raw', '--numstat', from, to])
  return parseChanges(splitNames(stdout))
}

/** A record for every file, then the line counts in the same order. Names follow a record, or end a count. */
function parseChanges(fields: readonly FileName[]): NamedChange[] {
  const changes: { name: FileName; from?: FileName; kind: ChangeKind; link?: string }[] = []
  let next = 0
  while (fields[next]?.startsWith(':')) {
    const [, mode, , id, status] = fields[next]!.split(' ') as [string, string, string, string, string]
    const kind = kinds[status[0]!]
    if (kind === undefined) throw new ParleyError('git_failed', `git reported a change of kind ${status}.`)
    const moved = status[0] === 'R' || status[0] === 'C'
    const name = fields[next + (moved ? 2 : 1)]!
    const link = mode === LINK ? { link: id } : {}
    changes.push(kind === 'renamed' ? { name, from: fields[next + 1]!, kind, ...link } : { name, kind, ...link })
    next += moved ? 3 : 2
  }
  return changes.map(change => {
    const [, added, removed, name] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(fields[next]!)!
    next += name === '' ? 3 : 1
    return added === '-' ? change : { ...change, lines: { added: Number(added), removed: Number(removed) } }
  })
}

export function shownChange(scope: Scope, { name, from, kind, lines }: NamedChange): FileChange {
  return { path: scope.text(name), kind, ...given({ from: from && scope.text(from), lines }) }
}

export interface DiffOptions {
  readonly maxBytes: number
  /** With the content of files that are no text, as `git apply` wants it. */
  readonly binary?: boolean | undefined
}

/** The difference as text, at most so many bytes, cut at the end of a line. */
export async function diffText(
  contents: Contents,
  range: { readonly from: string; readonly to: string; readonly folder: string },
  { maxBytes, binary = false }: DiffOptions,
): Promise<string> {
  const relative = range.folder === '' ? [] : [`--relative=${range.folder}`]
  const how = binary ? ['--binary', ...relative] : relative
  const args = ['diff-tree', '-r', '-p', '-M', '--no-color', '--no-ext-diff', '--no-textconv', ...how]
  const { stdout, cut } = await contents.run([...args, range.from, range.to], { maxBytes, cut: true })
  if (!cut) return stdout.toString('utf8')
  const end = stdout.lastIndexOf('\n') + 1
  return `${stdout.subarray(0, end).toString('utf8')}[cut off after ${end} bytes: there is more]\n`
}

/** A file of a commit as text, its first bytes if it is longer; undefined if there is no such file. */
export async function fileText(
  contents: Contents,
  commit: string,
  name: FileName,
  maxBytes: number,
): Promise<string | undefined> {
  const headBytes = 256
  const { stdout } = await contents.run(['cat-file', '--batch', '-z'], {
    input: joinNames([`${commit}:${name}` as FileName]),
    maxBytes: maxBytes + headBytes,
    cut: true,
  })
  const [head, size] = /^[0-9a-f]+ blob (\d+)\n/.exec(stdout.subarray(0, headBytes).toString('latin1')) ?? []
  if (head === undefined) return undefined
  const end = head.length + Math.min(Number(size), maxBytes)
  return stdout.subarray(head.length, end).toString('utf8')
}
