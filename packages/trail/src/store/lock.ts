// One process per trail. The lock is SQLite's, because the kernel releases it when a process dies, however it dies,
// and Node has no `flock` of its own (docs/decisions/0004-lock-by-sqlite.md). No data is in the file.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ParleyError } from '@parley/core'

export interface FolderLock {
  /** Gives the lock up; safe to repeat. */
  release(): void
}

export function lockFolder(folder: string): FolderLock {
  const owner = join(folder, 'owner')
  const file = join(folder, 'lock')
  // A folder that cannot be written fails here, with the reason, and not inside SQLite.
  writeFileSync(owner, '', { flag: 'a', mode: 0o600 })
  // Nothing but SQLite may ever open the lock: closing any descriptor of it would give up the lock of the whole process.
  const database = new DatabaseSync(file)
  try {
    chmodSync(file, 0o600)
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (!isBusy(cause)) throw cause
    const who = readOwner(owner)
    throw new ParleyError(
      'trail_in_use',
      `The trail in ${folder} is in use by another process${who}. Only one process may write a trail; use that one, or stop it first.`,
      { details: { folder }, cause },
    )
  }
  writeFileSync(owner, `${process.pid}\n`, { mode: 0o600 })
  return {
    release() {
      if (database.isOpen) database.close()
    },
  }
}

function readOwner(file: string): string {
  try {
    return ` (${readFileSync(file, 'utf8').trim()})`
  } catch {
    return ''
  }
}

const SQLITE_BUSY = 5

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY
}
