// One run of a trail. Appends are validated and linked at once and answered when they are durable.
import {
  asParleyError,
  type EntryId,
  err,
  invariant,
  limits,
  type ObjectId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  refuse,
} from '@parley/core'
import type { ContentCipher } from '../content/cipher.ts'
import type { ContentKeyRing } from '../content/keys.ts'
import { RunContent } from '../content/run-content.ts'
import type { Entry, EntryDraft, StoredEntry, StoredRecord, TrailObject } from '../entry.ts'
import { haltedError } from '../errors.ts'
import { trailLimits } from '../limits.ts'
import { RUNTIME, type TrailReader } from '../query/access.ts'
import type { RunModel } from '../query/model.ts'
import type { TrailAggregate, TrailFilter, TrailQuery } from '../query/query.ts'
import { type Aggregated, type QueryPage, RunQueries } from '../query/run-query.ts'
import { RunWatchers, watchRun } from '../query/watch.ts'
import { entryAt } from '../store/entry-at.ts'
import type { TrailStore } from '../store/store.ts'
import { type EntryProof, proveEntry } from '../verify/entry-proof.ts'
import { type VerifyOptions, type VerifyReport, violationOf } from '../verify/report.ts'
import { judgeDeletions, RunVerifier } from '../verify/verify.ts'
import { localAnchors, verifyLocal } from '../verify/verify-local.ts'
import { globalEntry } from './chain.ts'
import { type FollowedEntry, RecentRecords } from './recent-records.ts'
import type { ChainMark, RunChain } from './run-chain.ts'
import { type ReplayOptions, RunReading } from './run-reading.ts'
import type { RunState, TrailState } from './run-state.ts'
import { type Forged, readObject, storeObject } from './stored-object.ts'

export interface Batch {
  readonly entries: readonly EntryDraft[]
  readonly objects?: readonly TrailObject[]
}

/** The places that a batch got in the run. */
export interface Appended {
  readonly first: number
  readonly last: number
  readonly head: string
}

export type Tier = 'hot' | 'warm' | 'cold'

/** Entries for whoever follows a run, in order. */
export interface FollowedPage {
  readonly entries: readonly FollowedEntry[]
  /** `seq` of the last one. */
  readonly cursor: number
  readonly more: boolean
}

/** A run for those who ask and do not write. */
export type ReadableRun = Omit<RunTrail, 'append' | 'appendEach' | 'release' | 'resume' | 'state'>

interface Pending {
  readonly mark: ChainMark
  readonly batch: Batch
  /** Objects of the batch that are kept for a while. */
  readonly small: readonly TrailObject[]
  /** Of the batch with which the run begins: its first entry. */
  readonly genesis: StoredEntry | undefined
}

export class RunTrail {
  readonly id: RunId
  /** How what its objects hold is sealed and opened. */
  readonly content: RunContent
  readonly recent = new RecentRecords()
  readonly #store: TrailStore
  readonly #stage: Pick<TrailStore, 'append'>
  readonly #checks: () => VerifyOptions
  readonly #reading: RunReading
  readonly #queries: RunQueries
  readonly #watchers: RunWatchers
  readonly #pending: Pending[] = []
  #released = false
  /** The newest append; batches settle in order, so when it is settled all are. */
  #last: Promise<unknown> | undefined

  constructor(
    id: RunId,
    store: TrailStore,
    /** Where batches go: the store itself, or what signs them first. */
    stage: Pick<TrailStore, 'append'> = store,
    /** Who may have signed, as of now: keys change. */
    checks: () => VerifyOptions = () => ({}),
    cipher: () => ContentCipher | undefined = () => undefined,
    /** Shared by all objects of a trail. */
    watchers = new RunWatchers(),
  ) {
    this.id = id
    this.#store = store
    this.#stage = stage
    this.#checks = checks
    this.content = new RunContent(id, cipher, () => this.#genesis())
    this.#reading = new RunReading(id, store, this.content, checks)
    this.#queries = new RunQueries(id, store, () => this.model())
    this.#watchers = watchers
  }

  /** Ends the use of this object; resolves once its batches are settled, so that another one may continue the run. */
  async release(): Promise<void> {
    this.#released = true
    await this.#last
  }

  /** The read model of what is durable; reads the run on first use. */
  async model(): Promise<RunModel> {
    return (await this.#reading.load()).model
  }

  /** The chain's newest place, batches on their way to disk included. */
  async head(): Promise<{ seq: number; hash: string | null }> {
    const { chain } = await this.#reading.load()
    return { seq: chain.seq, hash: chain.hash }
  }

  /** Appends all entries of a batch or none. Refusals: see `TrailStore.append` and W-TRAIL-03. */
  append(batch: Batch): Promise<Result<Appended>> {
    return this.appendEach([batch])[0]!
  }

  /** Appends batches that build on each other: one that is refused or fails takes all behind it along. */
  appendEach(batches: readonly Batch[]): readonly Promise<Result<Appended>>[] {
    const { state } = this.#reading
    if (state) return this.#appendEach(state, batches)
    const loaded = this.#reading.load().then(
      read => this.#appendEach(read, batches),
      (cause: unknown) => batches.map(() => Promise.resolve(err(asParleyError(cause)))),
    )
    return batches.map(async (_, index) => (await loaded)[index]!)
  }

  #appendEach(state: RunState, batches: readonly Batch[]): readonly Promise<Result<Appended>>[] {
    let refused: ParleyError | undefined
    return batches.map(batch => {
      const taken = refused ?? this.#append(state, batch)
      if (!(taken instanceof ParleyError)) return taken
      refused = taken
      return Promise.resolve(err(taken))
    })
  }

  #append(state: RunState, batch: Batch): Promise<Result<Appended>> | ParleyError {
    const { chain } = state
    const refused = this.#released
      ? new ParleyError('run_released', `${this.id} was released; ask the trail for it again.`)
      : (checkBatch(batch) ?? this.#foreign() ?? haltedError(this.#store.damage, this.id))
    if (refused) return refused
    const mark = chain.mark()
    const records: StoredRecord[] = []
    const small: TrailObject[] = []
    let genesis: StoredEntry | undefined
    for (const object of batch.objects ?? []) {
      const stored = storeObject(object, this.id, mark.seq + 1, this.content)
      if (stored instanceof ParleyError) return stored
      records.push(stored)
      if (stored.data.length <= trailLimits.followedObjectLength) small.push(object)
    }
    for (const draft of batch.entries) {
      const linked = chain.extend(draft, mark)
      if (linked instanceof ParleyError) {
        chain.reset(mark)
        return linked
      }
      records.push(linked)
      if (linked.seq === 1) genesis = linked
    }
    invariant(chain.seq === mark.seq + batch.entries.length, 'the entries of a batch take the next places of their run')
    const pending: Pending = { mark, batch, small, genesis }
    const appended: Appended = { first: mark.seq + 1, last: chain.seq, head: chain.hash ?? '' }
    const { promise, resolve } = Promise.withResolvers<Result<Appended>>()
    const busy = this.#stage.append(records, error => {
      if (error) this.#takeBack(chain, pending, error)
      else this.#committed(state, pending)
      resolve(error ? err(error) : ok(appended))
    })
    if (busy) {
      chain.reset(mark)
      this.#noteConflict(busy)
      return busy
    }
    this.#pending.push(pending)
    this.#last = promise
    return promise
  }

  #committed(state: RunState, pending: Pending): void {
    const { mark, batch, small, genesis } = pending
    invariant(this.#pending.shift() === pending, 'batches of a run settle in the order in which they were taken')
    state.committed(batch.objects ?? [], batch.entries, mark.seq + 1)
    if (genesis) this.content.begin(genesis)
    this.recent.add(batch.entries, mark.seq + 1, small)
    this.#watchers.committed(this.id, mark.seq + batch.entries.length)
  }

  /** A failed batch takes along all that were linked behind it, which fail in the same turn. */
  #takeBack(chain: RunChain, failed: Pending, error: ParleyError): void {
    this.#noteConflict(error)
    const at = this.#pending.indexOf(failed)
    if (at < 0) return
    for (const pending of this.#pending.splice(at).toReversed()) chain.reset(pending.mark)
  }

  /** The log holds something else than this object believes: the next append begins with reading it. */
  #noteConflict({ code }: ParleyError): void {
    if (code === 'trail_conflict') this.#reading.forget()
  }

  /** No entry is ever changed or removed (W-TRAIL-09). */
  update(id: EntryId): Result<never> {
    return refuse('immutable', `The entry ${id} cannot be changed; append a correction that cites it.`)
  }

  delete(id: EntryId): Result<never> {
    return refuse(
      'immutable',
      `The entry ${id} cannot be deleted; compaction moves entries, and retention decides about archives.`,
    )
  }

  /** What a reader may see of what they ask for (W-TRAIL-17 to 20). */
  query(query: TrailQuery, reader: TrailReader = RUNTIME): Promise<Result<QueryPage>> {
    return this.#queries.query(query, reader)
  }

  /** Counts, groups and sums over what a query would find (W-TRAIL-18). */
  aggregate(query: TrailAggregate, reader: TrailReader = RUNTIME): Promise<Result<Aggregated>> {
    return this.#queries.aggregate(query, reader)
  }

  /** Pages of entries as they become durable, by `seq`, from behind a position until the signal is raised. */
  watch(
    filter: TrailFilter & { readonly after?: number },
    reader: TrailReader = RUNTIME,
    signal?: AbortSignal,
  ): AsyncGenerator<QueryPage> {
    const { after = 0, ...rest } = filter
    const page = (from: number) =>
      this.#queries.query({ ...rest, after: from, limit: trailLimits.watchEntries }, reader)
    return watchRun(this.id, this.#watchers, after, page, signal)
  }

  /** All entries behind a position as a watch of the runtime tells them, without their places in the chain. */
  follow(after: number, signal?: AbortSignal): AsyncGenerator<FollowedPage> {
    return watchRun(this.id, this.#watchers, after, (from, durable) => this.since(from, durable), signal)
  }

  /** One page of that. `durable`: a position that is known to be on the trail. */
  async since(after: number, durable = 0): Promise<Result<FollowedPage>> {
    // Once it is released, another object may have appended more.
    const isCurrent = this.recent.newest >= durable && (durable > 0 || !this.#released)
    const entries = isCurrent ? this.recent.after(after) : undefined
    if (entries) return ok({ entries, cursor: entries.at(-1)?.seq ?? after, more: false })
    return this.#queries.query({ after, limit: trailLimits.watchEntries }, RUNTIME)
  }

  /**
   * With a ring, sealed content is opened with its keys alone: `content_key_missing` where none fits. Changed content
   * is refused with `content_damaged`, unless it is to be shown: then `proof` says so.
   */
  async object(id: ObjectId, ring?: ContentKeyRing, forged?: Forged): Promise<TrailObject | undefined> {
    const stored = await this.#store.object(this.id, id)
    if (!stored) return undefined
    await this.content.learn()
    const key = ring && (await this.content.keyOf(ring, stored))
    return readObject(stored, this.content, forged, key)
  }

  /** What `resume` takes later; undefined before the run was read, and while batches are on their way. */
  state(): TrailState | undefined {
    return this.#pending.length === 0 ? this.#reading.state?.kept() : undefined
  }

  /**
   * Continues from a kept state, so that what stands before it need not be read and is trusted: `verify` reads all of
   * it. False, and nothing has changed, where the log does not hold what the state ends with.
   */
  resume(kept: TrailState): Promise<boolean> {
    return this.#reading.resume(kept)
  }

  /** Entries and objects in the order of the log, for a runtime to replay. Opening a run this way gathers its state. */
  replay(options: ReplayOptions = {}): AsyncGenerator<Entry | TrailObject> {
    return this.#reading.replay(options)
  }

  /** Recomputes everything from the stored bytes and compares with the newest known heads (W-TRAIL-16). */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const given = this.#checks()
    const knownHeads = [
      ...(await this.#store.knownHeads(this.id)),
      ...(given.knownHeads ?? []),
      ...(options.knownHeads ?? []),
    ]
    const { behind } = options
    // Whether a run is signed is told by its first entry, or by the one that the kept state ends with.
    const signed = behind && (await entryAt(this.#store, this.id, behind.seq))?.signature !== undefined
    const checks = { ...(signed && { signed }), ...given, ...options, knownHeads }
    const verifier = new RunVerifier(this.id, checks)
    if (!behind) for await (const lost of this.#store.lostArchives(this.id)) verifier.lost(lost)
    for await (const records of this.#store.scan(this.id, behind?.seq)) {
      for (const record of records) verifier.take(record)
    }
    await judgeDeletions(this.#store, this.id, verifier)
    return verifier.finish()
  }

  /** Where an entry is kept; undefined for one that does not exist or was deleted (W-TRAIL-24, AMB-58). */
  async tierOf(seq: number): Promise<Tier | undefined> {
    const stored = await entryAt(this.#store, this.id, seq)
    if (!stored) return undefined
    if ((await this.#store.tiers.whereIs(this.id, seq)) === 'cold') return 'cold'
    const { workspace } = globalEntry(stored)
    const model = await this.model()
    const ended = workspace === null ? model.ended : model.workspaces.get(workspace)?.ended !== undefined
    return ended ? 'warm' : 'hot'
  }

  /** One entry with everything that proves it by itself (W-SEC-17); undefined where there is none. */
  prove(seq: number): Promise<EntryProof | undefined> {
    return proveEntry(this.#store, this.id, seq, this.#checks())
  }

  /** Checks a copy of a local trail against the anchors in the global record (W-TRAIL-14). */
  async verifyLocal(entries: readonly Entry[]): Promise<Pick<VerifyReport, 'findings' | 'violations'>> {
    const findings = verifyLocal(entries, await localAnchors(this.#store, this.id))
    return { findings, violations: findings.map(violationOf) }
  }

  /** Of a run of our own: what came from elsewhere may have come opened. */
  async #genesis(): Promise<StoredEntry | undefined> {
    return this.#store.imports.has(this.id) ? undefined : entryAt(this.#store, this.id, 1)
  }

  /** A run from elsewhere stays as it came. */
  #foreign(): ParleyError | undefined {
    if (!this.#store.imports.has(this.id)) return undefined
    const message = `${this.id} was imported; nothing is added to it here.`
    return new ParleyError('run_imported', message, { details: { run: this.id } })
  }
}

function checkBatch(batch: Batch): ParleyError | undefined {
  const records = batch.entries.length + (batch.objects?.length ?? 0)
  if (records === 0) return new ParleyError('invalid_entry', 'A batch needs at least one record.')
  if (records <= limits.batchEntries) return undefined
  return new ParleyError('batch_too_large', `A batch holds at most ${limits.batchEntries} records; split it.`)
}
