// How long records are kept where, and what must cover an archive before it may be deleted (W-TRAIL-28).
import { deadline, formatTimestamp, ok, parseTimestamp, type Result, refuse, type Ticks } from '@parley/core'
import type { Manifest } from '../archive/manifest.ts'
import type { EventBody } from '../events/index.ts'
import { globalEntry } from '../run/chain.ts'
import type { RunTrail } from '../run/run-trail.ts'
import { entryAt } from '../store/entry-at.ts'
import type { TrailStore } from '../store/store.ts'
import { isSummedUp } from './compaction.ts'

export interface Retention {
  /** Milliseconds from the end of a run to its move to the cold tier; at least its duration plus time to analyse it. */
  readonly warm?: number
  /** Milliseconds that an archive is kept at least. */
  readonly cold: number
}

/** Moves the files of a run that has ended to the cold tier after its warm retention; returns how many. */
export async function expireRun(
  store: TrailStore,
  run: RunTrail,
  now: Ticks,
  retention: Retention,
): Promise<Result<number>> {
  const ended = await endedAt(store, run)
  if (ended === undefined)
    return refuse('invalid_state', `${run.id} has not ended; only finished runs move to the cold tier.`)
  if (now < deadline(ended, retention.warm ?? 0))
    return refuse('retention_active', `${run.id} is inside its warm retention window and stays.`)
  return ok(await store.tiers.expire(run.id, formatTimestamp(now)))
}

async function endedAt(store: TrailStore, run: RunTrail): Promise<Ticks | undefined> {
  const { end: seq } = await run.model()
  if (seq === undefined) return undefined
  const entry = await entryAt(store, run.id, seq)
  if (entry) return parseTimestamp(globalEntry(entry).timestamp)
  // Retention may have deleted it; its manifest stays.
  const listed = (await store.tiers.manifests(run.id)).flatMap(({ entries }) => entries)
  const gone = listed.find(each => each.seq === seq)
  return gone && parseTimestamp(gone.timestamp)
}

/** Deletes one archive after its retention; its manifest stays, so that the chains still verify. */
export async function deleteArchive(
  store: TrailStore,
  run: RunTrail,
  archive: number,
  now: Ticks,
  retention: Retention,
): Promise<Result<Manifest>> {
  const manifest = (await store.tiers.manifests(run.id)).find(each => each.archive === archive)
  if (!manifest || manifest.deleted) return refuse('not_found', `${run.id} has no archive ${archive}.`)
  const until = deadline(parseTimestamp(manifest.archived_at)!, retention.cold)
  if (manifest.tier !== 'cold' || now < until)
    return refuse('retention_active', `Archive ${archive} is inside its retention window and stays.`)
  const covered = manifest.kind === 'run' ? await isFrozen(store, run, manifest) : await isSummedUp(run, manifest)
  if (!covered) {
    const by = manifest.kind === 'run' ? 'trail_snapshot_created' : 'trail_compacted'
    return refuse('retention_active', `No ${by} entry that stays covers archive ${archive}; it stays.`)
  }
  await store.tiers.deleteArchive(manifest)
  return ok({ ...manifest, deleted: true })
}

/** Deletes the archives of a run whose retention is over and that something covers; returns how many. */
export async function deleteExpired(
  store: TrailStore,
  run: RunTrail,
  now: Ticks,
  retention: Retention,
): Promise<Result<number>> {
  let deleted = 0
  for (const { archive, deleted: gone, tier } of await store.tiers.manifests(run.id)) {
    if (gone || tier !== 'cold') continue
    const done = await deleteArchive(store, run, archive, now, retention)
    if (done.ok) deleted++
    else if (done.error.code !== 'retention_active') return done
  }
  return ok(deleted)
}

/** Whether a snapshot outside of an archive covers all that it holds. Those of an imported run are not here. */
async function isFrozen(store: TrailStore, run: RunTrail, { entries }: Manifest): Promise<boolean> {
  if (store.imports.has(run.id)) return false
  const page = await run.query({ event_type: 'trail_snapshot_created' })
  if (!page.ok) throw page.error
  const last = entries.at(-1)?.seq ?? 0
  return page.value.entries.some(entry => {
    const { up_to } = entry.body as EventBody<'trail_snapshot_created'>
    return last <= up_to && !entries.some(({ seq }) => seq === entry.seq)
  })
}
