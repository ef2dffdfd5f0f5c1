// Archives of both kinds in both tiers: writing, moving from warm to cold, deleting, reading records. The manifest is
// written last and makes the archive count; what goes to the cold tier is in the replica before that.
import { ParleyError, type RunId, type Timestamp, type WorkspaceId } from '@parley/core'
import type { StoredRecord } from '../entry.ts'
import { damagedError } from '../errors.ts'
import type { RecordPlace, RunPoint } from '../index/contract.ts'
import type { TrailKey } from '../keys/trail-key.ts'
import { Blobs } from '../log/blobs.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { readRecord, spanRecord } from '../log/record.ts'
import { sha256 } from '../run/chain.ts'
import type { RunHead } from '../store/store.ts'
import { Catalogue } from './catalogue.ts'
import { keepKeys } from './cold-keys.ts'
import { archiveHashOf, type Contents } from './contents.ts'
import * as layout from './layout.ts'
import { dropAbandoned } from './leftovers.ts'
import type { Manifest } from './manifest.ts'
import type { Replica } from './replica.ts'
import type { Squeeze } from './squeeze.ts'
import { type PackedArchive, UnpackedArchives } from './unpacked.ts'
import { markWhole, wholeUpTo } from './whole.ts'

interface ArchivesOptions {
  readonly files: Files
  /** Blobs of the profile, for copies in the cold tier. */
  readonly blobs: Blobs
  readonly squeeze: Squeeze
  readonly replica?: Replica | undefined
}

export interface ArchiveDraft {
  readonly kind: Manifest['kind']
  readonly run: RunId
  readonly workspace: WorkspaceId | null
  readonly at: Timestamp
  readonly contents: Contents
  readonly head: Manifest['head']
  readonly until: RunPoint | null
}

export class Archives {
  readonly #options: ArchivesOptions
  readonly #files: Files
  readonly blobs: Blobs
  readonly catalogue: Catalogue
  readonly #unpacked: UnpackedArchives

  constructor(options: ArchivesOptions) {
    this.#options = options
    this.#files = options.files
    this.catalogue = new Catalogue(options.files, options.replica)
    this.#unpacked = new UnpackedArchives(options.squeeze, archive => this.#packed(archive))
    this.blobs = new Blobs(layout.below(options.files, `${layout.COLD}/${layout.COLD_BLOBS}`))
  }

  /** Writes an archive durably: a workspace's to the cold tier, a run's to the warm one. */
  async write(draft: ArchiveDraft): Promise<Manifest> {
    const { kind, run, workspace, at, contents, head, until } = draft
    // Taken at once, so that two archives written at the same time get two numbers.
    const archive = this.catalogue.reserve()
    const packed = await this.#options.squeeze.compress(contents.bytes)
    const manifest: Manifest = {
      version: 2,
      kind,
      tier: kind === 'workspace' ? 'cold' : 'warm',
      run,
      workspace,
      archive,
      archived_at: at,
      archive_hash: archiveHashOf(contents.entries),
      bytes: contents.bytes.length,
      sha256: sha256(packed),
      deleted: false,
      head,
      until,
      entries: contents.entries,
      objects: contents.objects,
    }
    await this.#keepAll(manifest, packed)
    return manifest
  }

  /** Copies a run's archive to the cold tier, where it counts from then on; its first copy stays until `sweep`. */
  async expire(manifest: Manifest, at: Timestamp): Promise<void> {
    const moved: Manifest = { ...manifest, tier: 'cold', archived_at: at }
    // Of what was deleted before the run was imported there are no records, only the manifest.
    if (manifest.deleted) return this.#keepAll(moved, undefined)
    const from = folderOf(manifest)
    const packed = readWhole(this.#files, layout.recordsFile(from, manifest.archive))
    if (!packed || (manifest.sha256 !== null && sha256(packed) !== manifest.sha256)) {
      throw damagedError(
        `${layout.recordsFile(from, manifest.archive)} is damaged and stays where it is; verify the run and restore it from a backup.`,
        { archive: manifest.archive },
      )
    }
    await this.#keepAll(moved, packed)
  }

  /** Removes what moves left in a run's warm folder: the `dead` archives, second copies, files without a manifest. */
  async sweep(run: RunId, dead: ReadonlySet<number>): Promise<void> {
    const folder = `${layout.RUNS}/${layout.safeName(run)}`
    const found = new Set<number>()
    const whole = new Set<number>()
    for (const name of this.#files.list(folder)) {
      const named = layout.archiveName(name)
      if (layout.isTorn(name)) this.#files.remove(`${folder}/${name}`)
      if (named) found.add(named.archive)
      if (named?.manifest) whole.add(named.archive)
    }
    for (const archive of found) {
      if (dead.has(archive)) this.catalogue.drop(archive)
      else if (whole.has(archive) && this.catalogue.folder(archive) === folder) continue
      await this.#remove(folder, archive)
    }
    if (this.#files.list(folder).length === 0) this.#files.removeFolder(folder)
  }

  /** The manifest first, for good: there is never one without its records. */
  async #remove(folder: string, archive: number): Promise<void> {
    for (const file of [layout.manifestFile(folder, archive), layout.recordsFile(folder, archive)]) {
      if (!this.#files.exists(file)) continue
      this.#files.remove(file)
      await this.#files.syncFolder(folder)
    }
  }

  async #keepAll(manifest: Manifest, packed: Buffer | undefined): Promise<void> {
    const folder = folderOf(manifest)
    const { archive } = manifest
    await layout.madeFolder(this.#files, folder)
    if (packed) await writeWhole(this.#files, layout.recordsFile(folder, archive), packed)
    const content = await this.#pack(manifest)
    if (manifest.tier === 'cold') await this.#keepCopies(manifest, packed, content)
    await writeWhole(this.#files, layout.manifestFile(folder, archive), content)
    this.catalogue.enter(archive, folder)
  }

  /** A failed copy is retried under another number: records that nobody lists must not pile up meanwhile. */
  async #keepCopies(manifest: Manifest, packed: Buffer | undefined, content: Buffer): Promise<void> {
    const { archive } = manifest
    const folder = folderOf(manifest)
    try {
      const blobs = blobsOf(manifest)
      if (blobs.length > 0) await layout.madeFolder(this.#files, `${layout.COLD}/${layout.COLD_BLOBS}`)
      for (const blob of blobs) await this.blobs.put(blob, this.blob(blob))
      await this.#copyOut(manifest, packed, content, blobs)
    } catch (cause) {
      if (packed && !this.#files.exists(layout.manifestFile(folder, archive)))
        this.#files.remove(layout.recordsFile(folder, archive))
      throw cause
    }
  }

  async #copyOut(
    manifest: Manifest,
    packed: Buffer | undefined,
    content: Buffer,
    blobs: readonly string[],
  ): Promise<void> {
    const { replica } = this.#options
    if (!replica) return
    const folder = layout.safeName(manifest.run)
    await replica.use(async files => {
      if (blobs.length > 0) await layout.madeFolder(files, layout.COLD_BLOBS)
      const copies = new Blobs(layout.below(files, layout.COLD_BLOBS))
      for (const blob of blobs) await copies.put(blob, this.blobs.get(blob))
      await layout.madeFolder(files, folder)
      if (packed) await writeWhole(files, layout.recordsFile(folder, manifest.archive), packed)
      await writeWhole(files, layout.manifestFile(folder, manifest.archive), content)
    })
  }

  blob(name: string): string {
    const copies = [this.#options.blobs, this.blobs, ...(this.#options.replica ? [this.#options.replica] : [])]
    let first: unknown
    for (const blobs of copies) {
      try {
        return blobs instanceof Blobs ? blobs.get(name) : blobs.blob(name)
      } catch (cause) {
        first ??= cause
      }
    }
    throw first
  }

  #pack(manifest: Manifest): Promise<Buffer> {
    return this.#options.squeeze.compress(Buffer.from(`${JSON.stringify(manifest)}\n`))
  }

  /** Notes that all of a run is in the cold tier, up to a head, with the keys that it takes to verify it there. */
  async markWhole(head: RunHead, foreign: readonly TrailKey[] | undefined): Promise<void> {
    await this.keepKeys()
    await markWhole(this.#files, this.#options.replica, head, foreign)
  }

  keepKeys(): Promise<number> {
    return keepKeys(this.#files, this.#options.replica)
  }

  wholeUpTo(run: RunId): RunHead | undefined {
    return wholeUpTo(this.#files, run)
  }

  read(archive: number, at: number, length: number): Buffer {
    return this.#unpacked.read(archive, at, length)
  }

  load(archive: number): Promise<void> {
    return this.#unpacked.load(archive)
  }

  record({ archive, seq, at, length }: Omit<RecordPlace, 'id' | 'file'> & { archive: number }): StoredRecord {
    const source = this.read(archive, at, length)
    const span = spanRecord(source, 0, source.length)
    if (span?.end !== length || span.seq !== seq)
      throw damagedError(`The record of ${seq} in archive ${archive} cannot be read.`, { archive, seq })
    return readRecord(source, span)
  }

  /**
   * Notes here and in the replica that an archive will be deleted; it counts until its records are gone (`asFound`).
   */
  async noteDeleted(manifest: Manifest): Promise<void> {
    const { archive } = manifest
    const folder = this.catalogue.folder(archive)
    if (folder === undefined || folder !== folderOf({ ...manifest, tier: 'cold' }))
      throw new ParleyError('archive_not_found', `There is no archive ${archive} in the cold tier.`)
    const deleted: Manifest = { ...manifest, deleted: true }
    const content = await this.#pack(deleted)
    // A replica that cannot be reached would keep what everybody takes for deleted.
    await this.#copyOut(deleted, undefined, content, [])
    await writeWhole(this.#files, layout.manifestFile(folder, archive), content)
  }

  /** Deletes the records and keeps the manifest. Here first: what counts here is in both copies (W-TRAIL-26). */
  async deleteNoted({ run, archive }: Manifest): Promise<void> {
    const folder = folderOf({ tier: 'cold', run })
    this.#unpacked.forget(archive)
    for (const file of [layout.recordsFile(folder, archive), layout.firstManifestFile(folder, archive)]) {
      if (this.#files.exists(file)) this.#files.remove(file)
    }
    await this.#files.syncFolder(folder)
    const cleared = this.#options.replica?.use(async files => {
      const copies = layout.withoutTier(folder)
      for (const file of [layout.recordsFile(copies, archive), layout.firstManifestFile(copies, archive)]) {
        if (files.exists(file)) files.remove(file)
      }
      await files.syncFolder(copies)
      await dropAbandoned(files, this.#files, copies)
    })
    // It is deleted by now: a replica that was pulled out meanwhile is behind, and `replicate` brings it up to date.
    await cleared?.catch(() => {})
  }

  refresh(): void {
    this.catalogue.refresh()
    this.#unpacked.clear()
  }

  #packed(archive: number): PackedArchive {
    const file = layout.recordsFile(this.catalogue.folder(archive) ?? layout.COLD, archive)
    return {
      file,
      here: readWhole(this.#files, file),
      copy: () => this.#options.replica?.read(layout.withoutTier(file)),
    }
  }
}

function folderOf({ tier, run }: Pick<Manifest, 'tier' | 'run'>): string {
  return `${tier === 'cold' ? layout.COLD : layout.RUNS}/${layout.safeName(run)}`
}

export function blobsOf({ objects }: Manifest): string[] {
  return [...new Set(objects.flatMap(({ blob }) => blob ?? []))].sort()
}
