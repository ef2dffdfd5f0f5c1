// The manifest of an archive as it lies in one copy of the cold tier, or in the warm one, found by the archive's
// number.
import { type Files, readWhole } from '../log/files.ts'
import { archiveName } from './layout.ts'
import { asFound, type Manifest, parseManifest } from './manifest.ts'
import { unpackSync } from './squeeze.ts'

/** The newer form comes first. */
export function manifestNames(tier: Files, folder: string, archive: number): string[] {
  return tier
    .list(folder)
    .filter(name => archiveName(name)?.archive === archive && archiveName(name)?.manifest)
    .sort((a, b) => b.length - a.length)
}

/** The manifest of an archive in one copy of the cold tier as it counts there, if it can be read. */
export function manifestIn(tier: Files, folder: string, archive: number): Manifest | undefined {
  const noted = notedIn(tier, folder, archive)
  return noted && asFound(noted, tier, folder)
}

/** The same as it was written: it may note a deletion that has not come to its end there. */
export function notedIn(tier: Files, folder: string, archive: number): Manifest | undefined {
  for (const name of manifestNames(tier, folder, archive)) {
    const bytes = readWhole(tier, `${folder}/${name}`)
    try {
      const manifest = bytes && parseManifest(name.endsWith('.zst') ? unpackSync(bytes) : bytes)
      if (manifest) return manifest
    } catch {
      // The next form may be whole.
    }
  }
  return undefined
}
