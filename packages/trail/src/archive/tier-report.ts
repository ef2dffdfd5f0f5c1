// What lies where (W-TRAIL-24), and how far the replica follows, read from manifests and file names.
import type { RunId, Ticks } from '@parley/core'
import { type Files, readingFile, readWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import type { RunSummary } from '../store/store.ts'
import { keysToKeep } from './cold-keys.ts'
import type { ColdCopies } from './copies.ts'
import {
  archiveName,
  below,
  COLD,
  COLD_KEYS,
  COLD_SNAPSHOTS,
  RUNS,
  recordsFile,
  runFolders,
  SNAPSHOTS,
  safeName,
} from './layout.ts'
import { type Manifest, manifestIn } from './manifest.ts'
import type { Replica } from './replica.ts'

export interface TierFigures {
  readonly entries: number
  /** On disk; what is compressed counts as it is. */
  readonly bytes: number
  readonly runs: number
  /** When the oldest of these runs began; null where there is none. */
  readonly oldest: Ticks | null
}

export interface TierReport {
  /** Runs that go on. */
  readonly hot: TierFigures
  /** Runs that have ended, without what is in the cold tier. */
  readonly warm: TierFigures
  readonly cold: TierFigures
  /** Entries that were deleted after their retention. */
  readonly deleted: number
  /** Manifests that cannot be read; what they list is not counted. */
  readonly unreadable: readonly string[]
  readonly replica: ReplicaReport | null
}

export interface ReplicaReport {
  readonly name: string
  /** Files of the cold tier that it lacks, has in another size, or still has although they were deleted. */
  readonly lacking: number
  readonly problem?: string
}

interface TierSources extends Omit<ColdCopies, 'squeeze'> {
  readonly runs: readonly RunSummary[]
  readonly inLog: ReadonlyMap<RunId, number>
}

type Counted = { -readonly [Figure in keyof TierFigures]: TierFigures[Figure] }

export async function reportTiers({ files, archives, replica, runs, inLog }: TierSources): Promise<TierReport> {
  const tiers = { hot: nothing(), warm: nothing(), cold: nothing() }
  const unreadable: string[] = []
  let deleted = 0
  for (const run of runs) {
    const listed: Manifest[] = []
    for await (const manifest of archives.catalogue.inspect(run.run)) {
      if (typeof manifest === 'string') unreadable.push(manifest)
      else listed.push(manifest)
    }
    const entriesOf = (of: readonly Manifest[]) => of.reduce((sum, { entries }) => sum + entries.length, 0)
    deleted += entriesOf(listed.filter(each => each.deleted))
    const cold = entriesOf(listed.filter(each => each.tier === 'cold' && !each.deleted))
    const folder = safeName(run.run)
    const rest = Math.max(0, run.entries - cold)
    add(run.ended ? tiers.warm : tiers.hot, run, rest, bytesIn(files, `${RUNS}/${folder}`) + (inLog.get(run.run) ?? 0))
    add(tiers.cold, run, cold, bytesIn(files, `${COLD}/${folder}`))
    await pause()
  }
  const report = { ...tiers, deleted, unreadable }
  return { ...report, replica: replica ? await reportReplica(files, replica) : null }
}

function nothing(): Counted {
  return { entries: 0, bytes: 0, runs: 0, oldest: null }
}

function add(tier: Counted, { created }: RunSummary, entries: number, bytes: number): void {
  tier.bytes += bytes
  if (entries === 0) return
  tier.entries += entries
  tier.runs++
  if (tier.oldest === null || created < tier.oldest) tier.oldest = created
}

function bytesIn(files: Files, folder: string): number {
  return files.list(folder).reduce((sum, name) => sum + sizeOf(files, `${folder}/${name}`), 0)
}

/** 0 where it is gone meanwhile. */
function sizeOf(files: Files, path: string): number {
  try {
    return readingFile(files, path, file => file.size)
  } catch {
    return 0
  }
}

/** By names and sizes; `replicate` and `restore` look at the bytes. */
export async function reportReplica(files: Files, replica: Replica): Promise<ReplicaReport> {
  const { name } = replica
  try {
    const lacking = await replica.use(async target => {
      const cold = below(files, COLD)
      const keys = keysToKeep(files)
      let missing = keys && !readWhole(target, COLD_KEYS)?.equals(keys) ? 1 : 0
      for (const folder of runFolders(cold, '')) {
        const names = cold.list(folder).filter(each => !each.endsWith('.tmp'))
        const listed = new Set(names.map(archiveName).map(each => each?.manifest && each.archive))
        for (const each of names) {
          const { archive } = archiveName(each) ?? {}
          // Records without a manifest are no archive.
          if (archive !== undefined && !listed.has(archive)) continue
          if (!isCopied(cold, target, `${folder}/${each}`)) missing++
        }
        for (const archive of listed) if (archive && isKept(cold, target, folder, archive)) missing++
        await pause()
      }
      for (const each of files.list(SNAPSHOTS)) {
        if (each.endsWith('.zst') && !target.exists(`${COLD_SNAPSHOTS}/${each}`)) missing++
      }
      return missing
    })
    return { name, lacking }
  } catch (cause) {
    return { name, lacking: 0, problem: cause instanceof Error ? cause.message : String(cause) }
  }
}

/** Whether the replica still has the records of an archive that was deleted here. */
function isKept(cold: Files, target: Files, folder: string, archive: number): boolean {
  const records = recordsFile(folder, archive)
  if (cold.exists(records) || !target.exists(records)) return false
  return manifestIn(cold, folder, archive)?.deleted ?? false
}

/** The mark of a whole run is small and changes: it is compared. */
function isCopied(cold: Files, target: Files, path: string): boolean {
  if (!target.exists(path)) return false
  if (archiveName(path.slice(path.indexOf('/') + 1))) return sizeOf(cold, path) === sizeOf(target, path)
  return readWhole(target, path)?.equals(readWhole(cold, path) ?? Buffer.alloc(0)) ?? false
}
