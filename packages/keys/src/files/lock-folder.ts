// One process per folder. The lock is SQLite's, because the kernel releases it when a process dies, however it dies,
// and Node has no `flock` of its own (docs/decisions/0004-lock-by-sqlite.md). No data is in the file.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { err, ok, type Result } from '@parley/core'

export interface FolderLock {
  release(): void
}

export interface Held {
  /** Their process, as a hint for people; empty if unknown. */
  readonly owner: string
  readonly cause: unknown
}

/** Holds the folder until it is released or the process is gone. Throws where the folder cannot be written. */
export function lockFolder(folder: string): Result<FolderLock, Held> {
  const owner = join(folder, 'owner')
  const file = join(folder, 'lock')
  // A folder that cannot be written fails here, with the reason, and not inside SQLite.
  writeFileSync(owner, '', { flag: 'a', mode: 0o600 })
  // Nothing but SQLite may ever open the lock: closing any descriptor of it would give up the lock of the whole
  // process.
  const database = new DatabaseSync(file)
  try {
    chmodSync(file, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (!isBusy(cause)) throw cause
    return err({ owner: readOwner(owner), cause })
  }
  writeFileSync(owner, `${process.pid}\n`, { mode: 0o600 })
  return ok({
    release() {
      if (database.isOpen) database.close()
    },
  })
}

function readOwner(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

const SQLITE_BUSY = 5

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY
}
