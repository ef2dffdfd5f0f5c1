// The cold tier as an index reads it: `cold/<run>/<number>.zst` with the manifest `<number>.json` beside it, as archive/
// writes them. Manifests are read only where the index does not know an archive yet: there may be thousands.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import type { RunId } from '@parley/core'
import type { ArchiveRecords } from './contract.ts'
import { indexLimits } from './limits.ts'

interface Manifest {
  readonly run: RunId
  readonly bytes: number
  readonly deleted: boolean
  readonly seqs: readonly number[]
}

export class DiskArchives {
  readonly #folder: string
  /** Folders by the number of the archive. */
  #folders: Map<number, string> | undefined
  /** Uncompressed, the latest used last. */
  readonly #unpacked = new Map<number, Buffer>()

  constructor(folder: string) {
    this.#folder = join(folder, 'cold')
  }

  list(): readonly ArchiveRecords[] {
    const unpacked = new Set<number>()
    this.#folders = new Map()
    for (const run of names(this.#folder)) {
      for (const name of names(join(this.#folder, run))) {
        const [, number, kind] = /^(\d+)\.(json|zst)$/.exec(name) ?? []
        if (kind === 'json') this.#folders.set(Number(number), join(this.#folder, run))
        if (kind === 'zst') unpacked.add(Number(number))
      }
    }
    return [...this.#folders].map(
      ([number, folder]) => new DiskArchive(this, number, folder, unpacked.has(number)),
    )
  }

  /** The records of an archive. Throws when it is not there or cannot be read. */
  unpack(number: number): Buffer {
    const known = this.#unpacked.get(number)
    this.#unpacked.delete(number)
    const bytes =
      known ??
      zstdDecompressSync(readFileSync(join(this.#find(number), `${number}.zst`)), {
        maxOutputLength: indexLimits.archiveBytes,
      })
    let kept = bytes.length
    for (const each of this.#unpacked.values()) kept += each.length
    for (const [oldest, each] of this.#unpacked) {
      if (kept <= indexLimits.archiveCacheBytes) break
      kept -= each.length
      this.#unpacked.delete(oldest)
    }
    this.#unpacked.set(number, bytes)
    return bytes
  }

  #find(number: number): string {
    if (!this.#folders?.has(number)) this.list()
    const folder = this.#folders?.get(number)
    if (folder === undefined) throw new Error(`archive ${number} is not there`)
    return folder
  }
}

class DiskArchive implements ArchiveRecords {
  readonly file: number
  readonly run: RunId
  readonly #archives: DiskArchives
  readonly #folder: string
  readonly #there: boolean

  constructor(archives: DiskArchives, number: number, folder: string, there: boolean) {
    this.file = -number
    this.run = runOf(folder)
    this.#archives = archives
    this.#folder = folder
    this.#there = there
  }

  /** Taken from the records themselves where the manifest is damaged; one byte too many is found to be missing. */
  get length(): number {
    const manifest = readManifest(this.#folder, -this.file)
    if (manifest) return manifest.bytes
    try {
      return this.#archives.unpack(-this.file).length
    } catch {
      return 1
    }
  }

  get forgotten(): ArchiveRecords['forgotten'] {
    const manifest = this.#there ? undefined : readManifest(this.#folder, -this.file)
    return manifest?.deleted ? { run: manifest.run, seqs: manifest.seqs } : undefined
  }
}

/** Folders are named by the run, with `%` before what a file name cannot hold. */
function runOf(folder: string): RunId {
  try {
    return decodeURIComponent(basename(folder)) as RunId
  } catch {
    return basename(folder) as RunId
  }
}

function readManifest(folder: string, number: number): Manifest | undefined {
  try {
    const text = readFileSync(join(folder, `${number}.json`), 'utf8')
    const { run, bytes, deleted, entries }: Record<string, unknown> = JSON.parse(text)
    if (typeof run !== 'string' || typeof bytes !== 'number' || !Array.isArray(entries)) return undefined
    const seqs = entries.map((entry: { seq?: unknown }) => entry.seq).filter(seq => typeof seq === 'number')
    return { run: run as RunId, bytes, deleted: deleted === true, seqs }
  } catch {
    return undefined
  }
}

/** Names in a folder; none when there is no such folder. */
function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
