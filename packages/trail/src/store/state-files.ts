// Where a runtime keeps states of runs beside the trail, so that long runs open fast: one file for each run that has
// one. All its I/O is here. Such a file is never authoritative: one that is torn, damaged or of another format counts
// as absent, and may be deleted at any time.
//
//   "PLSC" · u32 format (1: as it is, 2: sealed) · u32 CRC-32 of what follows · content
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ParleyError, type RunId } from '@parley/core'
import type { ContentCipher } from '../content/cipher.ts'
import { openState, sealState } from '../content/state-seal.ts'
import { trailLimits } from '../limits.ts'

/** All three may reject; the caller then does without. One call for a run at a time. */
export interface StateCacheStore {
  /** What was saved last, unchanged; undefined where there is nothing that can be used. */
  load(run: RunId): Promise<Uint8Array | undefined>
  /** Replaces what was saved before, whole or not at all. */
  save(run: RunId, content: Uint8Array): Promise<void>
  /** Nothing happens where nothing was saved. */
  remove(run: RunId): Promise<void>
  /** What it keeps cannot be read without a secret (W-SEC-16). */
  readonly sealed?: boolean
}

const MAGIC = 'PLSC'
const PLAIN = 1
const SEALED = 2
const HEADER = 12
/** What sealing may add to a state, and the header. */
const SLACK = 1024 * 1024

/**
 * States in the files of a folder of their own. Where the cipher seals, unsealed ones are deleted; where it does not,
 * those that were sealed before are opened all the same.
 */
export function fileStateCache(folder: string, cipher?: ContentCipher): StateCacheStore {
  const seals = cipher !== undefined && cipher.sealing !== 'none'
  let listing: Promise<Set<string>> | undefined
  // Most runs are short and have no file: to know that must not cost each of them a look at the disk.
  const names = () => {
    listing ??= seals ? sealedNamesIn(folder) : namesIn(folder)
    return listing
  }
  return {
    sealed: seals,
    async load(run) {
      if (!(await names()).has(nameOf(run))) return undefined
      const file = await readFile(join(folder, nameOf(run)))
      const content = file && checked(file)
      if (!content || content.format === PLAIN) return seals ? undefined : content?.bytes
      return cipher && openState(cipher.keys, run, content.bytes)
    },
    async save(run, content) {
      if (content.length > trailLimits.stateBytes) {
        const message = `The state of ${run} takes ${content.length} bytes; the limit is ${trailLimits.stateBytes}.`
        throw new ParleyError('state_too_large', message)
      }
      const known = await names()
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const parts = seals ? await sealState(cipher.keys, run, content) : [content]
      await replaceFile(join(folder, nameOf(run)), [headerOf(parts, seals ? SEALED : PLAIN), ...parts])
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

/** The names of those that are sealed. What is not, a torn write among it, is deleted. */
async function sealedNamesIn(folder: string): Promise<Set<string>> {
  const sealed = await namesIn(folder)
  for (const name of sealed) {
    if ((await formatOf(join(folder, name))) === SEALED) continue
    await rm(join(folder, name), { force: true })
    sealed.delete(name)
  }
  return sealed
}

async function formatOf(path: string): Promise<number | undefined> {
  await using file = await open(path, 'r')
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER), 0, HEADER, 0)
  return bytesRead === HEADER && buffer.toString('latin1', 0, 4) === MAGIC ? buffer.readUInt32LE(4) : undefined
}

function headerOf(parts: readonly Uint8Array[], format: number): Buffer {
  const header = Buffer.alloc(HEADER)
  header.write(MAGIC, 'latin1')
  header.writeUInt32LE(format, 4)
  header.writeUInt32LE(
    parts.reduce((crc, part) => crc32(part, crc), 0),
    8,
  )
  return header
}

function checked(file: Buffer): { readonly format: number; readonly bytes: Uint8Array } | undefined {
  if (file.length < HEADER || file.toString('latin1', 0, 4) !== MAGIC) return undefined
  const format = file.readUInt32LE(4)
  if (format !== PLAIN && format !== SEALED) return undefined
  const bytes = file.subarray(HEADER)
  return crc32(bytes) === file.readUInt32LE(8) ? { format, bytes } : undefined
}

async function readFile(path: string): Promise<Buffer | undefined> {
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    return size > trailLimits.stateBytes + SLACK ? undefined : await file.readFile()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}

/** Not synced: after a power loss the checksum tells whether the content reached the disk. */
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
