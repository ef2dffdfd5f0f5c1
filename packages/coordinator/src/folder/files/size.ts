// How large a set of files is, and which folders make it so: what an error about too much names.
import { ParleyError } from '@parley/core'
import { folderLimits } from '../limits.ts'
import { foldersOf, nameText } from './file-name.ts'

export interface SizedFile {
  readonly name: string
  readonly bytes: number
}

interface Sized {
  readonly code: string
  readonly of: string
  readonly more: boolean
  readonly advice?: string
}

/** Refuses more files or bytes than the limits allow. `more` means that the list is not complete. */
export function requireSize(files: readonly SizedFile[], what: Sized): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const { advice = 'List what is not needed in a .gitignore file there, then try again.' } = what
  const tooMany = files.length > folderLimits.files || what.more
  if (!tooMany && bytes <= folderLimits.bytes) return
  const folders = largestFolders(files, tooMany ? 'files' : 'bytes')
  const size = tooMany
    ? `more than ${folderLimits.files} files`
    : `${megabytes(bytes)}, and ${megabytes(folderLimits.bytes)} are the limit`
  const names = folders.map(each => `${nameText(each.folder)}/ (${each.files} files, ${megabytes(each.bytes)})`)
  const largest = names.length === 0 ? '' : ` The largest folders are ${names.join(', ')}.`
  throw new ParleyError(what.code, `${what.of} ${tooMany ? 'has' : 'holds'} ${size}.${largest} ${advice}`, {
    details: { files: files.length, bytes, folders: folders.map(each => nameText(each.folder)) },
  })
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 1 : 0)} MiB`
}

interface FolderSize {
  readonly folder: string
  files: number
  bytes: number
}

/** The folders that hold the most; one that holds little besides another that is named is not. */
export function largestFolders(files: readonly SizedFile[], by: 'files' | 'bytes'): FolderSize[] {
  const sizes = new Map<string, FolderSize>()
  for (const { name, bytes } of files) {
    for (const folder of foldersOf(name).slice(0, folderLimits.folderDepth)) {
      const size = sizes.get(folder) ?? { folder, files: 0, bytes: 0 }
      size.files++
      size.bytes += bytes
      sizes.set(folder, size)
    }
  }
  const ordered = [...sizes.values()].sort((one, other) => other[by] - one[by])
  const named: FolderSize[] = []
  for (const size of ordered) {
    const inside = ordered.some(each => each.folder.startsWith(`${size.folder}/`) && isMost(each[by], size[by]))
    const covered = named.some(each => size.folder.startsWith(`${each.folder}/`))
    if (!inside && !covered) named.push(size)
    if (named.length === folderLimits.namedFolders) break
  }
  return named
}

/** A node_modules has its share in many folders; a `packages` with one large folder in it only leads there. */
function isMost(part: number, whole: number): boolean {
  return part > whole * 0.8
}
