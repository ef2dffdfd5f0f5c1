// Archives as an index reads them, in the layout of archive/. Manifests are read only where the index does not know an
// archive yet: there may be thousands.
import type { ObjectId, RunId, WorkspaceId } from '@parley/core'
import { archiveName, COLD, RUNS, runFolders, withoutTier } from '../archive/layout.ts'
import { unpackSync } from '../archive/squeeze.ts'
import { type Files, isSystemError, readWhole } from '../log/files.ts'
import type { ArchiveRecords, Forgotten } from './contract.ts'
import { indexLimits } from './limits.ts'
import { isFiled } from './moves.ts'

interface Manifest {
  readonly run: RunId
  readonly bytes: number
  readonly deleted: boolean
  readonly seqs: readonly number[]
  readonly filed: Forgotten['filed']
  readonly ordinals: ReadonlyMap<ObjectId, number> | undefined
}

interface Found {
  readonly folder: string
  /** Name of the manifest; those written first were not compressed. */
  readonly manifest: string
}

export class ArchiveReader {
  readonly #files: Files
  readonly #replica: (() => Files) | undefined
  #found: Map<number, Found> | undefined
  /** The latest used last. */
  readonly #unpacked = new Map<number, Buffer>()
  #manifest: { readonly number: number; readonly content: Manifest | undefined } | undefined

  /** `replica`: a second copy of the cold tier; throws where it is not there. */
  constructor(files: Files, replica?: () => Files) {
    this.#files = files
    this.#replica = replica
  }

  list(): readonly ArchiveRecords[] {
    const there = new Set<number>()
    this.#found = new Map()
    this.#manifest = undefined
    // What was copied to the cold tier counts there, whether its first copy is gone yet or not.
    for (const root of [RUNS, COLD]) {
      for (const name of runFolders(this.#files, root)) {
        const folder = `${root}/${name}`
        for (const file of this.#files.list(folder)) {
          const named = archiveName(file)
          if (named?.manifest) this.#note(named.archive, { folder, manifest: file })
          else if (named) there.add(named.archive)
        }
      }
    }
    return [...this.#found].map(
      ([number, { folder }]) => new ListedArchive(this, number, runOf(folder), there.has(number)),
    )
  }

  /** Where an archive has a manifest of the first form beside one of the second, that one is newer. */
  #note(number: number, found: Found): void {
    const known = this.#found?.get(number)
    if (known?.folder === found.folder && known.manifest.endsWith('.zst')) return
    this.#found?.set(number, found)
  }

  read(number: number, at: number, length: number): Buffer {
    return this.unpack(number).subarray(at, at + length)
  }

  /** The records of an archive. Throws when it is not there or cannot be read, here or in the replica. */
  unpack(number: number): Buffer {
    const known = this.#unpacked.get(number)
    this.#unpacked.delete(number)
    const bytes = known ?? this.#read(number, () => `${number}.zst`)
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

  /** Undefined where it is damaged. Throws what a failing disk says. */
  manifest(number: number): Manifest | undefined {
    if (this.#manifest?.number === number) return this.#manifest.content
    let content: Manifest | undefined
    try {
      content = parseManifest(this.#read(number, found => found.manifest))
    } catch (cause) {
      if (isSystemError(cause)) throw cause
      // The records must do.
    }
    this.#manifest = { number, content }
    return content
  }

  /** An archive may have moved since its folder was looked up; a damaged one may have a sound copy in the replica. */
  #read(number: number, name: (found: Found) => string): Buffer {
    const first = this.#found?.get(number)
    if (!first) this.list()
    const found = this.#found?.get(number)
    if (!found) throw new Error(`archive ${number} is not there`)
    try {
      return readPacked(this.#files, `${found.folder}/${name(found)}`)
    } catch (cause) {
      if (first) this.list()
      const moved = this.#found?.get(number)
      if (moved && moved.folder !== found.folder) return readPacked(this.#files, `${moved.folder}/${name(moved)}`)
      if (!this.#replica) throw cause
      try {
        return readPacked(this.#replica(), `${withoutTier(found.folder)}/${name(found)}`)
      } catch (again) {
        throw isSystemError(cause) ? cause : again
      }
    }
  }
}

class ListedArchive implements ArchiveRecords {
  readonly file: number
  readonly run: RunId
  readonly #archives: ArchiveReader
  readonly #there: boolean

  constructor(archives: ArchiveReader, number: number, run: RunId, there: boolean) {
    this.file = -number
    this.run = run
    this.#archives = archives
    this.#there = there
  }

  /** Taken from the records themselves where the manifest is damaged; one byte too many is found to be missing. */
  get length(): number {
    const manifest = this.#archives.manifest(-this.file)
    if (manifest) return manifest.bytes
    try {
      return this.#archives.unpack(-this.file).length
    } catch (cause) {
      if (isSystemError(cause)) throw cause
      return 1
    }
  }

  get forgotten(): ArchiveRecords['forgotten'] {
    const manifest = this.#there ? undefined : this.#archives.manifest(-this.file)
    return manifest?.deleted ? manifest : undefined
  }

  get ordinals(): ArchiveRecords['ordinals'] {
    return this.#archives.manifest(-this.file)?.ordinals
  }
}

/** Folders are named by the run, with `%` before what a file name cannot hold. */
function runOf(folder: string): RunId {
  const name = withoutTier(folder)
  try {
    return decodeURIComponent(name) as RunId
  } catch {
    return name as RunId
  }
}

function readPacked(files: Files, file: string): Buffer {
  const bytes = readWhole(files, file)
  if (!bytes) throw new Error(`${file} is not there`)
  return file.endsWith('.zst') ? unpackSync(bytes) : bytes
}

function parseManifest(content: Buffer): Manifest | undefined {
  const { run, workspace, bytes, deleted, entries, objects }: Record<string, unknown> = JSON.parse(content.toString())
  if (typeof run !== 'string' || typeof bytes !== 'number' || !Array.isArray(entries)) return undefined
  const seqs = entries.map((entry: { seq?: unknown }) => entry.seq).filter(seq => typeof seq === 'number')
  const listed = entries as { seq: number; workspace?: WorkspaceId | null }[]
  // The first manifests are of one workspace, and say so once.
  const filed = listed
    .map(({ seq, workspace: own = workspace as WorkspaceId }) => ({ seq, workspace: own }))
    .find(isFiled)
  const placed = Array.isArray(objects) ? (objects as { id: ObjectId; ordinal: number }[]) : undefined
  const ordinals = placed && new Map(placed.map(({ id, ordinal }) => [id, ordinal]))
  return { run: run as RunId, bytes, deleted: deleted === true, seqs, filed, ordinals }
}
