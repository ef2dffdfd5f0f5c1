// The records of an imported run on their way in: archives in a folder where nobody looks for them
// (`imports/<run>.<number>.zst`). The run's import record makes them count; then this process or the next puts them
// into place.
import type { RunId, Timestamp } from '@parley/core'
import { archiveHashOf, contentsOf } from '../archive/contents.ts'
import { archiveName, madeFolder, RUNS, safeName } from '../archive/layout.ts'
import type { Manifest } from '../archive/manifest.ts'
import type { Squeeze } from '../archive/squeeze.ts'
import type { StoredRecord } from '../entry.ts'
import type { Bridges } from '../export/format.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import { packRecords, recordBound } from '../log/record.ts'
import { sha256 } from '../run/chain.ts'
import { IMPORTS } from './import-record.ts'

interface StagingOptions {
  readonly files: Files
  readonly squeeze: Squeeze
  readonly number: () => number
  readonly run: RunId
  readonly head: { readonly seq: number; readonly hash: string }
  readonly at: Timestamp
}

export class Staging {
  readonly #options: StagingOptions
  #waiting: StoredRecord[] = []
  #bytes = 0
  /** Objects of the run so far, and those of them that stand before the next entry. */
  #objects = 0
  #loose = 0
  #next = 1
  #ordinals: number[] = []

  constructor(options: StagingOptions) {
    this.#options = options
  }

  /** Takes the next records; an object that is kept as a blob has been put there. */
  async add(records: readonly StoredRecord[]): Promise<void> {
    for (const record of records) {
      this.#waiting.push(record)
      this.#bytes += recordBound(record)
      if (record.kind === 'object') {
        this.#ordinals.push(this.#objects++)
        this.#loose++
      } else {
        this.#next = record.seq + 1
        this.#loose = 0
      }
      const full = this.#waiting.length >= trailLimits.archiveRecords || this.#bytes >= trailLimits.archiveBytes
      if (full) await this.flush()
    }
  }

  /** Takes entries of which only hashes are left. */
  async bridge(bridges: Bridges): Promise<void> {
    await this.flush()
    this.#next = bridges.at(-1)!.seq + 1
    this.#loose = 0
    const entries = bridges.map(entry => ({ ...entry, at: 0, length: 1 }))
    await this.#keep({ deleted: true, bytes: 0, sha256: null, entries, objects: [] }, undefined)
  }

  /** What was taken is durable then, and still counts for nothing. */
  async flush(): Promise<void> {
    if (this.#waiting.length === 0) return
    const { bytes, entries, objects } = await contentsOf(packRecords(this.#waiting), this.#ordinals)
    this.#waiting = []
    this.#bytes = 0
    this.#ordinals = []
    const packed = await this.#options.squeeze.compress(bytes)
    await this.#keep({ deleted: false, bytes: bytes.length, sha256: sha256(packed), entries, objects }, packed)
  }

  async #keep(
    content: Pick<Manifest, 'deleted' | 'bytes' | 'sha256' | 'entries' | 'objects'>,
    packed: Buffer | undefined,
  ): Promise<void> {
    const { files, squeeze, run, head, at, number } = this.#options
    const archive = number()
    const manifest: Manifest = {
      version: 2,
      kind: 'run',
      tier: 'warm',
      run,
      workspace: null,
      archive,
      archived_at: at,
      archive_hash: archiveHashOf(content.entries),
      head: { seq: head.seq, hash: head.hash },
      until: { seq: this.#next, objects: this.#loose },
      ...content,
    }
    if (packed) await writeWhole(files, stagedFile(run, `${archive}.zst`), packed)
    const text = await squeeze.compress(Buffer.from(`${JSON.stringify(manifest)}\n`))
    await writeWhole(files, stagedFile(run, `${archive}.json.zst`), text)
  }
}

/** Names of runs hold no dot. */
function stagedFile(run: RunId, name: string): string {
  return `${IMPORTS}/${safeName(run)}.${name}`
}

/** Names of what was staged of a run, as they will be in its folder; half-written files come along. */
function staged(files: Files, run: RunId): string[] {
  const prefix = `${safeName(run)}.`
  const names = files.list(IMPORTS).filter(name => name.startsWith(prefix))
  return names.map(name => name.slice(prefix.length)).filter(name => /^\d/.test(name))
}

/** Puts what was staged to where it counts. Safe to repeat after a crash. */
export async function placeStaged(files: Files, run: RunId): Promise<void> {
  const names = staged(files, run).filter(name => archiveName(name))
  if (names.length === 0) return
  const folder = `${RUNS}/${safeName(run)}`
  await madeFolder(files, folder)
  // Copied, records before manifests: a manifest makes its archive exist, and no record is ever nowhere.
  const manifestsLast = names.toSorted((a, b) => Number(archiveName(a)!.manifest) - Number(archiveName(b)!.manifest))
  for (const name of manifestsLast) {
    await writeWhole(files, `${folder}/${name}`, readWhole(files, stagedFile(run, name))!)
    await pause()
  }
  await removeStaged(files, run)
}

export async function removeStaged(files: Files, run: RunId): Promise<void> {
  const names = staged(files, run)
  for (const name of names) files.remove(stagedFile(run, name))
  if (names.length > 0) await files.syncFolder(IMPORTS)
}
