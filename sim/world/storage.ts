// What a runtime does to keep its trail small and safe, as the simulator's world does it: compaction of workspaces and
// runs, the cold tier and its second copy, retention, snapshots, new keys. Each is allowed to fail where the disks do,
// and never otherwise.
import {
  asParleyError,
  formatTimestamp,
  ok,
  parseTimestamp,
  type Result,
  type RunId,
  refuse,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import { type ProposedEntry, stamp } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { Manifest, StorageManager } from '@parley/trail/testing'
import { Violation, violated } from '../checks/invariants.ts'
import type { RunModel } from '../model/model.ts'
import { isOver } from '../model/records.ts'
import type { Problem } from '../rules/rule.ts'
import { compactedProblem } from '../rules/storage.ts'
import type { World } from './world.ts'

const TICKS = 1000
/** Rounds after which a run must be out of the log: one for its summaries, one for the rest, and one to spare. */
const MOST_ROUNDS = 3

/** What each of them may be refused with although all is well. */
const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  compact: ['invalid_state', 'not_found'],
  compact_run: [],
  reclaim: [],
  expire: ['invalid_state', 'retention_active'],
  delete_archive: ['not_found', 'retention_active'],
  snapshot: ['invalid_state', 'not_found'],
  replicate: [],
  restore: [],
  rotate: ['too_many_keys'],
}
/** What only the second copy can be to blame for. */
const NEEDS_REPLICA = 'replica_unavailable'

export class Storage {
  readonly #world: World
  /** Archives that somebody wanted deleted, by run and number: after a crash they are there or gone. */
  readonly deletions = new Set<string>()
  #compactor: StorageManager | undefined
  readonly #compacting = new Set<string>()
  #snapshots = 0
  readonly #last = new Map<string, Promise<unknown>>()
  /** The newest timestamp that was given out here. */
  #stamped = 0
  /** Nobody knows which key counts: only another opening can tell. */
  uncertain = false

  constructor(world: World) {
    this.#world = world
  }

  /** Another life begins. */
  opened(): void {
    this.#compactor = undefined
    this.#compacting.clear()
    this.#last.clear()
    this.uncertain = false
  }

  get #trail() {
    return this.#world.life.trail
  }

  get #now(): Ticks {
    return this.#world.life.clock.now()
  }

  /** Runs that had ended before this step. */
  get finished(): RunModel[] {
    return [...this.#world.models.values()].filter(run => this.#world.finished.has(run.id))
  }

  /** A terminal workspace of a run that goes on (W-TRAIL-27). */
  compact(run: RunModel, workspace: string): void {
    this.#tend('compact', async () => {
      const compacted = await this.#trail.storage.compactWorkspace(
        run.id as RunId,
        workspace as WorkspaceId,
        formatTimestamp(this.#now),
      )
      if (!compacted.ok) return compacted
      if (!isOver(run.workspaces.get(workspace)?.status ?? ''))
        throw new Violation('W-TRAIL-27 only terminal workspaces are compacted', workspace)
      await this.#checkCompacted(run)
      // It waits for storage like any command, and so it is not waited for here.
      this.#record(run, compacted.value.summaries)
      return compacted
    })
  }

  /** In the run itself: where that has ended meanwhile, the next pass proposes the same again. */
  #record(run: RunModel, entries: readonly ProposedEntry[]): void {
    const handle = this.#world.runs.get(run.id)
    if (handle && entries.length > 0) this.#world.launch(() => handle.submit({ type: 'record', entries }))
  }

  /** All of a run that has ended (W-TRAIL-25, -27), or its first part: whatever stops it may stop it there. */
  compactRun(run: RunModel, rounds: number): void {
    // Whoever keeps the house does it: a run is never in two hands.
    if (this.#compacting.has(run.id)) return
    this.#compacting.add(run.id)
    this.#tend('compact_run', () =>
      this.#alone(run, () => this.#compactRun(run, rounds)).finally(() => this.#compacting.delete(run.id)),
    )
  }

  /** As whoever keeps the house does it: what is said of a run is on its trail before the next piece of work. */
  #alone<T>(run: RunModel, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(run.id) ?? Promise.resolve()).then(work)
    this.#last.set(
      run.id,
      done.catch(() => undefined),
    )
    return done
  }

  async #compactRun(run: RunModel, rounds: number): Promise<Result<unknown>> {
    const { life } = this.#world
    this.#compactor ??= this.#trail.storage
    for (let round = 1; ; round++) {
      const compacted = await this.#compactor.compactRun(run.id as RunId, formatTimestamp(this.#now))
      if (life.over || !compacted.ok) return compacted
      await this.#checkCompacted(run)
      if (compacted.value.done || round >= rounds) return compacted
      if (round >= MOST_ROUNDS)
        throw new Violation('W-TRAIL-27 compacting again archives only what is new', `${run.id} never ends`)
      const appended = await this.#append(run, compacted.value.summaries)
      if (life.over || !appended.ok) return appended
    }
  }

  async #append(run: RunModel, proposed: readonly ProposedEntry[]): Promise<Result<unknown>> {
    const entries = proposed.map(each => {
      this.#stamped = Math.max(this.#stamped + 1, this.#now, parseTimestamp(run.lastTimestamp)! + 1)
      return stamp(each, this.#world.newId('e') as never, formatTimestamp(this.#stamped as Ticks))
    })
    return this.#trail.run(run.id as RunId).append({ entries })
  }

  async #checkCompacted(run: RunModel): Promise<void> {
    const { life } = this.#world
    const manifests = await life.store.tiers.manifests(run.id as RunId)
    if (!life.over) violated('W-TRAIL-27 W-TRAIL-29 archives hold what they may', compactedProblem(run, manifests))
  }

  reclaim(): void {
    this.#tend('reclaim', async () => {
      this.#compactor ??= this.#trail.storage
      return this.#compactor.reclaim()
    })
  }

  expire(run: RunModel, warm: number): void {
    this.#tend('expire', async () => {
      this.#compactor ??= this.#trail.storage
      const now = this.#now
      const moved = await this.#compactor.expire(run.id as RunId, now, { warm, cold: 0 })
      const early = parseTimestamp(run.endedAt)! + warm * TICKS > now
      if (moved.ok && early) throw new Violation('W-TRAIL-28 warm retention holds', run.id)
      return moved
    })
  }

  deleteArchive(run: RunModel, cold: number, pick: (manifests: readonly Manifest[]) => number): void {
    this.#tend('delete_archive', () =>
      this.#alone(run, async () => {
        const { life } = this.#world
        const id = run.id as RunId
        const manifests = await life.store.tiers.manifests(id)
        const archive = pick(manifests)
        const manifest = manifests.find(each => each.archive === archive)
        if (manifest && !manifest.deleted) this.deletions.add(`${id} ${archive}`)
        const now = this.#now
        const deleted = await this.#trail.storage.deleteArchive(id, archive, now, { cold })
        if (!deleted.ok || !manifest || life.over) return deleted
        violated('W-TRAIL-28 only what may be deleted is', undeletable(run, manifest, now - cold * TICKS))
        for (const each of [...manifest.entries, ...manifest.objects]) run.gone.add(each.id)
        return deleted
      }),
    )
  }

  snapshot(run: RunModel, upTo: number): void {
    this.#tend('snapshot', () =>
      this.#alone(run, async () => {
        const { life } = this.#world
        const id = `snap-${++this.#snapshots}`
        const taken = await this.#trail.storage.snapshot(run.id as RunId, id, upTo)
        if (life.over || !taken.ok) return taken
        if (!run.ended) throw new Violation('W-TRAIL-30 snapshots are of finished runs', run.id)
        return this.#append(run, [taken.value])
      }),
    )
  }

  replicate(): void {
    this.#tend('replicate', async () => ok(await this.#trail.storage.replicate()))
  }

  restore(): void {
    this.#tend('restore', async () => {
      const { life } = this.#world
      const report = await this.#trail.storage.restore()
      if (!life.over && !this.#world.watch.troubled && report.lost.length > 0)
        throw new Violation('W-TRAIL-26 nothing of the cold tier is lost', report.lost.join())
      return ok(report)
    })
  }

  rotate(tells: boolean): void {
    this.#tend('rotate', async () => {
      const { life } = this.#world
      const before = this.#trail.keys.map(({ key }) => key)
      const rotated = await this.#trail.rotateKey(formatTimestamp(this.#now))
      if (life.over || !rotated.ok) return rotated
      const { keys, unrecordedKeys } = this.#trail
      const now = new Set(keys.map(({ key }) => key))
      const told = unrecordedKeys.some(({ key }) => key === rotated.value.key)
      // Another rotation may have come in between.
      if (!told || ![...before, rotated.value.key].every(key => now.has(key)) || before.includes(rotated.value.key))
        throw new Violation('W-TRAIL-15 former keys are kept', `${before.length} keys became ${keys.length}`)
      if (tells) await this.#trail.recordedKey(rotated.value.key)
      return rotated
    })
  }

  /** The second copy is pulled out, put back, or has no room. */
  replica(state: 'away' | 'back' | 'full'): void {
    const { replica } = this.#world.disks
    replica.mend()
    replica.dead = state === 'away'
    if (state === 'full') replica.capacity = 1
  }

  get #replicaTroubled(): boolean {
    const { replica } = this.#world.disks
    return replica.dead || replica.capacity !== Number.POSITIVE_INFINITY
  }

  #tend(kind: string, work: () => Promise<Result<unknown>>): void {
    const { watch, life } = this.#world
    const troubled = watch.troubled
    const replica = this.#replicaTroubled
    watch.tend(life, async () => {
      let result: Result<unknown>
      try {
        result = await work()
      } catch (cause) {
        if (life.over) return
        if (cause instanceof Violation) throw cause
        // A store throws what the disk says; only the trail's own operations answer with values.
        const disk = cause instanceof Error && 'syscall' in cause
        result = disk ? refuse('trail_unavailable', cause.message) : { ok: false, error: asParleyError(cause) }
      }
      if (life.over) return
      watch.statistics.answer(kind, result)
      const refused = {
        troubled: troubled || watch.troubled,
        replica: replica || this.#replicaTroubled,
        result,
      }
      violated('W-TRAIL-25 W-TRAIL-27 moving records fails only where a disk does', this.#problem(kind, refused))
    })
  }

  #problem(
    kind: string,
    { troubled, replica, result }: { troubled: boolean; replica: boolean; result: Result<unknown> },
  ): Problem {
    if (result.ok) return undefined
    const { code, message } = result.error
    if (code === 'keys_uncertain') this.uncertain = true
    if (REFUSALS[kind]?.includes(code)) return undefined
    if (code === NEEDS_REPLICA && replica) return undefined
    if (troubled && code !== 'trail_damaged' && code !== 'internal') return undefined
    return `${kind}: ${code} ${message}\n${result.error.stack}`
  }
}

/** W-TRAIL-28, from what is on the trail. */
function undeletable(run: RunModel, manifest: Manifest, until: number): Problem {
  const { archive, kind, tier, archived_at, archive_hash, entries } = manifest
  if (tier !== 'cold') return `archive ${archive} is ${tier}`
  if (parseTimestamp(archived_at)! > until) return `archive ${archive} is inside its window`
  const inside = new Set(entries.map(({ seq }) => seq))
  const last = entries.at(-1)?.seq ?? 0
  const covered = run.drafts.some(({ event_type, body, id }, index) => {
    if (run.gone.has(id) || inside.has(index + 1)) return false
    if (kind === 'workspace')
      return event_type === 'trail_compacted' && (body as EventBody<'trail_compacted'>).archive_hash === archive_hash
    return event_type === 'trail_snapshot_created' && (body as EventBody<'trail_snapshot_created'>).up_to >= last
  })
  return covered ? undefined : `nothing that stays covers archive ${archive}`
}
