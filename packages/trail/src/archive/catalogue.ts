// Which archives exist in both tiers, by file name (layout.ts), and their manifests, if need be from the replica.
import type { RunId } from '@parley/core'
import { damagedError } from '../errors.ts'
import { type Files, readWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import * as layout from './layout.ts'
import { asFound, type Manifest, parseManifest } from './manifest.ts'
import type { Replica } from './replica.ts'
import { unpackSync } from './squeeze.ts'

export class Catalogue {
  readonly #files: Files
  readonly #replica: Replica | undefined
  /** Folder of each archive, by number, and the greatest number that any file bears. */
  #places: Map<number, string> | undefined
  #greatest = 0

  constructor(files: Files, replica: Replica | undefined) {
    this.#files = files
    this.#replica = replica
  }

  reserve(): number {
    this.#find()
    return ++this.#greatest
  }

  /** From now on an archive counts, and in this folder. */
  enter(archive: number, folder: string): void {
    this.#find().set(archive, folder)
  }

  drop(archive: number): void {
    this.#find().delete(archive)
  }

  folder(archive: number): string | undefined {
    return this.#find().get(archive)
  }

  refresh(): void {
    this.#places = undefined
  }

  /** Runs that have files in the warm tier, be they only copies that the cold one has, too. */
  warmRuns(): RunId[] {
    const folders = layout.runFolders(this.#files, layout.RUNS)
    return folders.filter(name => this.#files.list(`${layout.RUNS}/${name}`).length > 0).map(layout.runOf)
  }

  get highest(): number {
    let highest = 0
    for (const archive of this.#find().keys()) highest = Math.max(highest, archive)
    return highest
  }

  /** Whether a run has any archive, by a look at its folders. */
  holds(run: RunId): boolean {
    const name = layout.safeName(run)
    return [layout.RUNS, layout.COLD].some(root => this.#files.list(`${root}/${name}`).length > 0)
  }

  runs(): RunId[] {
    return [...new Set([...this.#find().values()].map(layout.withoutTier))].sort().map(layout.runOf)
  }

  /**
   * Manifests of one run or of all, by number; the name of one that cannot be read. One turn of the event loop each.
   */
  async *inspect(run?: RunId): AsyncGenerator<Manifest | string> {
    for (const [archive, folder] of this.#listed(run)) {
      yield this.#manifest(folder, archive) ?? `${folder}/${archive}`
      await pause()
    }
  }

  /** The same where a damaged one is too much. */
  async *manifests(run?: RunId): AsyncGenerator<Manifest> {
    for await (const manifest of this.inspect(run)) {
      if (typeof manifest === 'string')
        throw damagedError(`The manifest of ${manifest} cannot be read; restore it from the replica.`, {
          manifest,
        })
      yield manifest
    }
  }

  #listed(run?: RunId): (readonly [number, string])[] {
    const name = run === undefined ? undefined : layout.safeName(run)
    const wanted = name === undefined ? undefined : new Set([`${layout.COLD}/${name}`, `${layout.RUNS}/${name}`])
    const found = [...this.#find()].filter(([, folder]) => !wanted || wanted.has(folder))
    return found.sort(([a], [b]) => a - b)
  }

  tierOf(archive: number): Manifest['tier'] | undefined {
    const folder = this.#find().get(archive)
    if (folder === undefined) return undefined
    return folder.startsWith(`${layout.COLD}/`) ? 'cold' : 'warm'
  }

  /** The manifest of an archive whose records were deleted; undefined for any other. */
  deleted(archive: number): Manifest | undefined {
    const folder = this.#find().get(archive)
    const manifest = folder === undefined ? undefined : this.#manifest(folder, archive)
    return manifest?.deleted ? manifest : undefined
  }

  #manifest(folder: string, archive: number): Manifest | undefined {
    const first = layout.firstManifestFile(folder, archive)
    for (const read of [
      () => unpacked(readWhole(this.#files, layout.manifestFile(folder, archive))),
      () => readWhole(this.#files, first),
      () => unpacked(this.#replica?.read(layout.manifestFile(layout.withoutTier(folder), archive))),
      () => this.#replica?.read(layout.withoutTier(first)),
    ]) {
      const bytes = read()
      const manifest = bytes && parseManifest(bytes)
      if (manifest) return asFound(manifest, this.#files, folder)
    }
    return undefined
  }

  #find(): Map<number, string> {
    if (this.#places) return this.#places
    this.#places = new Map()
    // What was copied to the cold tier counts there, whether its first copy is gone yet or not.
    for (const root of [layout.RUNS, layout.COLD]) {
      for (const name of layout.runFolders(this.#files, root)) {
        for (const file of this.#files.list(`${root}/${name}`)) {
          const named = layout.archiveName(file)
          if (!named) continue
          this.#greatest = Math.max(this.#greatest, named.archive)
          if (named.manifest) this.#places.set(named.archive, `${root}/${name}`)
        }
      }
    }
    return this.#places
  }
}

function unpacked(bytes: Buffer | undefined): Buffer | undefined {
  if (!bytes) return undefined
  try {
    return unpackSync(bytes)
  } catch {
    return undefined
  }
}
