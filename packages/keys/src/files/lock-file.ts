// A lock that other programs can see (ALP-PEER-06: `peers.lock`), for as long as one piece of work: a file that names
// its holder and comes into being whole, by a link. A holder that is gone holds nothing. An empty file is another
// implementation's, which holds it by flock: nobody here can see whether it still does. What only Parley uses is held
// by a lock that nothing outlives (lock-folder.ts).
import { linkSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, err, ok, type Result } from '@parley/core'
import { machineDisk } from './disk.ts'

export interface LockTimes {
  readonly clock: Clock
  /** Milliseconds until waiting is given up, between two looks, and after which a lock counts as left behind. */
  readonly waitMs: number
  readonly pollMs: number
  readonly staleMs: number
}

/** Who holds a lock that could not be had: a process that its file names, or a program that leaves it empty. */
export type Holder = 'named' | 'unnamed'

/** Runs `work`, which is synchronous, while holding the lock. */
export async function withLock<T>(path: string, times: LockTimes, work: () => T): Promise<Result<T, Holder>> {
  const own = `${path}.${process.pid}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (let waited = 0; !taken(path, own, times.staleMs); waited += times.pollMs) {
    if (waited >= times.waitMs) return err(isEmpty(path) ? 'unnamed' : 'named')
    await new Promise<void>(resolve => times.clock.after(times.pollMs, resolve))
  }
  try {
    return ok(work())
  } finally {
    machineDisk.remove(path)
  }
}

function isEmpty(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.size === 0
}

function taken(path: string, own: string, staleMs: number): boolean {
  machineDisk.remove(own)
  writeFileSync(own, `${process.pid}\n`, { mode: 0o600, flag: 'wx' })
  try {
    return linked(own, path) || (freed(path, own, staleMs) && linked(own, path))
  } finally {
    machineDisk.remove(own)
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

/** Removes a dead lock. It is moved aside and checked again, so that a lock taken meanwhile is put back. */
function freed(path: string, own: string, staleMs: number): boolean {
  if (!isDead(path, staleMs)) return false
  const aside = `${own}.old`
  try {
    renameSync(path, aside)
  } catch {
    return true
  }
  try {
    if (isDead(aside, staleMs)) return true
    linked(aside, path)
    return false
  } finally {
    machineDisk.remove(aside)
  }
}

function isDead(path: string, staleMs: number): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    if (text === '') return false
    const pid = Number(text.trim())
    if (!Number.isSafeInteger(pid) || pid <= 0) return true
    // A process id may be reused: no process holds this lock for long.
    return Date.now() - statSync(path).mtimeMs > staleMs || !isAlive(pid)
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
