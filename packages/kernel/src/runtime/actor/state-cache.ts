// The state cache: the folded state of a run at one of its entries, kept so that opening reads only what came later. It
// is never authoritative, and not WACP's trail snapshot: one that is missing, without a valid proof, of another version
// or not borne out by the trail is passed over, and the run is replayed from its beginning. What stands before a kept
// state is not verified again when a run is opened; `verify` does that on demand. The store does all I/O; long work
// lets the event loop turn in between.
import { type CancelTimer, type Clock, ParleyError, type RunId, unwrap } from '@parley/core'
import type { RunTrail, StateCacheStore, TrailState } from '@parley/trail'
import type { StateProof } from '../../integrity/state-proof.ts'
import { kernelDefaults, kernelLimits } from '../../limits.ts'
import { newRun, type Run, runEnded } from '../../run/run.ts'
import { recordedVocabulary, type Taxonomy } from '../../taxonomy/taxonomy.ts'
import type { RuntimeOptions } from '../runtime-options.ts'
import { decodeGraph, encodeGraph, type Pieces } from './state-graph.ts'

type StateCacheSettings = Pick<RuntimeOptions, 'stateCache' | 'onStateCacheFault' | 'stateCacheEntries'>

/** Changes with everything that makes a fold come to another state, or gives a state another shape. */
const VERSION = 'kernel 0.1.0, state 3'

interface StateCacheOptions {
  readonly id: RunId
  readonly trail: RunTrail
  readonly clock: Clock
  readonly store: StateCacheStore
  readonly proof: StateProof
  readonly entries: number
  readonly onFault: (cause: unknown) => void
}

export function stateCacheOf(
  { stateCache: store, onStateCacheFault: onFault = () => undefined, stateCacheEntries }: StateCacheSettings,
  proof: StateProof | undefined,
  run: Pick<StateCacheOptions, 'id' | 'trail' | 'clock'>,
): StateCache | undefined {
  const entries = stateCacheEntries ?? kernelLimits.stateCacheEntries
  return store && proof && new StateCache({ ...run, store, proof, entries, onFault })
}

interface KeptState {
  readonly run: Run
  readonly trail: TrailState
}

interface Content {
  readonly version: string
  readonly fields: readonly string[]
  readonly run: Omit<Run, 'vocabulary'> & { readonly vocabulary: Taxonomy | null }
  readonly trail: TrailState
}

/** Keeps the state of one run. Whoever changes the state says so first, and hands it over only as the trail has it. */
export class StateCache {
  readonly #options: StateCacheOptions
  #kept = 0
  #changes = 0
  #resting: CancelTimer | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(options: StateCacheOptions) {
    this.#options = options
  }

  async load(): Promise<KeptState | undefined> {
    const { id, store, proof, trail, onFault } = this.#options
    try {
      const sealed = await store.load(id)
      if (!sealed) return undefined
      const bytes = await inPieces(proof.open(id, sealed))
      if (!bytes) throw unusable(id, 'it has no valid proof; it was changed, or another version or secret kept it')
      const kept = restored(id, await inPieces(decodeGraph(bytes)))
      if (!(await trail.resume(kept.trail))) throw unusable(id, 'the trail does not bear it out')
      this.#kept = kept.run.seq
      return kept
    } catch (cause) {
      onFault(cause)
      return undefined
    }
  }

  changing(): void {
    this.#changes++
  }

  isOverdue(run: Run): boolean {
    return this.#isDue(run, kernelLimits.stateCacheOverdue)
  }

  rest(run: () => Run): void {
    if (this.#resting || !this.#isDue(run(), 1)) return
    const changes = this.#changes
    const rested = () => {
      this.#resting = undefined
      if (changes === this.#changes) void this.keep(run())
      else this.rest(run)
    }
    this.#resting = this.#options.clock.after(kernelDefaults.stateCacheRest, rested, { background: true })
  }

  keep(run: Run): Promise<void> {
    this.#last = this.#last.then(() => this.#keep(run)).catch(this.#options.onFault)
    return this.#last
  }

  async stop(run: Run): Promise<void> {
    this.halt()
    await (this.#isDue(run, kernelLimits.stateCacheStop) ? this.keep(run) : this.#last)
  }

  halt(): void {
    this.#resting?.()
    this.#resting = undefined
  }

  remove(): Promise<void> {
    this.halt()
    this.changing()
    const { store, id, onFault } = this.#options
    this.#last = this.#last.then(() => store.remove(id)).catch(onFault)
    return this.#last
  }

  #isDue(run: Run, times: number): boolean {
    return run.seq - this.#kept >= this.#options.entries * times
  }

  async #keep(run: Run): Promise<void> {
    const { id, trail, store, proof } = this.#options
    const state = trail.state()
    // Something may be on its way, or have been appended by somebody else.
    if (!state || !isSamePlace(run, state) || runEnded(run)) return
    const changes = this.#changes
    const before = this.#kept
    this.#kept = run.seq
    const bytes = await inPieces(encodeGraph(contentOf(run, state)), () => this.#changes !== changes)
    if (bytes === 'stopped') this.#kept = before
    else if (bytes) await store.save(id, await inPieces(proof.seal(id, bytes)))
    else throw unusable(id, 'it is too large')
  }
}

function isSamePlace(run: Pick<Run, 'seq' | 'objects'>, { chain, objects }: TrailState): boolean {
  return run.seq === chain.seq && run.objects === objects.count
}

function contentOf(run: Run, trail: TrailState): Content {
  return {
    version: VERSION,
    fields: Object.keys(run),
    run: { ...run, vocabulary: run.vocabulary.document },
    trail,
  }
}

function restored(id: RunId, decoded: unknown): KeptState {
  const { version, fields, run, trail } = decoded as Content
  const known = Object.keys(newRun(id))
  if (version !== VERSION || fields.join() !== known.join()) throw unusable(id, 'it is of another version')
  if (run.id !== id || !isSamePlace(run, trail)) throw unusable(id, 'it is of another run')
  return { run: { ...run, vocabulary: unwrap(recordedVocabulary(run.vocabulary)) }, trail }
}

function unusable(run: RunId, why: string): ParleyError {
  return new ParleyError('state_cache_unusable', `The kept state of ${run} was passed over: ${why}.`)
}

async function inPieces<Result>(work: Pieces<Result>): Promise<Result>
async function inPieces<Result>(work: Pieces<Result>, ends: () => boolean): Promise<Result | 'stopped'>
async function inPieces<Result>(work: Pieces<Result>, ends: () => boolean = () => false): Promise<Result | 'stopped'> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    await new Promise(resolve => setImmediate(resolve))
    if (ends()) return 'stopped'
  }
}
