// The storage life cycle of one run (W-TRAIL-24 to 30): tiers, compaction, retention, snapshots. It never appends: what must be on
// the trail is proposed to the runtime.
import {
  asParleyError,
  deadline,
  err,
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
import { compactionClass } from './events/index.ts'
import { trailLimits } from './limits.ts'
import type { RunTrail } from './run-trail.ts'
import type { TrailStore } from './store/store.ts'

export const TIERS = ['hot', 'warm', 'cold'] as const
export type Tier = (typeof TIERS)[number]

export interface Retention {
  /** Milliseconds that an archive is kept at least. */
  readonly cold: number
}

export interface Compacted {
  readonly archived: number
  /** One summary for each archive that was written. */
  readonly summaries: readonly ProposedEntry<'trail_compacted'>[]
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
    if ((await this.#archived()).has(seq)) return 'cold'
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
      const { archivable, preserved } = await this.#classify(workspace)
      const summaries: ProposedEntry<'trail_compacted'>[] = []
      for (let from = 0; from < archivable.length; from += trailLimits.archiveEntries) {
        const seqs = archivable.slice(from, from + trailLimits.archiveEntries)
        summaries.push(summary(await this.#store.archive(this.#run.id, workspace, seqs, at), preserved))
      }
      return ok({ archived: archivable.length, summaries })
    } catch (cause) {
      return err(asParleyError(cause))
    }
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
      if (now < until)
        return refuse('retention_active', `Archive ${archive} is inside its retention window and stays.`)
      const covered = await this.#run.query({
        event_type: 'trail_compacted',
        body: { archive_hash: manifest.archive_hash },
        limit: 1,
      })
      if (!covered.ok) return covered
      if (covered.value.entries.length === 0) {
        return refuse('retention_active', `No trail_compacted entry covers archive ${archive}; it stays.`)
      }
      await this.#store.deleteArchive(manifest)
      return ok({ ...manifest, deleted: true })
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /** Freezes a finished run up to a `seq`, if its chain is unbroken up to there (W-TRAIL-30). */
  async snapshot(
    id: string,
    upTo: number,
  ): Promise<Result<ProposedEntry<'trail_snapshot_created'>> & { violations?: readonly ProposedEntry[] }> {
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

  async #archived(): Promise<Set<number>> {
    const manifests = await this.#store.manifests(this.#run.id)
    return new Set(manifests.flatMap(manifest => manifest.entries.map(({ seq }) => seq)))
  }

  async #classify(workspace: WorkspaceId): Promise<{ archivable: number[]; preserved: number }> {
    const archived = await this.#archived()
    const archivable: number[] = []
    let preserved = 0
    let after = 0
    for (;;) {
      const page = await this.#run.query({ workspace, after })
      if (!page.ok) throw page.error
      for (const entry of page.value.entries) {
        if (archived.has(entry.seq)) continue
        if (compactionClass(entry.event_type, entry.body) === 'A') archivable.push(entry.seq)
        else preserved++
      }
      if (!page.value.more) return { archivable, preserved }
      after = page.value.cursor
    }
  }
}

function summary(manifest: Manifest, preserved: number): ProposedEntry<'trail_compacted'> {
  return {
    event_type: 'trail_compacted',
    workspace: null,
    actor: 'protocol',
    body: {
      workspace: manifest.workspace,
      entries_archived: manifest.entries.length,
      entries_preserved: preserved,
      archive_range: { from: manifest.entries[0]!.timestamp, to: manifest.entries.at(-1)!.timestamp },
      archive_hash: manifest.archive_hash,
    },
  }
}
