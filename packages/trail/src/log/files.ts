// The file layer under the log: the disk (disk-files.ts), or a faulty twin (testing/memory/faulty-files.ts).
// An entry point of keys that loads nothing else: the index's thread comes through here and starts in less than half
// the time.
export { writeWhole } from '@parley/keys/whole-file'

/** One open file. Writes go to the operating system at once; only `sync` makes them last. */
export interface LogFile {
  readonly size: number
  /** Puts all bytes at an offset, growing the file if need be. Throws a system error (`ENOSPC`, `EIO`, …). */
  write(data: Uint8Array, at: number): void
  /**
   * Resolves once everything written before the call would survive a power loss. After a rejection nothing written
   * since the last good sync may be trusted, whatever a later sync says.
   */
  sync(): Promise<void>
  /** Up to `length` bytes at an offset; fewer only at the end of the file. */
  read(at: number, length: number): Buffer
  truncate(size: number): void
  close(): void
}

/** What is only read can be read where nothing can be written. */
export type OpenMode = 'reading' | 'existing' | 'create'

/** A folder and what is below it, by relative paths with `/`. Changes of names last only after `syncFolder`. */
export interface Files {
  /** Opens for reading and writing, or for `reading` alone; `create` makes the file and fails if it is there. */
  open(path: string, how: OpenMode): LogFile
  /** Names in a folder in order of their code units; none when the folder is missing. */
  list(folder: string): string[]
  exists(path: string): boolean
  makeFolder(folder: string): void
  rename(from: string, to: string): void
  remove(path: string): void
  /** Removes a folder that is there and empty; nothing hangs on whether that lasts. */
  removeFolder(folder: string): void
  syncFolder(folder: string): Promise<void>
  free(): number
}

/** What the operating system said, such as `EIO`. */
export function isSystemError(cause: unknown): cause is NodeJS.ErrnoException & { readonly code: string } {
  return cause instanceof Error && 'code' in cause && /^E[A-Z]+$/.test(String(cause.code))
}

export function readWhole(files: Files, path: string): Buffer | undefined {
  return files.exists(path) ? readingFile(files, path, file => file.read(0, file.size)) : undefined
}

export function readingFile<Read>(files: Files, path: string, read: (file: LogFile) => Read): Read {
  const file = files.open(path, 'reading')
  try {
    return read(file)
  } finally {
    file.close()
  }
}
