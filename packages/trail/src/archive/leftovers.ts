// What a crash leaves in the cold tier of an archive that never counted: records without a manifest. They are
// recognized because their content is elsewhere too: a file that merely lost its manifest may be the last copy.
import { ParleyError, type RunId } from '@parley/core'
import type { TrailIndex } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import { type Files, readWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import type { Catalogue } from './catalogue.ts'
import { type Contents, contentsOf } from './contents.ts'
import { archiveName, below, COLD, isTorn, RUNS, recordsFile, runOf, safeName } from './layout.ts'
import { type Manifest, manifestIn, manifestNames } from './manifest.ts'
import type { Squeeze } from './squeeze.ts'

interface LeftoversOptions {
  readonly files: Files
  readonly catalogue: Catalogue
  readonly squeeze: Squeeze
  readonly index: Pick<TrailIndex, 'select' | 'object'>
  readonly position: () => number
}

export class Leftovers {
  readonly #options: LeftoversOptions

  constructor(options: LeftoversOptions) {
    this.#options = options
  }

  /** Removes those of one run. Nothing is being written to the cold tier meanwhile. */
  async sweep(run: RunId): Promise<void> {
    const { files, catalogue } = this.#options
    const name = safeName(run)
    const folder = `${COLD}/${name}`
    const names = files.list(folder)
    const named = names.flatMap(each => archiveName(each) ?? [])
    const whole = new Set(named.flatMap(({ archive, manifest }) => (manifest ? archive : [])))
    const dead = names.filter(isTorn).map(each => `${folder}/${each}`)
    for (const { archive } of named) {
      // The replica may have the archive under this number, so no other one may get it until a higher number counts.
      if (whole.has(archive) || archive >= catalogue.highest) continue
      if (await this.isLeftover(name, archive)) dead.push(recordsFile(folder, archive))
    }
    for (const file of dead) files.remove(file)
    if (dead.length > 0) await files.syncFolder(folder)
  }

  /** Whether records in the folder of a run that have no manifest hold nothing that would be missed. */
  async isLeftover(folder: string, archive: number): Promise<boolean> {
    const { files, squeeze } = this.#options
    const packed = readWhole(files, recordsFile(`${COLD}/${folder}`, archive))
    if (!packed) return false
    let contents: Contents
    try {
      contents = await contentsOf(await squeeze.decompress(packed))
    } catch {
      // What cannot be read cannot be compared.
      return false
    }
    return this.#isElsewhere(runOf(folder), contents)
  }

  /** What was deleted for good since is not missed either. */
  async #isElsewhere(run: RunId, { entries, objects }: Contents): Promise<boolean> {
    const { catalogue, index, position } = this.#options
    const known = new Set<string>()
    try {
      for await (const manifest of catalogue.manifests(run)) {
        if (!manifest.deleted) continue
        for (const { hash } of manifest.entries) known.add(hash)
        for (const { id } of manifest.objects) known.add(id)
      }
      const before = (entries.at(-1)?.seq ?? 0) + 1
      for (let after = (entries[0]?.seq ?? 1) - 1; after + 1 < before; await pause()) {
        const range = { run, after, before, order: 'ascending', limit: trailLimits.pageEntries } as const
        const page = await index.select(range, position())
        for (const { hash } of page.entries) known.add(hash)
        after = page.more ? page.entries.at(-1)!.seq : before
      }
      if (!entries.every(({ hash }) => known.has(hash))) return false
      for (const { id } of objects) if (!known.has(id) && !(await index.object(run, id, position()))) return false
      return true
    } catch (cause) {
      if (cause instanceof ParleyError && cause.code === 'trail_damaged') return false
      throw cause
    }
  }
}

/**
 * Archives in a run's folder that only the replica has and that never counted: what they hold was archived again under
 * another number. They are not restored, or one copy would remain when the other is deleted (W-TRAIL-28).
 */
export function abandonedIn(replica: Files, files: Files, folder: string): readonly number[] {
  const tiers = [below(files, RUNS), below(files, COLD)]
  const here = new Set(tiers.flatMap(tier => listedIn(tier, folder)))
  const others = listedIn(replica, folder).filter(archive => !here.has(archive))
  if (others.length === 0) return []
  const listed = new Set<string>()
  const list = (manifest: Manifest) => {
    for (const each of namesIn(manifest)) listed.add(each)
  }
  for (const tier of tiers) {
    for (const archive of listedIn(tier, folder)) {
      const manifest = manifestIn(tier, folder, archive)
      if (manifest) list(manifest)
    }
  }
  const abandoned: number[] = []
  // Of two that hold the same the one with the higher number was written because the other did not count.
  for (const archive of others.toSorted((a, b) => b - a)) {
    const manifest = manifestIn(replica, folder, archive)
    if (!manifest) continue
    if (namesIn(manifest).every(each => listed.has(each))) abandoned.push(archive)
    else list(manifest)
  }
  return abandoned
}

/** Takes them out of the replica. The manifest goes first, for good: there is never one without its records. */
export async function dropAbandoned(replica: Files, files: Files, folder: string): Promise<void> {
  for (const archive of abandonedIn(replica, files, folder)) {
    for (const name of manifestNames(replica, folder, archive)) replica.remove(`${folder}/${name}`)
    await replica.syncFolder(folder)
    const records = recordsFile(folder, archive)
    if (replica.exists(records)) replica.remove(records)
    await replica.syncFolder(folder)
  }
}

function namesIn({ entries, objects }: Manifest): string[] {
  return [...entries.map(({ hash }) => hash), ...objects.map(({ id }) => id)]
}

function listedIn(tier: Files, folder: string): number[] {
  const named = tier.list(folder).flatMap(name => archiveName(name) ?? [])
  return [...new Set(named.flatMap(({ archive, manifest }) => (manifest ? archive : [])))]
}
