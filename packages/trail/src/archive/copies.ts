// The two copies of the cold tier compared: brings the replica up to date, and repairs the tier from it.
import { Blobs } from '../log/blobs.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import { spanRecord } from '../log/record.ts'
import { sha256 } from '../run/chain.ts'
import type { RestoreReport } from '../store/store.ts'
import { type Archives, blobsOf } from './archives.ts'
import {
  archiveName,
  below,
  COLD,
  COLD_BLOBS,
  COLD_SNAPSHOTS,
  madeFolder,
  recordsFile,
  runFolders,
  SNAPSHOTS,
  safeName,
  WHOLE,
} from './layout.ts'
import type { Leftovers } from './leftovers.ts'
import { abandonedIn, dropAbandoned } from './leftovers.ts'
import { type Manifest, manifestIn, manifestNames, notedIn } from './manifest.ts'
import type { Replica } from './replica.ts'
import type { Squeeze } from './squeeze.ts'

export interface ColdCopies {
  readonly files: Files
  readonly archives: Archives
  readonly replica: Replica | undefined
  readonly squeeze: Squeeze
}

/** Copies to the replica what it lacks: archives with manifests and blobs, and snapshots. Returns how many files. */
export async function replicateCold({ files, archives, replica, squeeze }: ColdCopies): Promise<number> {
  if (!replica) return 0
  const keys = await archives.keepKeys()
  return replica.use(async target => {
    const cold = below(files, COLD)
    let copied = keys
    for await (const manifest of archives.catalogue.manifests()) {
      if (manifest.tier === 'cold') copied += await copyArchive(cold, target, manifest, squeeze)
    }
    for (const folder of runFolders(cold, '')) {
      await dropAbandoned(target, files, folder)
      const path = `${folder}/${WHOLE}`
      if (!cold.exists(path) || readWhole(target, path)?.equals(readWhole(cold, path)!)) continue
      await copyFile(cold, path, target, path)
      copied++
    }
    for (const name of files.list(SNAPSHOTS)) {
      if (target.exists(`${COLD_SNAPSHOTS}/${name}`) || !name.endsWith('.zst')) continue
      await copyFile(files, `${SNAPSHOTS}/${name}`, target, `${COLD_SNAPSHOTS}/${name}`)
      copied++
    }
    return copied
  })
}

async function copyArchive(cold: Files, target: Files, manifest: Manifest, squeeze: Squeeze): Promise<number> {
  const folder = safeName(manifest.run)
  const records = recordsFile(folder, manifest.archive)
  let copied = 0
  const from = new Blobs(below(cold, COLD_BLOBS))
  const to = new Blobs(below(target, COLD_BLOBS))
  for (const blob of blobsOf(manifest)) {
    if (target.exists(`${COLD_BLOBS}/${blob.slice(0, 2)}/${blob}`)) continue
    await madeFolder(target, COLD_BLOBS)
    await to.put(blob, from.get(blob))
    copied++
  }
  if (!manifest.deleted && !(await isSound(target, manifest, squeeze))) {
    if (!(await isSound(cold, manifest, squeeze))) return copied
    await copyFile(cold, records, target, records)
    copied++
  }
  for (const name of manifestNames(cold, folder, manifest.archive)) {
    const path = `${folder}/${name}`
    if (target.exists(path) && readWhole(cold, path)?.equals(readWhole(target, path)!)) continue
    await copyFile(cold, path, target, path)
    copied++
  }
  if (manifest.deleted && target.exists(records)) {
    target.remove(records)
    await target.syncFolder(folder)
  }
  return copied
}

/** Restores from the replica what is missing or damaged in the cold tier; each copy is checked before it is placed. */
export async function restoreCold(
  { files, replica, squeeze }: ColdCopies,
  leftovers: Pick<Leftovers, 'isLeftover'>,
): Promise<RestoreReport> {
  const restored: string[] = []
  const lost: string[] = []
  const cold = below(files, COLD)
  const noteLost = async (source: Files | undefined) => {
    for (const [folder, archive] of archivesIn(cold)) {
      const manifest = manifestIn(cold, folder, archive) ?? (source && manifestIn(source, folder, archive))
      if (!manifest) {
        const torn = manifestNames(cold, folder, archive).length > 0
        if (torn || !(await leftovers.isLeftover(folder, archive))) lost.push(`${COLD}/${folder}/${archive}.json.zst`)
      } else if (!manifest.deleted && !(await isSound(cold, manifest, squeeze)))
        lost.push(`${COLD}/${recordsFile(folder, archive)}`)
      else for (const blob of blobsOf(manifest)) if (!hasBlob(cold, blob)) lost.push(`${COLD}/${blobPath(blob)}`)
      await pause()
    }
  }
  if (!replica) {
    await noteLost(undefined)
    return { restored, lost }
  }
  return replica.use(async source => {
    for (const folder of runFolders(source, '')) {
      const abandoned = abandonedIn(source, files, folder)
      for (const [, archive] of archivesIn(source, [folder])) {
        const manifest = abandoned.includes(archive) ? undefined : manifestIn(source, folder, archive)
        if (manifest) restored.push(...(await restoreArchive(source, cold, manifest, squeeze)))
        await pause()
      }
      const path = `${folder}/${WHOLE}`
      if (!source.exists(path) || cold.exists(path)) continue
      await copyFile(source, path, cold, path)
      restored.push(`${COLD}/${path}`)
    }
    await noteLost(source)
    return { restored, lost }
  })
}

async function restoreArchive(source: Files, cold: Files, manifest: Manifest, squeeze: Squeeze): Promise<string[]> {
  const restored: string[] = []
  const folder = safeName(manifest.run)
  const { archive } = manifest
  const known = notedIn(cold, folder, archive)
  for (const blob of blobsOf(manifest)) {
    if (hasBlob(cold, blob) || !hasBlob(source, blob)) continue
    await copyFile(source, blobPath(blob), cold, blobPath(blob))
    restored.push(`${COLD}/${blobPath(blob)}`)
  }
  const records = recordsFile(folder, archive)
  // A replica that was away still has the records of what was deleted since: they must not come back.
  const wanted = cold.exists(records) || !(known ?? notedIn(source, folder, archive))?.deleted
  if (wanted && !(await isSound(cold, manifest, squeeze)) && (await isSound(source, manifest, squeeze))) {
    await copyFile(source, records, cold, records)
    restored.push(`${COLD}/${records}`)
  }
  if (known) return restored
  for (const name of manifestNames(source, folder, archive)) {
    await copyFile(source, `${folder}/${name}`, cold, `${folder}/${name}`)
    restored.push(`${COLD}/${folder}/${name}`)
  }
  return restored
}

function* archivesIn(cold: Files, folders = runFolders(cold, '')): Generator<readonly [string, number]> {
  for (const folder of folders) {
    const named = cold.list(folder).map(archiveName)
    yield* [...new Set(named.flatMap(each => each?.archive ?? []))].map(each => [folder, each] as const)
  }
}

/**
 * Whether records are what the manifest says: by the file's hash or, where none is known, by the hash of every entry.
 */
async function isSound(cold: Files, manifest: Manifest, squeeze: Squeeze): Promise<boolean> {
  const packed = readWhole(cold, recordsFile(safeName(manifest.run), manifest.archive))
  if (!packed) return false
  if (manifest.sha256 !== null) return sha256(packed) === manifest.sha256
  try {
    const bytes = await squeeze.decompress(packed)
    return manifest.entries.every(({ at, length, hash }) => {
      const span = spanRecord(bytes, at, Math.min(at + length, bytes.length))
      return span !== undefined && sha256(bytes.subarray(span.payload, span.end)) === hash
    })
  } catch {
    return false
  }
}

function blobPath(blob: string): string {
  return `${COLD_BLOBS}/${blob.slice(0, 2)}/${blob}`
}

function hasBlob(cold: Files, blob: string): boolean {
  const data = readWhole(cold, blobPath(blob))
  return data !== undefined && sha256(data) === blob
}

async function copyFile(source: Files, from: string, target: Files, to: string): Promise<void> {
  await madeFolder(target, to.slice(0, to.lastIndexOf('/')))
  await writeWhole(target, to, readWhole(source, from)!)
}
