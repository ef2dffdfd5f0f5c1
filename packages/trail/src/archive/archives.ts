// The cold tier: `cold/<run>/<number>.zst` (records, compressed) with `<number>.json` (the manifest) beside it. An archive
// exists once its manifest does; the compressed file is synced first.

import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { canonicalize, ParleyError, type RunId, type Timestamp, type WorkspaceId } from '@parley/core'
import { globalEntry, sha256 } from '../chain.ts'
import type { StoredEntry } from '../entry.ts'
import { damagedError } from '../errors.ts'
import type { ArchiveRecords } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { KIND_ENTRY, readEntry, recordBound, spanRecord, writeRecord } from '../log/record.ts'
import { type Manifest, parseManifest } from './manifest.ts'

const COLD = 'cold'
const SNAPSHOTS = 'snapshots'

export class Archives {
  readonly #files: Files
  /** Folder of each archive, by number. */
  #places: Map<number, string> | undefined
  /** Decompressed archives, the latest used last. */
  readonly #open = new Map<number, Buffer>()

  constructor(files: Files) {
    this.#files = files
  }

  /** Writes one archive of entries in `seq` order, durably. */
  async write(
    run: RunId,
    workspace: WorkspaceId,
    entries: readonly StoredEntry[],
    at: Timestamp,
  ): Promise<Manifest> {
    const places = this.#find()
    const archive = Math.max(0, ...places.keys()) + 1
    const folder = `${COLD}/${safeName(run)}`
    // Taken at once, so that two archives written at the same time get two numbers.
    places.set(archive, folder)
    const target = Buffer.allocUnsafe(entries.reduce((sum, entry) => sum + recordBound(entry), 0))
    let length = 0
    const listed = entries.map(stored => {
      const start = length
      length = writeRecord(target, start, stored)
      const { id, timestamp, integrity } = globalEntry(stored)
      return {
        seq: stored.seq,
        id,
        timestamp,
        hash: stored.hash,
        local_hash: integrity.local_hash ?? '',
        at: start,
        length: length - start,
      }
    })
    const manifest: Manifest = {
      version: 1,
      run,
      workspace,
      archive,
      archived_at: at,
      archive_hash: archiveHash(listed.map(each => each.local_hash)),
      bytes: length,
      deleted: false,
      entries: listed,
    }
    try {
      await this.#keepAll(folder, manifest, zstdCompressSync(target.subarray(0, length)))
    } catch (cause) {
      places.delete(archive)
      throw cause
    }
    return manifest
  }

  async #keepAll(folder: string, manifest: Manifest, records: Buffer): Promise<void> {
    this.#files.makeFolder(folder)
    await this.#files.syncFolder(COLD)
    await writeWhole(this.#files, `${folder}/${manifest.archive}.zst`, records)
    await this.#keep(folder, manifest)
  }

  /** Every archive's manifest, of one run or of all, in order of number. */
  manifests(run?: RunId): Manifest[] {
    const wanted = run === undefined ? undefined : `${COLD}/${safeName(run)}`
    const found: Manifest[] = []
    for (const [archive, folder] of this.#find()) {
      if (wanted !== undefined && folder !== wanted) continue
      const bytes = readWhole(this.#files, `${folder}/${archive}.json`)
      const manifest = bytes && parseManifest(bytes)
      if (!manifest) throw damagedError(`The manifest ${folder}/${archive}.json cannot be read.`, { archive })
      found.push(manifest)
    }
    return found.sort((a, b) => a.archive - b.archive)
  }

  /** What an index needs to know of every archive when it is made anew. */
  records(): ArchiveRecords[] {
    return this.manifests().map(({ archive, bytes, deleted, run, entries }) => ({
      file: -archive,
      length: deleted ? 0 : bytes,
      ...(deleted && { forgotten: { run, seqs: entries.map(({ seq }) => seq) } }),
    }))
  }

  /** Bytes of an archive's records. */
  read(archive: number, at: number, length: number): Buffer {
    return this.#records(archive).subarray(at, at + length)
  }

  /** One entry of an archive as it was stored. */
  entry(manifest: Manifest, index: number): StoredEntry {
    const { seq, at, length } = manifest.entries[index]!
    const source = this.#records(manifest.archive)
    const span = spanRecord(source, at, Math.min(at + length, source.length))
    if (span?.kind !== KIND_ENTRY)
      throw damagedError(`Entry ${seq} in archive ${manifest.archive} cannot be read.`, {
        archive: manifest.archive,
        seq,
      })
    return readEntry(source, span)
  }

  /** Deletes the records and keeps the manifest. */
  async delete(manifest: Manifest): Promise<void> {
    const folder = this.#find().get(manifest.archive)
    if (folder === undefined)
      throw new ParleyError('archive_not_found', `There is no archive ${manifest.archive}.`)
    await this.#keep(folder, { ...manifest, deleted: true })
    this.#open.delete(manifest.archive)
    const file = `${folder}/${manifest.archive}.zst`
    if (this.#files.exists(file)) this.#files.remove(file)
    await this.#files.syncFolder(folder)
  }

  /** Freezes entries as one artifact that is never written again (W-TRAIL-30). */
  async writeSnapshot(id: string, entries: readonly StoredEntry[]): Promise<void> {
    this.#files.makeFolder(SNAPSHOTS)
    const lines = entries.map(({ view, hash, signature, signer }) =>
      JSON.stringify({ view, hash, signature, signer }),
    )
    await writeWhole(
      this.#files,
      `${SNAPSHOTS}/${safeName(id)}.zst`,
      zstdCompressSync(Buffer.from(`${lines.join('\n')}\n`)),
    )
  }

  #keep(folder: string, manifest: Manifest): Promise<void> {
    return writeWhole(
      this.#files,
      `${folder}/${manifest.archive}.json`,
      Buffer.from(`${JSON.stringify(manifest)}\n`),
    )
  }

  #find(): Map<number, string> {
    if (this.#places) return this.#places
    this.#places = new Map()
    for (const name of this.#files.list(COLD)) {
      for (const file of this.#files.list(`${COLD}/${name}`)) {
        const number = /^(\d+)\.json$/.exec(file)?.[1]
        if (number !== undefined) this.#places.set(Number(number), `${COLD}/${name}`)
      }
    }
    return this.#places
  }

  #records(archive: number): Buffer {
    const known = this.#open.get(archive)
    this.#open.delete(archive)
    const records = known ?? this.#decompress(archive)
    this.#open.set(archive, records)
    if (this.#open.size > trailLimits.openArchives) this.#open.delete(this.#open.keys().next().value!)
    return records
  }

  #decompress(archive: number): Buffer {
    const file = `${this.#find().get(archive)}/${archive}.zst`
    const bytes = readWhole(this.#files, file)
    if (!bytes)
      throw new ParleyError(
        'archive_missing',
        `The archive ${file} is not there; restore it from the replica.`,
        { details: { archive } },
      )
    try {
      return zstdDecompressSync(bytes)
    } catch (cause) {
      throw new ParleyError(
        'archive_unreadable',
        `The archive ${file} cannot be read; restore it from the replica.`,
        { details: { archive }, cause },
      )
    }
  }
}

/** H(canon([local hashes])), so that anyone can recompute it from the manifest or from the entries. */
export function archiveHash(localHashes: readonly string[]): string {
  return sha256(canonicalize(localHashes))
}

/** An id as a name that cannot lead out of its folder. */
function safeName(id: string): string {
  return encodeURIComponent(id).replaceAll('.', '%2E').replaceAll('*', '%2A')
}
