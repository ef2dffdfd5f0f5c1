// Reading a run from its log, whole or from behind a kept state: for what is held in memory, and for replays. A replay
// of a run that is not in memory yet gathers its state on the way, so that opening reads the log once.
import type { ParleyError, RunId } from '@parley/core'
import type { RunContent } from '../content/run-content.ts'
import type { Entry, StoredEntry, StoredRecord, TrailObject } from '../entry.ts'
import { damagedError, haltedError } from '../errors.ts'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import { entryAt } from '../store/entry-at.ts'
import type { RunHead, TrailStore } from '../store/store.ts'
import type { VerifyOptions } from '../verify/report.ts'
import { RunVerifier } from '../verify/verify.ts'
import { globalEntry } from './chain.ts'
import { RunState, type TrailState } from './run-state.ts'
import { type Forged, lostObject, readObject } from './stored-object.ts'

export interface ReplayOptions {
  /** Begin behind a state that was kept, and that `resume` has accepted. */
  readonly behind?: TrailState | undefined
  /**
   * Throw `trail_damaged` where an entry does not follow the one before, or the run has lost its end. Hashes are
   * checked anyway. It holds for a run of which nothing was in memory. `proven`: also anchors and signatures.
   */
  readonly sound?: boolean | 'proven'
  /** Hand out objects whose content is gone, with `lost`, instead of throwing. */
  readonly lost?: boolean
  /** What is done about objects whose proof does not fit; they are refused where nothing is said. */
  readonly forged?: Forged
  /** Leave objects out: what they hold is not opened. */
  readonly entriesOnly?: boolean
}

interface Place {
  readonly seq: number
  readonly hash: string | null
}

export class RunReading {
  readonly #run: RunId
  readonly #store: TrailStore
  readonly #content: RunContent
  readonly #checks: () => VerifyOptions
  #state: RunState | undefined
  /** Where reading the run may begin, instead of at its beginning. */
  #kept: TrailState | undefined
  #loading: Promise<RunState> | undefined

  constructor(run: RunId, store: TrailStore, content: RunContent, checks: () => VerifyOptions) {
    this.#run = run
    this.#store = store
    this.#content = content
    this.#checks = checks
  }

  get state(): RunState | undefined {
    return this.#state
  }

  /** What is held in memory does not fit the log: it is read again when it is needed next. */
  forget(): void {
    this.#state = undefined
    this.#kept = undefined
  }

  load(): Promise<RunState> {
    if (this.#state) return Promise.resolve(this.#state)
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async resume(kept: TrailState): Promise<boolean> {
    const { chain, objects } = kept
    if ((await entryAt(this.#store, this.#run, chain.seq))?.hash !== chain.hash) return false
    let left = objects.loose
    if (left > 0) {
      for await (const record of this.#store.replay(this.#run, chain.seq)) {
        if (record.kind === 'entry' || (left === 1 && record.id !== objects.last)) return false
        if (--left === 0) break
      }
    }
    if (left > 0) return false
    if (!this.#state && !this.#loading) this.#kept = kept
    return true
  }

  async *replay({ behind, sound, entriesOnly, lost, forged }: ReplayOptions): AsyncGenerator<Entry | TrailObject> {
    const gathers = !this.#state && !this.#loading && behind === this.#kept
    const halted = sound && haltedError(this.#store.damage, this.#run)
    if (halted) throw halted
    await this.#content.learn()
    let state = gathers ? this.#begin() : undefined
    const verifier = sound === 'proven' && gathers ? await this.#opening(behind) : undefined
    // Also for the gathered state: the log must know where the run stands before anything is appended to it.
    const end = sound || gathers ? await this.#store.logHead(this.#run) : undefined
    let last: Place | undefined = behind?.chain
    for await (const record of this.#behind(behind)) {
      if (record.kind === 'object') {
        state?.takeObject(record.id)
        if (entriesOnly) continue
        yield lost && record.lost !== undefined ? lostObject(record) : readObject(record, this.#content, forged)
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
      last = record
      yield entry
    }
    if (state) await this.#bridgeEnd(state)
    const short = this.#short(last, end)
    if (short && sound) throw short
    if (!this.#loading && !short) this.#state ??= state
  }

  /** W-REC-12: what is checked of a run that is opened, from its beginning or from behind a kept state. */
  async #opening(kept: TrailState | undefined): Promise<RunVerifier> {
    const behind = kept?.chain
    const newest = (await this.#store.head(this.#run))?.seq ?? 0
    const signed = behind && (await entryAt(this.#store, this.#run, behind.seq))?.signature !== undefined
    return new RunVerifier(this.#run, {
      ...(signed && { signed }),
      ...this.#checks(),
      ...(behind && { behind }),
      signaturesFrom: newest - trailLimits.openingSignatures + 1,
    })
  }

  async #examine(verifier: RunVerifier, entry: StoredEntry): Promise<void> {
    verifier.entry(entry)
    const { finding } = verifier
    if (finding) throw damagedError(`${finding.message}. Verify the run.`, { run: this.#run, seq: finding.seq })
    if (entry.seq % trailLimits.openingEntries === 0) await pause()
  }

  async #read(): Promise<RunState> {
    await this.#content.learn()
    const kept = this.#kept
    const state = this.#begin()
    const end = await this.#store.logHead(this.#run)
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
    const short = this.#short(state.chain, end)
    if (short) throw short
    this.#state = state
    return state
  }

  async *#behind(kept: TrailState | undefined): AsyncGenerator<StoredRecord> {
    let skipped = kept?.objects.loose ?? 0
    for await (const record of this.#store.replay(this.#run, kept?.chain.seq)) {
      if (skipped > 0) skipped--
      else yield record
    }
  }

  /** A kept state serves once: a reading that fails half-way spoils it, and the next one begins at the beginning. */
  #begin(): RunState {
    const kept = this.#kept
    this.#kept = undefined
    return new RunState(this.#run, kept)
  }

  /** An imported run may end with entries that were deleted before it came. */
  async #bridgeEnd(state: RunState): Promise<void> {
    const last = this.#store.imports.get(this.#run)?.head.seq ?? 0
    if (state.chain.seq < last) await state.bridge(this.#store, last + 1)
  }

  /** A run read in part must never be continued: the next entry would stand in a taken place. */
  #short(last: Place | undefined, end: RunHead | undefined): ParleyError | undefined {
    const seq = last?.seq ?? 0
    if (!end || seq > end.seq || (seq === end.seq && last?.hash === end.hash)) return undefined
    const message = `${this.#run}: the log goes up to entry ${end.seq}, and only ${seq} can be read. Verify the run.`
    return damagedError(message, { run: this.#run, seq: seq + 1 })
  }

  #broken(seq: number, last: number): ParleyError {
    const message = `${this.#run}: entry ${seq} does not follow entry ${last}. Verify the run.`
    return damagedError(message, { run: this.#run, seq })
  }
}
