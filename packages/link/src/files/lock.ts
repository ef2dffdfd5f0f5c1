// An exclusive lock between programs (ALP-PEER-06: `peers.lock`): a file that names its holder and comes into being
// whole, by a link. A holder that is gone holds nothing. An empty file is another implementation's, which holds it by
// flock: nobody here can see whether it still does.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, ok, type Result, refuse } from '@parley/core'
import { linkDefaults } from '../limits.ts'

/** Runs `work`, which does not wait for anything, while nobody else holds the lock. Refuses with `locked` when it cannot be had in time. */
export async function withLock<T>(path: string, clock: Clock, work: () => T): Promise<Result<T>> {
  const own = `${path}.${process.pid}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (let waited = 0; !taken(path, own); waited += linkDefaults.lockPollMs) {
    if (waited >= linkDefaults.lockMs) return refuse('locked', heldBy(path), { retryable: true })
    await new Promise<void>(resolve => clock.after(linkDefaults.lockPollMs, resolve))
  }
  try {
    return ok(work())
  } finally {
    rmSync(path, { force: true })
  }
}

function heldBy(path: string): string {
  return isEmpty(path)
    ? `${path} is empty: another ALP program, alpi for example, keeps it while it changes the list of peers, and may leave it there. Wait until that is done, then try again; where no such program uses this profile, the empty file can be moved away.`
    : `Another program is changing the list of peers (${path} says which). Wait until it is done, then try again.`
}

function isEmpty(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.size === 0
}

function taken(path: string, own: string): boolean {
  rmSync(own, { force: true })
  writeFileSync(own, `${process.pid}\n`, { mode: 0o600, flag: 'wx' })
  try {
    return linked(own, path) || (freed(path, own) && linked(own, path))
  } finally {
    rmSync(own, { force: true })
  }
}

function linked(own: string, path: string): boolean {
  try {
    linkSync(own, path)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}

/** Takes a dead lock out of the way. It is moved first and looked at again, so that a lock that was taken meanwhile is put back. */
function freed(path: string, own: string): boolean {
  if (!isDead(path)) return false
  const aside = `${own}.old`
  try {
    renameSync(path, aside)
  } catch {
    return true
  }
  try {
    if (isDead(aside)) return true
    linked(aside, path)
    return false
  } finally {
    rmSync(aside, { force: true })
  }
}

function isDead(path: string): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    if (text === '') return false
    const pid = Number(text.trim())
    if (!Number.isSafeInteger(pid) || pid <= 0) return true
    // A number of a process may come again: nobody holds this lock for long.
    return Date.now() - statSync(path).mtimeMs > linkDefaults.lockStaleMs || !isAlive(pid)
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}
