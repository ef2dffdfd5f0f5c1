// Where a runtime keeps states of runs beside the trail, so that long runs open fast: one file for each run that has one. All its I/O is
// here. Such a file is never authoritative: one that is torn, damaged or of another format counts as absent, and may be deleted at
// any time.
//
//   "PLSC" · u32 format · u32 CRC-32 of what follows · content
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ParleyError, type RunId } from '@parley/core'
import { trailLimits } from '../limits.ts'

/** All three may reject; whoever keeps states then does without. One call for a run at a time. */
export interface StateCacheStore {
  /** What was saved last, unchanged; undefined where there is nothing that can be used. */
  load(run: RunId): Promise<Uint8Array | undefined>
  /** Replaces what was saved before, whole or not at all. */
  save(run: RunId, content: Uint8Array): Promise<void>
  /** Nothing happens where nothing was saved. */
  remove(run: RunId): Promise<void>
}

const MAGIC = 'PLSC'
const FORMAT = 1
const HEADER = 12

/** States in the files of a folder, which is made when it is needed and which nobody else writes to. */
export function fileStateCache(folder: string): StateCacheStore {
  let listing: Promise<Set<string>> | undefined
  // Most runs are short and have no file: to know that must not cost each of them a look at the disk.
  const names = () => {
    listing ??= namesIn(folder)
    return listing
  }
  return {
    async load(run) {
      if (!(await names()).has(nameOf(run))) return undefined
      const content = await readFile(join(folder, nameOf(run)))
      return content && checked(content)
    },
    async save(run, content) {
      if (content.length > trailLimits.stateBytes) {
        const message = `The state of ${run} takes ${content.length} bytes; the limit is ${trailLimits.stateBytes}.`
        throw new ParleyError('state_too_large', message)
      }
      const known = await names()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceFile(join(folder, nameOf(run)), [headerOf(content), content])
      known.add(nameOf(run))
    },
    async remove(run) {
      if (!(await names()).has(nameOf(run))) return
      await rm(join(folder, nameOf(run)), { force: true })
      ;(await names()).delete(nameOf(run))
    },
  }
}

/** An id is visible ASCII, and may hold what a file system does not take as it is. */
function nameOf(run: RunId): string {
  return `${Buffer.from(run).toString('hex')}.state`
}

async function namesIn(folder: string): Promise<Set<string>> {
  try {
    return new Set(await readdir(folder))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return new Set()
    throw cause
  }
}

function headerOf(content: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER)
  header.write(MAGIC, 'latin1')
  header.writeUInt32LE(FORMAT, 4)
  header.writeUInt32LE(crc32(content), 8)
  return header
}

function checked(file: Buffer): Uint8Array | undefined {
  if (file.length < HEADER || file.toString('latin1', 0, 4) !== MAGIC) return undefined
  if (file.readUInt32LE(4) !== FORMAT) return undefined
  const content = file.subarray(HEADER)
  return crc32(content) === file.readUInt32LE(8) ? content : undefined
}

async function readFile(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    return size > trailLimits.stateBytes + HEADER ? undefined : await file.readFile()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}

/** Not synced: after a power loss the checksum tells whether the content made it to the disk, and nothing hangs on it. */
async function replaceFile(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    await rm(temporary, { force: true })
    {
      await using file = await open(temporary, 'wx', 0o600)
      for (const part of parts) await file.writeFile(part)
    }
    await rename(temporary, path)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw cause
  }
}
