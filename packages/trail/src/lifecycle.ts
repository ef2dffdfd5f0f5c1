// The storage life cycle of one run (W-TRAIL-24 to 30): tiers, compaction, retention, snapshots. It never appends: what must be on
// the trail is proposed to the runtime.
import {
  deadline,
  err,
  formatTimestamp,
  ok,
  ParleyError,
  parseTimestamp,
  type Result,
  refuse,
  type Ticks,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { Manifest } from './archive/manifest.ts'
import { globalEntry } from './chain.ts'
import type { ProposedEntry } from './entry.ts'
import { moveError } from './errors.ts'
import { compactionClass, type EventBody } from './events/index.ts'
import { trailLimits } from './limits.ts'
import { pause } from './log/pause.ts'
import type { RunTrail } from './run-trail.ts'
import { entryAt } from './store/entry-at.ts'
import type { TrailStore } from './store/store.ts'

export const TIERS = ['hot', 'warm', 'cold'] as const
export type Tier = (typeof TIERS)[number]

export interface Retention {
  /** Milliseconds behind the end of a run before it moves to the cold tier; at least its duration plus the time to analyse it. */
  readonly warm?: number
  /** Milliseconds that an archive is kept at least. */
  readonly cold: number
}

export interface Compacted {
  readonly archived: number
  /** One summary for each archive that was written. */
  readonly summaries: readonly ProposedEntry<'trail_compacted'>[]
}

/** A refusal for damage comes with what to record of it. */
export type Snapshot = Result<ProposedEntry<'trail_snapshot_created'>> & {
  readonly violations?: readonly ProposedEntry[]
}

export class RunLifecycle {
  readonly #run: RunTrail
  readonly #store: TrailStore
  #last: Promise<unknown> = Promise.resolve()

  constructor(run: RunTrail, store: TrailStore) {
    this.#run = run
    this.#store = store
  }

  /** One change after the other: what one has archived, the next must know of. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work)
    this.#last = done.catch(() => {})
    return done
  }

  /** Where an entry is kept; undefined for one that does not exist or was deleted (W-TRAIL-24, AMB-58). */
  async tierOf(seq: number): Promise<Tier | undefined> {
    const page = await this.#store.select({
      run: this.#run.id,
      after: seq - 1,
      before: seq + 1,
      order: 'ascending',
      limit: 1,
    })
    const [stored] = page.entries
    if (!stored) return undefined
    if ((await this.#store.whereIs(this.#run.id, seq)) === 'cold') return 'cold'
    const { workspace } = globalEntry(stored)
    const model = await this.#run.model()
    const ended = workspace === null ? model.ended : model.workspaces.get(workspace)?.ended !== undefined
    return ended ? 'warm' : 'hot'
  }

  /** Moves what is archivable of a terminal workspace to the cold tier (W-TRAIL-27). Nothing is deleted. */
  compact(workspace: WorkspaceId, at: Timestamp): Promise<Result<Compacted>> {
    return this.#alone(() => this.#compact(workspace, at))
  }

  async #compact(workspace: WorkspaceId, at: Timestamp): Promise<Result<Compacted>> {
    try {
      const facts = (await this.#run.model()).workspaces.get(workspace)
      if (!facts) return refuse('not_found', `There is no workspace ${workspace} in ${this.#run.id}.`)
      if (facts.ended === undefined)
        return refuse(
          'invalid_state',
          `${workspace} is ${facts.state}; only terminal workspaces are compacted.`,
        )
      const classes = await this.#classify({ workspace })
      return ok(await this.#archiveEach(classes, at))
    } catch (cause) {
      return err(moveError(cause))
    }
  }

  /** The same for every terminal workspace of the run. Summaries of earlier archives that never got onto the trail are proposed again. */
  compactAll(at: Timestamp): Promise<Result<Compacted>> {
    return this.#alone(async () => {
      try {
        const { workspaces } = await this.#run.model()
        const classes = await this.#classify({})
        for (const id of classes.keys()) if (workspaces.get(id)?.ended === undefined) classes.delete(id)
        const again = await this.#uncovered(classes)
        const { archived, summaries } = await this.#archiveEach(classes, at)
        return ok({ archived, summaries: [...again, ...summaries] })
      } catch (cause) {
        return err(moveError(cause))
      }
    })
  }

  async #archiveEach(classes: ReadonlyMap<WorkspaceId, Classes>, at: Timestamp): Promise<Compacted> {
    const summaries: ProposedEntry<'trail_compacted'>[] = []
    let archived = 0
    for (const [workspace, { archivable, preserved }] of classes) {
      for (let from = 0; from < archivable.length; from += trailLimits.archiveEntries) {
        const seqs = archivable.slice(from, from + trailLimits.archiveEntries)
        const manifest = await this.#store.archive(this.#run.id, workspace, seqs, at)
        summaries.push(summary(manifest, workspace, preserved))
        archived += seqs.length
      }
    }
    return { archived, summaries }
  }

  /** A crash between an archive and its summary leaves the archive without one. */
  async #uncovered(classes: ReadonlyMap<WorkspaceId, Classes>): Promise<ProposedEntry<'trail_compacted'>[]> {
    const open: ProposedEntry<'trail_compacted'>[] = []
    for (const manifest of await this.#store.manifests(this.#run.id)) {
      const { kind, workspace, deleted } = manifest
      if (kind !== 'workspace' || workspace === null || deleted || (await this.#isSummedUp(manifest)))
        continue
      open.push(summary(manifest, workspace, classes.get(workspace)?.preserved ?? 0))
    }
    return open
  }

  async #isSummedUp({ archive_hash }: Manifest): Promise<boolean> {
    const query = { event_type: 'trail_compacted', body: { archive_hash }, limit: 1 } as const
    const covered = await this.#run.query(query)
    if (!covered.ok) throw covered.error
    return covered.value.entries.length > 0
  }

  /** Moves the files of a run that has ended to the cold tier after its warm retention (W-TRAIL-28); returns how many. */
  expire(now: Ticks, retention: Retention): Promise<Result<number>> {
    return this.#alone(async () => {
      try {
        const ended = await this.#endedAt()
        if (ended === undefined)
          return refuse(
            'invalid_state',
            `${this.#run.id} has not ended; only finished runs move to the cold tier.`,
          )
        if (now < deadline(ended, retention.warm ?? 0))
          return refuse('retention_active', `${this.#run.id} is inside its warm retention window and stays.`)
        return ok(await this.#store.expire(this.#run.id, formatTimestamp(now)))
      } catch (cause) {
        return err(moveError(cause))
      }
    })
  }

  async #endedAt(): Promise<Ticks | undefined> {
    const { end: seq } = await this.#run.model()
    if (seq === undefined) return undefined
    const entry = await entryAt(this.#store, this.#run.id, seq)
    if (entry) return parseTimestamp(globalEntry(entry).timestamp)
    // Retention may have deleted it; its manifest stays.
    const listed = (await this.#store.manifests(this.#run.id)).flatMap(({ entries }) => entries)
    const gone = listed.find(each => each.seq === seq)
    return gone && parseTimestamp(gone.timestamp)
  }

  /** Deletes one archive after its retention (W-TRAIL-28); its manifest stays, so that the chains still verify. */
  deleteArchive(archive: number, now: Ticks, retention: Retention): Promise<Result<Manifest>> {
    return this.#alone(() => this.#delete(archive, now, retention))
  }

  async #delete(archive: number, now: Ticks, retention: Retention): Promise<Result<Manifest>> {
    try {
      const manifest = (await this.#store.manifests(this.#run.id)).find(each => each.archive === archive)
      if (!manifest || manifest.deleted)
        return refuse('not_found', `${this.#run.id} has no archive ${archive}.`)
      const until = deadline(parseTimestamp(manifest.archived_at)!, retention.cold)
      if (manifest.tier !== 'cold' || now < until)
        return refuse('retention_active', `Archive ${archive} is inside its retention window and stays.`)
      const covered =
        manifest.kind === 'run' ? await this.#isFrozen(manifest) : await this.#isSummedUp(manifest)
      if (!covered) {
        const by = manifest.kind === 'run' ? 'trail_snapshot_created' : 'trail_compacted'
        return refuse('retention_active', `No ${by} entry that stays covers archive ${archive}; it stays.`)
      }
      await this.#store.deleteArchive(manifest)
      return ok({ ...manifest, deleted: true })
    } catch (cause) {
      return err(moveError(cause))
    }
  }

  /** Freezes a finished run up to a `seq`, if its chain is unbroken up to there (W-TRAIL-30). */
  async snapshot(id: string, upTo: number): Promise<Snapshot> {
    try {
      return await this.#snapshot(id, upTo)
    } catch (cause) {
      return err(moveError(cause))
    }
  }

  async #snapshot(id: string, upTo: number): Promise<Snapshot> {
    const report = await this.#run.verify({ skipSignatures: true })
    const broken = report.findings.filter(finding => finding.seq <= upTo)
    if (broken.length > 0) {
      return {
        ok: false,
        error: new ParleyError(
          'trail_damaged',
          `${this.#run.id} is damaged before entry ${upTo}: ${broken[0]!.message}. No snapshot was taken.`,
        ),
        violations: report.violations.slice(0, broken.length),
      }
    }
    if (!(await this.#run.model()).ended)
      return refuse('invalid_state', `${this.#run.id} has not ended; snapshots are taken of finished runs.`)
    const page = await this.#store.select({
      run: this.#run.id,
      after: upTo - 1,
      before: upTo + 1,
      order: 'ascending',
      limit: 1,
    })
    const [last] = page.entries
    if (!last) return refuse('not_found', `${this.#run.id} has no entry ${upTo}.`)
    const entry_count = await this.#store.snapshot(this.#run.id, id, upTo)
    return ok({
      event_type: 'trail_snapshot_created',
      workspace: null,
      actor: 'protocol',
      body: { snapshot_id: id, up_to: upTo, entry_count, head_hash: last.hash },
    })
  }

  /** Whether a snapshot covers all that an archive holds, and is told of outside of it. Those of an imported run are not here. */
  async #isFrozen({ entries }: Manifest): Promise<boolean> {
    if (this.#store.imports.has(this.#run.id)) return false
    const page = await this.#run.query({ event_type: 'trail_snapshot_created' })
    if (!page.ok) throw page.error
    const last = entries.at(-1)?.seq ?? 0
    return page.value.entries.some(entry => {
      const { up_to } = entry.body as EventBody<'trail_snapshot_created'>
      return last <= up_to && !entries.some(({ seq }) => seq === entry.seq)
    })
  }

  async #archived(): Promise<Set<number>> {
    const cold = (await this.#store.manifests(this.#run.id)).filter(({ tier }) => tier === 'cold')
    return new Set(cold.flatMap(manifest => manifest.entries.map(({ seq }) => seq)))
  }

  /** What of each workspace moves to the cold tier, and how many entries stay (W-TRAIL-27). */
  async #classify(filter: { readonly workspace?: WorkspaceId }): Promise<Map<WorkspaceId, Classes>> {
    const archived = await this.#archived()
    const classes = new Map<WorkspaceId, Classes>()
    let after = 0
    for (;;) {
      const page = await this.#run.query({ ...filter, after })
      if (!page.ok) throw page.error
      for (const { seq, workspace, event_type, body } of page.value.entries) {
        if (workspace === null || archived.has(seq)) continue
        const found = classes.get(workspace) ?? { archivable: [], preserved: 0 }
        classes.set(workspace, found)
        if (compactionClass(event_type, body) === 'A') found.archivable.push(seq)
        else found.preserved++
      }
      if (!page.value.more) return classes
      after = page.value.cursor
      await pause()
    }
  }
}

interface Classes {
  readonly archivable: number[]
  preserved: number
}

function summary(
  manifest: Manifest,
  workspace: WorkspaceId,
  preserved: number,
): ProposedEntry<'trail_compacted'> {
  return {
    event_type: 'trail_compacted',
    workspace: null,
    actor: 'protocol',
    body: {
      workspace,
      entries_archived: manifest.entries.length,
      entries_preserved: preserved,
      archive_range: { from: manifest.entries[0]!.timestamp, to: manifest.entries.at(-1)!.timestamp },
      archive_hash: manifest.archive_hash,
    },
  }
}
