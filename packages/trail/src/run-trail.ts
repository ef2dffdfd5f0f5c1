// One run of a trail: appending linked batches, reading under access rules, watching, verifying. Appends are validated and linked
// at once and answered when they are durable; readers see durable entries only.
import {
  asParleyError,
  canonicalize,
  type EntryId,
  err,
  isId,
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
import type { Entry, EntryDraft, ProposedEntry, StoredObject, StoredRecord, TrailObject } from './entry.ts'
import { damagedError } from './errors.ts'
import { trailLimits } from './limits.ts'
import { viewTail } from './log/view.ts'
import { RunModel } from './model.ts'
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
import { type ChainMark, RunChain } from './run-chain.ts'
import type { AggregateRow, StoreFilter, TrailStore } from './store/store.ts'
import { RunVerifier, type VerifyOptions, type VerifyReport, verifyLocal, violationOf } from './verify.ts'

export interface Batch {
  readonly entries: readonly EntryDraft[]
  /** What the entries refer to; stored before them in the same atomic batch. */
  readonly objects?: readonly TrailObject[]
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
  readonly entries: readonly EntryDraft[]
  readonly first: number
}

interface RunState {
  readonly chain: RunChain
  /** Committed facts only. */
  readonly model: RunModel
}

export const RUNTIME: TrailReader = { kind: 'runtime' }

export class RunTrail {
  readonly id: RunId
  readonly #store: TrailStore
  readonly #stage: Pick<TrailStore, 'append'>
  readonly #checks: VerifyOptions
  #state: RunState | undefined
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
    checks: VerifyOptions = {},
  ) {
    this.id = id
    this.#store = store
    this.#stage = stage
    this.#checks = checks
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

  #append({ chain, model }: RunState, batch: Batch): Promise<Result<Appended>> | ParleyError {
    const refused = this.#released ? releasedError(this.id) : (checkBatch(batch) ?? this.#halted())
    if (refused) return refused
    const mark = chain.mark()
    const records: StoredRecord[] = []
    for (const object of batch.objects ?? []) {
      const stored = storeObject(object, this.id, mark.seq + 1)
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
    const pending: Pending = { mark, entries: batch.entries, first: mark.seq + 1 }
    const appended: Appended = { first: mark.seq + 1, last: chain.seq, head: chain.hash ?? '' }
    const { promise, resolve } = Promise.withResolvers<Result<Appended>>()
    const busy = this.#stage.append(records, error => {
      if (error) this.#takeBack(chain, pending)
      else this.#committed(model, pending)
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

  #committed(model: RunModel, pending: Pending): void {
    this.#pending.shift()
    let seq = pending.first
    for (const entry of pending.entries) model.apply(entry, seq++)
    this.#durable = seq - 1
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

  async object(id: ObjectId): Promise<TrailObject | undefined> {
    const stored = await this.#store.object(this.id, id)
    return stored && readObject(stored)
  }

  /** Entries and objects in the order of the log: what a runtime replays. */
  async *replay(after = 0): AsyncGenerator<Entry | TrailObject> {
    for await (const record of this.#store.replay(this.id, after)) {
      yield record.kind === 'entry' ? globalEntry(record) : readObject(record)
    }
  }

  /** Recomputes everything from the stored bytes and compares with the newest known heads (W-TRAIL-16). */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const knownHeads = [...(await this.#store.knownHeads(this.id)), ...(options.knownHeads ?? [])]
    const verifier = new RunVerifier(this.id, { ...this.#checks, ...options, knownHeads })
    for await (const records of this.#store.scan(this.id)) {
      for (const record of records) {
        if (record.kind === 'entry') verifier.entry(record)
        else if (record.kind === 'bridge') verifier.bridge(record)
        else if (record.kind === 'damage') verifier.unreadable(record.where)
      }
    }
    return verifier.finish()
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
    const chain = new RunChain(this.id)
    const model = new RunModel()
    for await (const record of this.#store.replay(this.id)) {
      if (record.kind !== 'entry') continue
      const entry = globalEntry(record)
      if (entry.seq > chain.seq + 1) await this.#bridge(chain, entry.seq)
      if (entry.seq !== chain.seq + 1 || entry.prev_hash !== chain.hash) {
        throw damagedError(
          `${this.id}: entry ${entry.seq} does not follow entry ${chain.seq}. Verify the run.`,
          {
            run: this.id,
            seq: entry.seq,
          },
        )
      }
      chain.restore(entry, record.hash, entry.integrity.local_hash)
      model.apply(entry, entry.seq)
    }
    this.#state = { chain, model }
    return this.#state
  }

  /** Goes over entries that retention has deleted, by the manifests of their archives (W-TRAIL-29). */
  async #bridge(chain: RunChain, until: number): Promise<void> {
    const manifests = (await this.#store.manifests(this.id)).filter(({ deleted }) => deleted)
    const listed = manifests.flatMap(({ workspace, entries }) =>
      entries.map(each => ({ ...each, workspace })),
    )
    const bySeq = new Map(listed.map(each => [each.seq, each]))
    while (chain.seq + 1 < until) {
      const gone = bySeq.get(chain.seq + 1)
      if (!gone) return
      chain.bridge(gone.workspace, gone.timestamp, gone.hash, gone.local_hash)
    }
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

function storeObject(object: TrailObject, run: RunId, seq: number): StoredObject | ParleyError {
  if (!isId(object.id) || !isId(object.kind)) {
    return new ParleyError(
      'invalid_object',
      'An object needs an id and a kind of 1 to 64 visible ASCII characters.',
    )
  }
  try {
    const data = canonicalize(object.value)
    if (data.length <= trailLimits.objectBytes) {
      return { kind: 'object', run, seq, id: object.id, objectKind: object.kind, data }
    }
    const message = `The object ${object.id} has ${data.length} characters; the limit is ${trailLimits.objectBytes}.`
    return new ParleyError('object_too_large', message)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'no canonical form'
    return new ParleyError('invalid_object', `The object ${object.id} cannot be stored: ${message}`, {
      cause,
    })
  }
}

function readObject(stored: StoredObject): TrailObject {
  return { id: stored.id, kind: stored.objectKind, value: JSON.parse(stored.data) as unknown }
}
