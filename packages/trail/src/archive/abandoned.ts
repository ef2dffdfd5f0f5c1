// Archives that only the replica has and that never counted: what they hold was archived again under another number.
// They are not restored, or one copy would remain when the other is deleted (W-TRAIL-28).
import type { Files } from '../log/files.ts'
import { archiveName, below, COLD, RUNS, recordsFile } from './layout.ts'
import { type Manifest, manifestIn, manifestNames } from './manifest.ts'

/** Their numbers, in the folder of one run. What nobody else lists is the last copy there is, and none of them. */
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
