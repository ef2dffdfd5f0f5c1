// Follows the trail of one run: folds entries into the projection and takes a step after every commit. What a fault of
// the machine or the trail prevents is tried again.
import { asParleyError, type CancelTimer, invariant, type ObjectId, pause, unwrap } from '@parley/core'
import type { FollowedEntry } from '@parley/trail'
import { coordinatorDefaults } from '../limits.ts'
import { machineLimits } from '../machine/limits.ts'
import { isOfTrail } from '../machine/machine.ts'
import { RunProjection } from '../projection/run-projection.ts'
import type { RunParts } from './run-parts.ts'

interface Followed {
  /** Does what is next, as the projection stands. */
  readonly step: () => Promise<void>
  readonly finish: () => Promise<void>
  readonly changed: () => void
  /** Fires when nobody is to follow the run any more. */
  readonly stopping: AbortSignal
}

export class RunFollower {
  readonly projection = new RunProjection()
  /** All of the trail was read once. Before that, what was seen is the past. */
  knows = false
  /** Resolves when nobody follows the run any more. */
  done: Promise<void> = Promise.resolve()
  readonly #options: RunParts
  readonly #followed: Followed
  readonly #over = new AbortController()
  #again: CancelTimer | undefined
  #troubles = 0
  #faults = 0
  #waits = false
  #stepping: Promise<void> = Promise.resolve()

  constructor(options: RunParts, followed: Followed) {
    this.#options = options
    this.#followed = followed
  }

  /** Whether there were so many faults of the machine in a row that one more is the run's own trouble. */
  get isTired(): boolean {
    return this.#faults >= machineLimits.faultsInARow
  }

  async start(): Promise<void> {
    const { run, machine, log } = this.#options
    try {
      await this.catchUp()
    } catch (cause) {
      // It is read when the machine lets it be.
      if (!machine.report(cause)) throw cause
    }
    this.done = this.#follow().catch(cause => {
      const error = asParleyError(cause)
      log('error', `the run ${run.id} is not followed any more: ${error.message}`, { error })
    })
  }

  /** After `stopping` has fired: waits for what is under way. */
  async stop(): Promise<void> {
    await this.done
    await this.#stepping
    this.#again?.()
  }

  poke(): Promise<void> {
    return this.#after(() => this.#tryStep())
  }

  /** One after the other. */
  #after(work: () => Promise<void>): Promise<void> {
    this.#stepping = this.#stepping.then(work)
    return this.#stepping
  }

  async #follow(): Promise<void> {
    const { run, clock, machine, log } = this.#options
    const quiet = AbortSignal.any([this.#followed.stopping, this.#over.signal])
    while (!quiet.aborted) {
      try {
        await this.poke()
        for await (const { entries } of run.follow(this.projection.cursor, quiet))
          await this.#after(() => this.#tryStep(entries))
      } catch (cause) {
        if (machine.report(cause) && (await machine.sound(quiet))) continue
        log('warn', `the run ${run.id} cannot be followed: ${asParleyError(cause).message}`)
        await pause(clock, coordinatorDefaults.stepRetries[0], quiet)
      }
    }
    if (this.#over.signal.aborted) await this.#followed.finish()
  }

  /** The trail or git may be away for a while. A run that cannot go on for longer is ended. */
  async #tryStep(told?: readonly FollowedEntry[]): Promise<void> {
    if (this.#followed.stopping.aborted) return
    try {
      if (!told) await this.catchUp()
      // What a step has done is told by the watch as well.
      else if (await this.#fold(told)) await this.#readMeters()
      else return
      if (this.#options.machine.held) this.#goOnWhenSound()
      else {
        // What a step has done is a reason to look again.
        do await this.#followed.step()
        while (!this.projection.over && (await this.catchUp()))
        this.#troubles = 0
        this.#faults = 0
      }
    } catch (cause) {
      await this.#troubled(cause)
    }
    if (this.projection.over) this.#over.abort()
    this.#followed.changed()
  }

  async #troubled(cause: unknown): Promise<void> {
    const { run, machine, folders, log } = this.#options
    const { code, message } = asParleyError(cause)
    if (!this.isTired || isOfTrail(code)) {
      if (await machine.blame(cause, folders.disks)) {
        this.#faults++
        this.#goOnWhenSound()
        return
      }
    }
    log('error', `the run ${run.id} cannot go on: ${message}`, { troubles: ++this.#troubles })
    const wait = coordinatorDefaults.stepRetries[this.#troubles - 1]
    if (wait !== undefined || !(await run.stop()).ok) this.#tryAgain(wait ?? coordinatorDefaults.stepRetries.at(-1)!)
  }

  /** A fault of the machine ends no run, however long it lasts. */
  #goOnWhenSound(): void {
    if (this.#waits) return
    this.#waits = true
    void this.#options.machine.sound(this.#followed.stopping).then(sound => {
      this.#waits = false
      if (sound) void this.poke()
    })
  }

  #tryAgain(milliseconds: number): void {
    this.#again?.()
    this.#again = this.#options.clock.after(milliseconds, () => void this.poke(), { background: true })
  }

  /** What is decided next sees everything that was done before. True if there was something new. */
  async catchUp(): Promise<boolean> {
    let news = false
    for (;;) {
      const page = unwrap(await this.#options.entries(this.projection.cursor))
      news = (await this.#fold(page.entries)) || news
      if (!page.more) break
    }
    this.knows = true
    await this.#readMeters()
    return news
  }

  /** True if one of these entries is new. */
  async #fold(entries: readonly FollowedEntry[]): Promise<boolean> {
    const { projection } = this
    const fresh = entries.filter(({ seq }) => seq > projection.cursor)
    invariant((fresh[0]?.seq ?? projection.cursor + 1) === projection.cursor + 1, 'a run is followed entry by entry')
    const { run } = this.#options
    const load = async (id: ObjectId) => (run.recent(id) ?? unwrap(await run.object(id)))?.value
    for (const entry of fresh) await projection.apply(entry, load)
    return fresh.length > 0
  }

  async #readMeters(): Promise<void> {
    // A run that is over has left memory: reading its state would replay it.
    if (this.projection.over) return
    await this.#options.run.read(({ workspaces }) => {
      for (const each of this.projection.workspaces.values()) {
        const meter = workspaces.get(each.id)?.meter
        if (meter) each.metered = { tokens: meter.tokens, cost: meter.cost }
      }
    })
  }
}
