// One run of a trail: appending linked batches, reading under access rules, watching, verifying. Appends are validated and linked
// at once and answered when they are durable; readers see durable entries only.
import {
  asParleyError,
  type EntryId,
  err,
  limits,
  type ObjectId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  refuse,
} from '@parley/core'
import { type Access, accessOf, type TrailReader } from './access.ts'
import { globalEntry, localEntry } from './chain.ts'
import type { ContentCipher } from './content/cipher.ts'
import type { ContentKeyRing } from './content/keys.ts'
import { RunContent } from './content/run-content.ts'
import type { Entry, EntryDraft, ProposedEntry, StoredEntry, StoredRecord, TrailObject } from './entry.ts'
import { type EntryProof, proveEntry } from './entry-proof.ts'
import { damagedError } from './errors.ts'
import { trailLimits } from './limits.ts'
import { viewTail } from './log/view.ts'
import type { RunModel } from './model.ts'
import {
  namedWorkspaces,
  needsModel,
  parseAggregate,
  parseQuery,
  storeFilter,
  type TrailAggregate,
  type TrailFilter,
  type TrailQuery,
} from './query.ts'
import { groupedRows } from './run-aggregate.ts'
import type { ChainMark, RunChain } from './run-chain.ts'
import { RunState, type TrailState } from './run-state.ts'
import type { AggregateRow, StoreFilter, TrailStore } from './store/store.ts'
import { lostObject, readObject, readObjectWith, storeObject } from './stored-object.ts'
import { RunVerifier, type VerifyOptions, type VerifyReport, verifyLocal, violationOf } from './verify.ts'

export interface Batch {
  readonly entries: readonly EntryDraft[]
  /** What the entries refer to; stored before them in the same atomic batch. */
  readonly objects?: readonly TrailObject[]
}

export interface ReplayOptions {
  /** Begin behind a state that was kept, and that `resume` has accepted. */
  readonly behind?: TrailState | undefined
  /**
   * Throw `trail_damaged` where an entry does not follow the one before, or the store knows that the run has lost its end. Every entry is
   * checked against its own hash anyway. It holds for a run of which nothing was in memory. `proven`: also where its anchor or its signature
   * does not hold.
   */
  readonly sound?: boolean | 'proven'
  /** Hand out objects whose content is gone, with `lost`, instead of throwing. */
  readonly lost?: boolean
  /** Leave objects out: what they hold is not opened. */
  readonly entriesOnly?: boolean
}

/** The places that a batch got in the run. */
export interface Appended {
  readonly first: number
  readonly last: number
  /** Global hash of the last entry. */
  readonly head: string
}

export interface QueryPage {
  readonly entries: readonly Entry[]
  /** `seq` of the last entry returned: hand it back as `after` for the next page. */
  readonly cursor: number
  readonly more: boolean
  /** Attempts to read outside the reader's scope, for the runtime to record. */
  readonly denials: readonly ProposedEntry[]
  /** What could not be read, where something could not. */
  readonly partial?: readonly string[]
}

export interface Aggregated {
  readonly rows: readonly AggregateRow[]
  readonly denials: readonly ProposedEntry[]
}

interface Pending {
  readonly mark: ChainMark
  readonly batch: Batch
}

export const RUNTIME: TrailReader = { kind: 'runtime' }

export class RunTrail {
  readonly id: RunId
  /** How what its objects hold is sealed and opened. */
  readonly content: RunContent
  readonly #store: TrailStore
  readonly #stage: Pick<TrailStore, 'append'>
  readonly #checks: () => VerifyOptions
  #state: RunState | undefined
  /** Where reading the run may begin, instead of at its beginning. */
  #kept: TrailState | undefined
  #loading: Promise<RunState> | undefined
  readonly #pending: Pending[] = []
  #released = false
  /** The newest append; batches settle in order, so when it is settled all are. */
  #last: Promise<unknown> | undefined
  /** Grows with every commit, so that a watcher can tell whether it missed one. */
  #commits = 0
  /** `seq` of the newest entry that became durable through this object. */
  #durable = 0
  readonly #wake = new Set<() => void>()

  constructor(
    id: RunId,
    store: TrailStore,
    /** Where batches go: the store itself, or what signs them first. */
    stage: Pick<TrailStore, 'append'> = store,
    /** Who may have signed, as of now: keys change. */
    checks: () => VerifyOptions = () => ({}),
    cipher?: ContentCipher,
  ) {
    this.id = id
    this.#store = store
    this.#stage = stage
    this.#checks = checks
    this.content = new RunContent(id, cipher, () => this.#genesis())
  }

  /** Ends the use of this object. Resolves once what it was given is settled: then another one may go on with the run. */
  async release(): Promise<void> {
    this.#released = true
    await this.#last
  }

  /** The read model of what is durable; reads the run on first use. */
  async model(): Promise<RunModel> {
    return (await this.#load()).model
  }

  /** The chain's newest place, batches on their way to disk included. */
  async head(): Promise<{ seq: number; hash: string | null }> {
    const { chain } = await this.#load()
    return { seq: chain.seq, hash: chain.hash }
  }

  /** Appends all entries of a batch or none. A refusal leaves the run as it was; see the codes of `TrailStore.append` and W-TRAIL-03. */
  append(batch: Batch): Promise<Result<Appended>> {
    return this.appendEach([batch])[0]!
  }

  /** Appends batches that build on each other: one that is refused takes all behind it along, as one that fails does. */
  appendEach(batches: readonly Batch[]): readonly Promise<Result<Appended>>[] {
    if (this.#state) return this.#appendEach(this.#state, batches)
    const loaded = this.#load().then(
      state => this.#appendEach(state, batches),
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
      ? releasedError(this.id)
      : (checkBatch(batch) ?? this.#foreign() ?? this.#halted())
    if (refused) return refused
    const mark = chain.mark()
    const records: StoredRecord[] = []
    for (const object of batch.objects ?? []) {
      const stored = storeObject(object, this.id, mark.seq + 1, this.content)
      if (stored instanceof ParleyError) return stored
      records.push(stored)
    }
    for (const draft of batch.entries) {
      const linked = chain.extend(draft, mark)
      if (linked instanceof ParleyError) {
        chain.reset(mark)
        return linked
      }
      records.push(linked)
    }
    const pending: Pending = { mark, batch }
    const appended: Appended = { first: mark.seq + 1, last: chain.seq, head: chain.hash ?? '' }
    const { promise, resolve } = Promise.withResolvers<Result<Appended>>()
    const busy = this.#stage.append(records, error => {
      if (error) this.#takeBack(chain, pending)
      else this.#committed(state, pending)
      resolve(error ? err(error) : ok(appended))
    })
    if (busy) {
      chain.reset(mark)
      return busy
    }
    this.#pending.push(pending)
    this.#last = promise
    return promise
  }

  #committed(state: RunState, { mark, batch }: Pending): void {
    this.#pending.shift()
    state.committed(batch.objects ?? [], batch.entries, mark.seq + 1)
    this.#durable = mark.seq + batch.entries.length
    this.#commits++
    for (const wake of this.#wake) wake()
  }

  /** A batch that fails takes all that were linked behind it along, which fail in the same turn; those before it are on their way. */
  #takeBack(chain: RunChain, failed: Pending): void {
    const at = this.#pending.indexOf(failed)
    if (at < 0) return
    for (const pending of this.#pending.splice(at).toReversed()) chain.reset(pending.mark)
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

  async query(query: TrailQuery, reader: TrailReader = RUNTIME): Promise<Result<QueryPage>> {
    const parsed = parseQuery(query)
    if (!parsed.ok) return parsed
    const { after, order = 'ascending', limit = trailLimits.pageEntries } = parsed.value
    try {
      const { filter, denials } = await this.#plan(parsed.value, reader)
      const bound = after === undefined ? {} : order === 'ascending' ? { after } : { before: after }
      const page = await this.#store.select({ ...filter, ...bound, order, limit })
      const global = page.entries.map(globalEntry)
      const entries = parsed.value.scope === 'local' ? await this.#asLocal(global) : global
      return ok({
        entries,
        cursor: entries.at(-1)?.seq ?? after ?? 0,
        more: page.more,
        denials,
        ...(page.partial && { partial: page.partial }),
      })
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /** Counts, groups and sums over what a query would find (W-TRAIL-18). */
  async aggregate(query: TrailAggregate, reader: TrailReader = RUNTIME): Promise<Result<Aggregated>> {
    const parsed = parseAggregate(query)
    if (!parsed.ok) return parsed
    const { group, sum } = parsed.value
    try {
      const { filter, denials } = await this.#plan(parsed.value.filter, reader)
      const summed = sum === undefined ? {} : { sum: sum.split('.') }
      const grouping = { filter, group, ...summed, owner: parsed.value.filter.owner }
      return ok({ rows: await groupedRows(this.#store, grouping, () => this.model()), denials })
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /**
   * Pages of entries as they become durable, in `seq` order, from behind a position and without end. A slow reader costs the writer
   * nothing: it is behind, and catches up by query. Ends when the signal is raised.
   */
  async *watch(
    filter: TrailFilter & { readonly after?: number },
    reader: TrailReader = RUNTIME,
    signal?: AbortSignal,
  ): AsyncGenerator<QueryPage> {
    let { after = 0, ...rest } = filter
    for (;;) {
      if (signal?.aborted) return
      const seen = this.#commits
      const durable = this.#durable
      const page = await this.query({ ...rest, after, limit: trailLimits.watchEntries }, reader)
      if (!page.ok) throw page.error
      // What the filter passed over need not be looked at again.
      after = page.value.more ? page.value.cursor : Math.max(page.value.cursor, durable)
      if (page.value.entries.length > 0) yield page.value
      if (page.value.more || this.#commits !== seen) continue
      await this.#nextCommit(signal)
    }
  }

  /** Resolves at the next commit, or as soon as the signal is raised; it may have been already. */
  #nextCommit(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        signal?.removeEventListener('abort', done)
        this.#wake.delete(done)
        resolve()
      }
      this.#wake.add(done)
      signal?.addEventListener('abort', done)
    })
  }

  /** With a ring, sealed content is opened with nothing but its keys: `content_key_missing` where it has none that fits. */
  async object(id: ObjectId, ring?: ContentKeyRing): Promise<TrailObject | undefined> {
    const stored = await this.#store.object(this.id, id)
    if (!stored) return undefined
    await this.content.learn()
    return ring ? readObjectWith(ring, stored, this.content) : readObject(stored, this.content)
  }

  /** What `resume` takes later; undefined before the run was read, and while batches are on their way. */
  state(): TrailState | undefined {
    return this.#pending.length === 0 ? this.#state?.kept() : undefined
  }

  /**
   * Goes on from a state that was kept, so that what stands before it need not be read. False where the log does not hold what the
   * state ends with: then nothing has changed. What stands before is taken on trust here: `verify` reads all of it.
   */
  async resume(kept: TrailState): Promise<boolean> {
    const { chain, objects } = kept
    if ((await this.#entry(chain.seq))?.hash !== chain.hash) return false
    let left = objects.loose
    if (left > 0) {
      for await (const record of this.#store.replay(this.id, chain.seq)) {
        if (record.kind === 'entry' || (left === 1 && record.id !== objects.last)) return false
        if (--left === 0) break
      }
    }
    if (left > 0) return false
    if (!this.#state && !this.#loading) this.#kept = kept
    return true
  }

  /**
   * Entries and objects in the order of the log: what a runtime replays. Whoever opens a run with it reads all of it, so what this object
   * needs to know is gathered on the way.
   */
  async *replay({
    behind,
    sound,
    entriesOnly,
    lost,
  }: ReplayOptions = {}): AsyncGenerator<Entry | TrailObject> {
    const gathers = !this.#state && !this.#loading && behind === this.#kept
    const halted = sound && this.#halted()
    if (halted) throw halted
    await this.content.learn()
    let state = gathers ? this.#begin() : undefined
    const verifier = sound === 'proven' && gathers ? await this.#opening(behind) : undefined
    for await (const record of this.#behind(behind)) {
      if (record.kind === 'object') {
        state?.takeObject(record.id)
        if (entriesOnly) continue
        yield lost && record.lost !== undefined ? lostObject(record) : readObject(record, this.content)
        continue
      }
      const entry = globalEntry(record)
      if (state && entry.seq > state.chain.seq + 1)
        for (const gone of await state.bridge(this.#store, entry.seq)) verifier?.bridge(gone)
      if (verifier) await this.#examine(verifier, record)
      if (state && !state.follow(entry)) {
        if (sound) throw this.#broken(entry.seq, state.chain.seq)
        state = undefined
      }
      yield entry
    }
    if (state) await this.#bridgeEnd(state)
    if (!this.#loading) this.#state ??= state
  }

  /** W-REC-12: what is checked of a run that is opened, from its beginning or from behind a kept state. */
  async #opening(kept: TrailState | undefined): Promise<RunVerifier> {
    const behind = kept?.chain
    const newest = (await this.#store.head(this.id))?.seq ?? 0
    const signed = behind && (await this.#entry(behind.seq))?.signature !== undefined
    return new RunVerifier(this.id, {
      ...(signed && { signed }),
      ...this.#checks(),
      ...(behind && { behind }),
      signaturesFrom: newest - trailLimits.openingSignatures + 1,
    })
  }

  async #examine(verifier: RunVerifier, entry: StoredEntry): Promise<void> {
    verifier.entry(entry)
    const { finding } = verifier
    if (finding) throw damagedError(`${finding.message}. Verify the run.`, { run: this.id, seq: finding.seq })
    if (entry.seq % trailLimits.openingEntries === 0) await new Promise(resolve => setImmediate(resolve))
  }

  async *#behind(kept: TrailState | undefined): AsyncGenerator<StoredRecord> {
    let skipped = kept?.objects.loose ?? 0
    for await (const record of this.#store.replay(this.id, kept?.chain.seq)) {
      if (skipped > 0) skipped--
      else yield record
    }
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
    const signed = behind && (await this.#entry(behind.seq))?.signature !== undefined
    const checks = { ...(signed && { signed }), ...given, ...options, knownHeads }
    const verifier = new RunVerifier(this.id, checks)
    for await (const records of this.#store.scan(this.id, behind?.seq)) {
      for (const record of records) {
        if (record.kind === 'entry') verifier.entry(record)
        else if (record.kind === 'bridge') verifier.bridge(record)
        else if (record.kind === 'damage') verifier.unreadable(record.where)
      }
    }
    return verifier.finish()
  }

  /** One entry with everything that proves it by itself (W-SEC-17); undefined where there is none. */
  prove(seq: number): Promise<EntryProof | undefined> {
    return proveEntry(this.#store, this.id, seq, this.#checks())
  }

  /** Checks a copy of a local trail against the anchors in the global record (W-TRAIL-14). */
  async verifyLocal(entries: readonly Entry[]): Promise<Pick<VerifyReport, 'findings' | 'violations'>> {
    const anchors = new Map<number, string>()
    for await (const records of this.#store.scan(this.id)) {
      for (const record of records) {
        if (record.kind === 'entry') anchors.set(record.seq, viewTail(record.view)?.localHash ?? 'none')
        else if (record.kind === 'bridge') anchors.set(record.seq, record.localHash ?? 'none')
      }
    }
    const findings = verifyLocal(entries, anchors)
    return { findings, violations: findings.map(violationOf) }
  }

  async #plan(filter: TrailFilter, reader: TrailReader): Promise<Access & { filter: StoreFilter }> {
    const { after: _after, order: _order, limit: _limit, ...plain } = filter as TrailQuery
    const model = reader.kind === 'runtime' && !needsModel(plain) ? undefined : await this.model()
    const reach = { scope: plain.scope, workspaces: namedWorkspaces(plain) }
    const access = model ? accessOf(reader, reach, model) : { workspaces: undefined, denials: [] }
    return { ...access, filter: storeFilter(this.id, plain, access, model) }
  }

  /** Of a run of our own: what came from elsewhere may have come opened. */
  async #genesis(): Promise<StoredEntry | undefined> {
    return this.#store.imports.has(this.id) ? undefined : this.#entry(1)
  }

  /** One entry, read from the log and checked against its hash. */
  async #entry(seq: number): Promise<StoredEntry | undefined> {
    const place = { run: this.id, after: seq - 1, before: seq + 1 }
    return (await this.#store.select({ ...place, order: 'ascending', limit: 1 })).entries[0]
  }

  /** The local chain's own links; each needs the entry before it in that workspace. */
  async #asLocal(entries: readonly Entry[]): Promise<Entry[]> {
    const shown: Entry[] = []
    for (const entry of entries) {
      const page = await this.#store.select({
        run: this.id,
        spans: [{ workspace: entry.workspace }],
        before: entry.seq,
        order: 'descending',
        limit: 1,
      })
      const [before] = page.entries
      shown.push(localEntry(entry, before ? (globalEntry(before).integrity.local_hash ?? null) : null))
    }
    return shown
  }

  #load(): Promise<RunState> {
    if (this.#state) return Promise.resolve(this.#state)
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<RunState> {
    await this.content.learn()
    const kept = this.#kept
    const state = this.#begin()
    for await (const record of this.#behind(kept)) {
      if (record.kind === 'object') {
        state.takeObject(record.id)
        continue
      }
      const entry = globalEntry(record)
      if (entry.seq > state.chain.seq + 1) await state.bridge(this.#store, entry.seq)
      if (!state.follow(entry)) throw this.#broken(entry.seq, state.chain.seq)
    }
    await this.#bridgeEnd(state)
    this.#state = state
    return state
  }

  /** An imported run may end with entries that were deleted before it came. */
  async #bridgeEnd(state: RunState): Promise<void> {
    const last = this.#store.imports.get(this.id)?.head.seq ?? 0
    if (state.chain.seq < last) await state.bridge(this.#store, last + 1)
  }

  #broken(seq: number, last: number): ParleyError {
    const message = `${this.id}: entry ${seq} does not follow entry ${last}. Verify the run.`
    return damagedError(message, { run: this.id, seq })
  }

  /** What was kept serves once: a reading that fails half-way leaves it spoiled, and the next one begins at the beginning. */
  #begin(): RunState {
    const kept = this.#kept
    this.#kept = undefined
    return new RunState(this.id, kept)
  }

  /** A run from elsewhere stays as it came. */
  #foreign(): ParleyError | undefined {
    if (!this.#store.imports.has(this.id)) return undefined
    const message = `${this.id} was imported; nothing is added to it here.`
    return new ParleyError('run_imported', message, { details: { run: this.id } })
  }

  /** Damage halts the run, not the store. */
  #halted(): ParleyError | undefined {
    if (this.#store.damage.length === 0) return undefined
    const damage = this.#store.damage.find(each => each.runs.includes(this.id))
    return (
      damage && damagedError(`${this.id} is halted: ${damage.message}`, { run: this.id, damage: damage.code })
    )
  }
}

function releasedError(run: RunId): ParleyError {
  return new ParleyError('run_released', `${run} was released; ask the trail for it again.`)
}

function checkBatch(batch: Batch): ParleyError | undefined {
  const records = batch.entries.length + (batch.objects?.length ?? 0)
  if (records === 0) return new ParleyError('invalid_entry', 'A batch needs at least one record.')
  if (records <= limits.batchEntries) return undefined
  return new ParleyError('batch_too_large', `A batch holds at most ${limits.batchEntries} records; split it.`)
}
