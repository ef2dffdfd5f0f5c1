// The runs of a trail that are in memory: those at work, and finished ones for a while after they were read. One that
// is halted leaves and is not let in again (W-REC-13); one that the machine keeps from being read may come back.
import { asParleyError, err, machineFaultOf, ok, ParleyError, type Result, type RunId } from '@parley/core'
import type { Trail } from '@parley/trail'
import { kernelLimits } from '../limits.ts'
import type { Run } from '../run/run.ts'
import type { RunActor } from './actor/actor.ts'
import { awayBy, damageOf, haltedBy } from './halt.ts'

/**
 * Replays a run. `proven`: it had not ended when the runtime stopped, and so it is looked at more closely (W-REC-12).
 */
type Open = (id: RunId, proven: boolean) => Promise<RunActor>

export class Runs {
  readonly #trail: Trail
  readonly #open: Open
  readonly #atWork = new Map<RunId, RunActor>()
  readonly #opening = new Map<RunId, Promise<RunActor>>()
  /** Finished runs that were read lately, oldest first. */
  readonly #finished = new Map<RunId, RunActor>()
  readonly #halted = new Map<RunId, ParleyError>()
  readonly #away = new Map<RunId, ParleyError>()
  readonly #returning = new Map<RunId, Promise<void>>()

  constructor(trail: Trail, open: Open) {
    this.#trail = trail
    this.#open = open
  }

  get ids(): readonly RunId[] {
    return [...this.#atWork.keys()]
  }

  /** Runs that take nothing, with what was found. */
  get halted(): ReadonlyMap<RunId, ParleyError> {
    return this.#halted
  }

  /** Unfinished runs that could not be read or recovered because the machine failed, with what was met. */
  get away(): ReadonlyMap<RunId, ParleyError> {
    return this.#away
  }

  get(id: RunId): RunActor | undefined {
    return this.#atWork.get(id)
  }

  /**
   * Brings in a run that had not ended. W-REC-12: damage halts this run and no other; a trail that is only away for
   * now, or a disk that fails to read it, is no damage.
   */
  async examine(id: RunId): Promise<void> {
    try {
      await this.#actor(id, true)
      this.#away.delete(id)
    } catch (cause) {
      const { retryable } = asParleyError(cause)
      if (retryable && !this.#away.has(id)) throw cause
      if (retryable || machineFaultOf(cause)) {
        this.#away.set(id, awayBy(id, cause))
        return
      }
      this.#away.delete(id)
      this.#halted.set(id, await damageOf(id, this.#trail.readable(id), cause))
    }
  }

  /** Reads a run that is away again. All who ask meanwhile wait for the same attempt. */
  bringBack(id: RunId, recover: () => Promise<void>): Promise<void> {
    const known = this.#returning.get(id)
    if (known) return known
    const returning = this.examine(id)
      .then(recover)
      .finally(() => this.#returning.delete(id))
    this.#returning.set(id, returning)
    return returning
  }

  /**
   * Any run, new ones included; refused where it is halted or imported, or the trail is away even for reading
   * (W-REC-06).
   */
  async open(id: RunId): Promise<Result<RunActor>> {
    try {
      return ok(await this.#actor(id))
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /** Committed state of any run; rejects where `open` refuses. */
  async read<T>(id: RunId, reader: (state: Run) => T): Promise<T> {
    const actor = this.#atWork.get(id) ?? (await this.#actor(id))
    return actor.read(reader)
  }

  #actor(id: RunId, proven = false): Promise<RunActor> {
    const known = this.#atWork.get(id) ?? this.#finished.get(id)
    if (known) return Promise.resolve(known)
    const refused = this.#halted.get(id) ?? (proven ? undefined : this.#away.get(id))
    if (refused) return Promise.reject(refused)
    const opening = this.#opening.get(id) ?? this.#load(id, proven).finally(() => this.#opening.delete(id))
    this.#opening.set(id, opening)
    return opening
  }

  async #load(id: RunId, proven: boolean): Promise<RunActor> {
    if (this.#trail.imported(id))
      throw new ParleyError('invalid_state', `${id} was imported: it can be read and verified, and nothing else.`)
    const actor = await this.#open(id, proven).catch(async cause => {
      // What cannot be read is not to be kept in memory in part.
      await this.#trail.release(id)
      throw cause
    })
    if (!actor.ended) this.#atWork.set(id, actor)
    else await this.#remember(id, actor)
    return actor
  }

  async #remember(id: RunId, actor: RunActor): Promise<void> {
    this.#finished.set(id, actor)
    const [oldest] = this.#finished.keys()
    if (this.#finished.size > kernelLimits.cachedRuns && oldest !== undefined) await this.forget(oldest)
  }

  /** A run that never began, or that nobody reads any more. */
  async forget(id: RunId): Promise<void> {
    this.#finished.delete(id)
    this.#atWork.delete(id)
    await this.#trail.release(id)
  }

  /** Stops a run at work: it has ended, or could not begin. */
  async leave(actor: RunActor): Promise<void> {
    this.#atWork.delete(actor.id)
    await actor.stop()
    await this.#trail.release(actor.id)
  }

  /** What a run at work met keeps it from going on. */
  async halt(id: RunId, cause: unknown): Promise<void> {
    const actor = this.#atWork.get(id)
    this.#atWork.delete(id)
    if (!machineFaultOf(cause)) {
      this.#halted.set(id, haltedBy(id, cause))
      return
    }
    this.#away.set(id, awayBy(id, cause))
    // It is read anew when it comes back.
    if (actor) await this.leave(actor)
  }

  /** Has the trail let go of a run, unless it is in memory here. */
  async release(id: RunId): Promise<void> {
    const held = this.#atWork.has(id) || this.#finished.has(id) || this.#opening.has(id)
    if (!held) await this.#trail.release(id)
  }

  async stop(): Promise<void> {
    // A run that is just being opened would come to work after the end.
    await Promise.allSettled(this.#opening.values())
    await Promise.all([...this.#atWork.values(), ...this.#finished.values()].map(actor => actor.stop()))
    this.#atWork.clear()
    this.#finished.clear()
  }
}

/** A few at a time. */
export async function inParts(runs: readonly RunId[], work: (run: RunId) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < runs.length; at += kernelLimits.openingRuns)
    await Promise.all(runs.slice(at, at + kernelLimits.openingRuns).map(work))
}
