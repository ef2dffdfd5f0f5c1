// A trail: all runs of one store. It hands out runs, verifies everything, and knows where the clock must start.
import type { RunId, Ticks } from '@parley/core'
import { RunLifecycle } from './lifecycle.ts'
import type { BlobReport } from './log/blobs.ts'
import { RunTrail } from './run-trail.ts'
import type { Signer } from './signing.ts'
import { SigningStage } from './signing-stage.ts'
import type { Damage, RunSummary, TrailStore } from './store/store.ts'
import { RunVerifier, type VerifyOptions, type VerifyReport } from './verify.ts'

export interface TrailOptions {
  readonly store: TrailStore
  /** Signs every entry; without one the trail is chained but not signed. */
  readonly signer?: Signer
  /** Public keys that may have signed; verification refuses others. */
  readonly trusted?: ReadonlySet<string>
}

export interface TrailReport {
  readonly runs: readonly VerifyReport[]
  /** Places that cannot be read at all. Whose they were is told by the entries that a run misses. */
  readonly unreadable: readonly string[]
}

export class Trail {
  readonly #store: TrailStore
  readonly #signer: Signer | undefined
  readonly #stage: SigningStage | undefined
  readonly #checks: VerifyOptions
  readonly #runs = new Map<RunId, RunTrail>()
  readonly #lifecycles = new Map<RunId, RunLifecycle>()

  constructor(options: TrailOptions) {
    this.#store = options.store
    this.#signer = options.signer
    this.#stage = options.signer && new SigningStage(options.store, options.signer)
    this.#checks = options.trusted ? { trusted: options.trusted } : {}
  }

  /** One run, whether it has entries already or not. It stays in memory until it is released. */
  run(id: RunId): RunTrail {
    let run = this.#runs.get(id)
    if (!run) {
      run = new RunTrail(id, this.#store, this.#stage, this.#checks)
      this.#runs.set(id, run)
    }
    return run
  }

  /** Forgets what is held in memory of a run, for instance once it has ended; `run` opens it again. */
  async release(id: RunId): Promise<void> {
    await this.#runs.get(id)?.release()
    this.#runs.delete(id)
    this.#lifecycles.delete(id)
  }

  /** Tiers, compaction, retention and snapshots of one run. */
  lifecycle(id: RunId): RunLifecycle {
    let lifecycle = this.#lifecycles.get(id)
    if (!lifecycle) {
      lifecycle = new RunLifecycle(this.run(id), this.#store)
      this.#lifecycles.set(id, lifecycle)
    }
    return lifecycle
  }

  /** Removes from the log what archives hold; returns the bytes wiped. */
  reclaim(): Promise<number> {
    return this.#store.reclaim()
  }

  checkBlobs(): Promise<BlobReport> {
    return this.#store.checkBlobs()
  }

  runs(): Promise<readonly RunSummary[]> {
    return this.#store.runs()
  }

  /** The greatest timestamp on record: the clock must start above it (W-CLOCK-07). */
  get floor(): Ticks {
    return this.#store.floor
  }

  /** What was found wrong when the store was opened. */
  get damage(): readonly Damage[] {
    return this.#store.damage
  }

  /** Verifies every run in one pass over the storage. */
  async verifyAll(options: VerifyOptions = {}): Promise<TrailReport> {
    const known = Map.groupBy(
      [...(await this.#store.knownHeads()), ...(options.knownHeads ?? [])],
      head => head.run,
    )
    const verifiers = new Map<RunId, RunVerifier>()
    const verifierOf = (run: RunId): RunVerifier => {
      const verifier =
        verifiers.get(run) ??
        new RunVerifier(run, { ...this.#checks, ...options, knownHeads: known.get(run) ?? [] })
      verifiers.set(run, verifier)
      return verifier
    }
    for (const run of known.keys()) verifierOf(run)
    const unreadable: string[] = []
    for await (const records of this.#store.scan()) {
      for (const record of records) {
        if (record.kind === 'entry') verifierOf(record.run).entry(record)
        else if (record.kind === 'bridge') verifierOf(record.run).bridge(record)
        else if (record.kind === 'damage') unreadable.push(record.where)
      }
    }
    return { runs: [...verifiers.values()].map(verifier => verifier.finish()), unreadable }
  }

  async close(): Promise<void> {
    await this.#stage?.drain()
    this.#signer?.close?.()
    await this.#store.close()
  }
}
