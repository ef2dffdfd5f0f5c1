// A trail: all runs of one store. It hands out runs, verifies everything, and knows where the clock must start.
import { err, formatTimestamp, ok, type Result, type RunId, refuse, type Ticks, type Timestamp } from '@parley/core'
import { fingerprint } from '@parley/keys'
import type { ReplicaReport, TierReport } from './archive/tier-report.ts'
import { ContentCipher, type Sealing } from './content/cipher.ts'
import { RunContent } from './content/run-content.ts'
import type { Entry } from './entry.ts'
import { commitError } from './errors.ts'
import type { ExportContent } from './export/format.ts'
import type { ByteSource } from './export/read.ts'
import { exportRun } from './export/write.ts'
import { type Imported, type ImportOptions, importRun } from './import/import-run.ts'
import type { TrailKeys } from './keys/profile-keys.ts'
import { type TrailKey, trustOf } from './keys/trail-key.ts'
import { trailLimits } from './limits.ts'
import type { BlobReport } from './log/blobs.ts'
import { RunWatchers } from './query/watch.ts'
import { globalEntry } from './run/chain.ts'
import { type ReadableRun, RunTrail } from './run/run-trail.ts'
import { readObject } from './run/stored-object.ts'
import type { Signer } from './signing.ts'
import { SigningStage } from './signing-stage.ts'
import { StorageManager } from './storage/manager.ts'
import { entryAt } from './store/entry-at.ts'
import type { Damage, RunHead, RunSummary, TrailStore } from './store/store.ts'
import type { VerifyOptions, VerifyReport } from './verify/report.ts'
import { judgeDeletions, RunVerifier } from './verify/verify.ts'

export interface TrailOptions {
  readonly store: TrailStore
  /** Signs every entry; without one the trail is chained but not signed. */
  readonly signer?: Signer
  /** Who may have signed a run; verification refuses others. `keys` says it better, where there is one. */
  readonly trust?: (run: RunId) => Pick<VerifyOptions, 'trusted' | 'retired'>
  /** The keeper of the signer's keys, which can replace the signer. */
  readonly keys?: TrailKeys
  /** Seals and opens content; without one objects are written as they are, and sealed ones cannot be read. */
  readonly cipher?: ContentCipher
}

interface TrailExportOptions {
  /** As stored, where nothing is said. */
  readonly content?: ExportContent
  readonly at: Timestamp
  /** `seq` of the last entry that the file shall hold. */
  readonly upTo?: number | undefined
}

/** A run of a trail; `imported` says from where it comes if it is not one of our own. */
export interface TrailRun extends RunSummary {
  readonly imported?: ImportedFrom
}

export interface ImportedFrom {
  /** The key that has sealed the file. */
  readonly key: string
  readonly fingerprint: string
  readonly at: Timestamp
  readonly exported_at: Timestamp
  readonly content: ExportContent
}

/** How a run began. */
interface RunStart {
  readonly run: RunId
  readonly entry: Entry
  readonly context: unknown
}

interface TrailReport {
  readonly runs: readonly VerifyReport[]
  /** Places that cannot be read at all. Whose they were is told by the entries that a run misses. */
  readonly unreadable: readonly string[]
}

/** Stores that a runtime writes to. Several trails may stand before one store, and it still has one writer. */
const held = new WeakMap<TrailStore, symbol>()

export class Trail {
  readonly storage: StorageManager
  readonly #store: TrailStore
  #signer: Signer | undefined
  readonly #keys: TrailKeys | undefined
  readonly #stage: SigningStage | undefined
  readonly #trust: TrailOptions['trust']
  #cipher: ContentCipher | undefined
  readonly #runs = new Map<RunId, RunTrail>()
  readonly #watchers = new RunWatchers()

  constructor(options: TrailOptions) {
    this.#store = options.store
    this.storage = new StorageManager(options.store, id => this.#runs.get(id) ?? this.#open(id))
    this.#signer = options.signer
    this.#stage = options.signer && new SigningStage(options.store, options.signer)
    this.#keys = options.keys
    this.#trust = options.trust
    this.#cipher = options.cipher
  }

  /**
   * Takes the trail for one runtime (W-CONC-08): `trail_in_use` while another one of this process has it. The returned
   * function releases it, as closing does. The folder's lock keeps out other processes.
   */
  hold(): Result<() => void> {
    if (held.has(this.#store))
      return refuse('trail_in_use', 'Another runtime writes this trail. Use that one, or close it first.')
    const hold = Symbol('hold')
    held.set(this.#store, hold)
    // A second call must not release another runtime's hold.
    return ok(() => {
      if (held.get(this.#store) === hold) held.delete(this.#store)
    })
  }

  /** From now on content is written with proofs by this secret (W-SEC-16), unless the trail has its own cipher. */
  prove(secret: Uint8Array): void {
    this.#cipher ??= ContentCipher.for('single-runtime', secret)
  }

  /**
   * One run for whoever writes it, whether it has entries already or not. It stays in memory until it is released;
   * those who only ask take `readable`.
   */
  run(id: RunId): RunTrail {
    let run = this.#runs.get(id)
    if (!run) {
      run = this.#open(id)
      this.#runs.set(id, run)
    }
    return run
  }

  /** The same for a question: as it is in memory, or opened for this caller alone, so that nothing of it stays. */
  readable(id: RunId): ReadableRun {
    return this.#runs.get(id) ?? this.#open(id)
  }

  #open(id: RunId): RunTrail {
    return new RunTrail(
      id,
      this.#store,
      this.#stage,
      () => this.#checks(id),
      () => this.#cipher,
      this.#watchers,
    )
  }

  /** Forgets what is held in memory of a run, for instance once it has ended; `run` opens it again. */
  async release(id: RunId): Promise<void> {
    const run = this.#runs.get(id)
    await run?.release()
    // Another release may have been quicker, and what is here now another object, at which somebody writes.
    if (this.#runs.get(id) === run) this.#runs.delete(id)
  }

  /** How far the replica follows, without looking at what its files hold; null where there is none. */
  replica(): Promise<ReplicaReport | null> {
    return this.#store.tiers.replica()
  }

  tiers(): Promise<TierReport> {
    return this.#store.tiers.report()
  }

  checkBlobs(): Promise<BlobReport> {
    return this.#store.checkBlobs()
  }

  async runs(): Promise<readonly TrailRun[]> {
    const runs = await this.#store.runs()
    if (this.#store.imports.size === 0) return runs
    return runs.map(run => {
      const imported = this.imported(run.run)
      return imported ? { ...run, imported } : run
    })
  }

  /**
   * How runs of our own began: the entry that created the root, and the value of the root's context. They are found
   * over the index, many at once, and nothing of them stays in memory. A run without such an entry is left out. Throws
   * where one cannot be read.
   */
  async starts(runs: readonly RunId[]): Promise<readonly RunStart[]> {
    const own = runs.filter(run => !this.#store.imports.has(run))
    const found: RunStart[] = []
    for (let at = 0; at < own.length; at += trailLimits.starts) {
      const records = await this.#store.starts(own.slice(at, at + trailLimits.starts))
      for (const [index, record] of records.entries()) {
        if (record.kind !== 'entry' || record.seq !== 1) continue
        const object = records[index + 1]
        const content = new RunContent(
          record.run,
          () => this.#cipher,
          async () => record,
        )
        await content.learn()
        const context = object?.kind === 'object' ? readObject(object, content).value : undefined
        found.push({ run: record.run, entry: globalEntry(record), context })
      }
    }
    return found
  }

  imported(id: RunId): ImportedFrom | undefined {
    const record = this.#store.imports.get(id)
    if (!record) return undefined
    const { from, imported_at: at, exported_at, content } = record
    return { key: from, fingerprint: fingerprint(from), at, exported_at, content }
  }

  /**
   * Takes in an exported run, all of it or nothing, after verifying it against trusted keys. Nothing is ever appended
   * to it. Refuses as `importRun`.
   */
  async import(source: ByteSource, options: ImportOptions): Promise<Result<Imported>> {
    try {
      const imported = await importRun(this.#store, source, { ...options, cipher: this.#cipher })
      // What is held in memory of it knows nothing of what has come.
      if (imported.ok && !imported.value.already) await this.release(imported.value.report.run)
      return imported
    } catch (cause) {
      return err(commitError(cause))
    }
  }

  /** The greatest timestamp on record: the clock must start above it (W-CLOCK-07). */
  get floor(): Ticks {
    return this.#store.floor
  }

  /** How content is written (W-SEC-16). */
  get sealing(): Sealing {
    return this.#cipher?.sealing ?? 'none'
  }

  get damage(): readonly Damage[] {
    return this.#store.damage
  }

  /** The keys that have signed here, the one in use last; none where nothing is signed or nobody keeps them. */
  get keys(): readonly TrailKey[] {
    return this.#keys?.keys ?? []
  }

  /** Keys whose rotation is not on record yet; `recordedKey` ends that, and fails as an append does. */
  get unrecordedKeys(): readonly TrailKey[] {
    const { keys = [], unrecorded = [] } = this.#keys ?? {}
    return keys.filter(({ key }) => unrecorded.includes(key))
  }

  async recordedKey(key: string): Promise<Result<void>> {
    try {
      return ok(await this.#keys?.recorded(key))
    } catch (cause) {
      return err(commitError(cause))
    }
  }

  /**
   * Continues with a new key, from the next batch on. The old one endorses it and signs nothing any more. Fails with
   * `not_signed` where there is no key to replace; a disk error leaves the old key in use.
   */
  async rotateKey(at: Timestamp): Promise<Result<TrailKey>> {
    const [keys, stage] = [this.#keys, this.#stage]
    if (!keys || !stage) return refuse('not_signed', 'This trail is not signed; there is no key to replace.')
    try {
      await stage.replace(async old => {
        this.#signer = await keys.rotate(old, at, formatTimestamp(this.#store.floor))
        return this.#signer
      })
    } catch (cause) {
      return err(commitError(cause))
    }
    // Not awaited. A copy that misses this is behind, and `replicate` makes up for it.
    void this.storage.keepKeys().catch(() => {})
    return ok(keys.keys.at(-1)!)
  }

  /**
   * A run as one file (export/format.ts), in buffers, up to its newest entry or a given head. Fails with `not_found`;
   * the stream throws `trail_damaged` where the run cannot be read whole, and the errors of opening content.
   */
  async export(id: RunId, options: TrailExportOptions): Promise<Result<AsyncIterable<Buffer>>> {
    const { content = 'stored', at, upTo } = options
    const newest = await this.#store.head(id)
    if (!newest) return refuse('not_found', `The trail has no entries of ${id}.`)
    const head = upTo === undefined ? newest : await this.#headAt(id, upTo)
    if (!head) return refuse('not_found', `${id} has no entry ${upTo}; its newest is ${newest.seq}.`)
    const signer = this.#signer
    const foreign = this.#store.imports.get(id)?.keys ?? []
    const own = this.keys.filter(({ key }) => !foreign.some(each => each.key === key))
    const given = { head, at, keys: [...foreign, ...own], signer, content, cipher: this.#cipher }
    return ok(exportRun(this.#store, given))
  }

  async #headAt(run: RunId, seq: number): Promise<RunHead | undefined> {
    const entry = await entryAt(this.#store, run, seq)
    return entry && { run, seq, hash: entry.hash }
  }

  #checks(run: RunId): VerifyOptions {
    const imported = this.#store.imports.get(run)
    // The keys of its maker, for this run alone; and not ours: we never sign it.
    if (imported) return { ...trustOf(imported.keys), signed: true, knownHeads: [{ run, ...imported.head }] }
    if (this.#keys) return this.#keys.trust()
    return this.#trust?.(run) ?? {}
  }

  /** Verifies every run in one pass over the storage. */
  async verifyAll(options: VerifyOptions = {}): Promise<TrailReport> {
    const imported = [...this.#store.imports.values()].map(({ run, head }) => ({ run, ...head }))
    const known = Map.groupBy(
      [...(await this.#store.knownHeads()), ...imported, ...(options.knownHeads ?? [])],
      head => head.run,
    )
    const verifiers = new Map<RunId, RunVerifier>()
    const verifierOf = (run: RunId): RunVerifier => {
      const verifier =
        verifiers.get(run) ??
        new RunVerifier(run, { ...this.#checks(run), ...options, knownHeads: known.get(run) ?? [] })
      verifiers.set(run, verifier)
      return verifier
    }
    for (const run of known.keys()) verifierOf(run)
    for await (const lost of this.#store.lostArchives()) verifierOf(lost.run).lost(lost)
    const unreadable: string[] = []
    for await (const records of this.#store.scan()) {
      for (const record of records) {
        if (record.kind === 'damage') unreadable.push(record.where)
        else if (record.kind !== 'object') verifierOf(record.run).take(record)
      }
    }
    for (const [run, verifier] of verifiers) await judgeDeletions(this.#store, run, verifier)
    return { runs: [...verifiers.values()].map(verifier => verifier.finish()), unreadable }
  }

  async close(): Promise<void> {
    await this.#stage?.drain()
    this.#signer?.close?.()
    await this.#store.close()
    held.delete(this.#store)
  }
}
