// The drivers of all runs at work, from the start of a run, or of the node, to its end. Resumes runs that a stop
// interrupted, and cleans up after those that are over.
import { endMarked } from '@parley/agents'
import { asParleyError, err, ok, ParleyError, type Result, type RunId, unwrap, type WorkspaceId } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import type { Coordinator } from '../coordinator.ts'
import type { Folders } from '../folder/folders.ts'
import { coordinatorDefaults } from '../limits.ts'
import { machineLimits } from '../machine/limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { Identities, liveAgents } from '../turn/identities.ts'
import { Semaphore } from '../turn/semaphore.ts'
import { turnToken } from '../turn/token.ts'
import { abandonRun } from './abandon.ts'
import type { KnownEnd, RunFacts } from './facts.ts'
import { endBegun, endCutOff } from './known-end.ts'
import { RunDriver } from './run-driver.ts'
import type { RunsHost } from './runs-host.ts'

/** What reads runs and tells of them. */
type Told = Pick<Coordinator, 'views' | 'records' | 'listeners'>

/** What kept a run from being driven, how often in a row: the machine, and anything else. */
interface Troubles {
  readonly faults: number
  readonly own: number
}

const NONE: Troubles = { faults: 0, own: 0 }

export class RunDrivers {
  readonly #host: RunsHost
  readonly #told: Told
  readonly #drivers: Map<RunId, RunDriver>
  readonly #identities = new Identities()
  readonly #turns: Semaphore
  /** A stop waits for it. */
  readonly #work = new Set<Promise<unknown>>()

  /** `drivers`: those of the host, which only this class changes. */
  constructor(host: RunsHost, drivers: Map<RunId, RunDriver>, told: Told) {
    this.#host = host
    this.#drivers = drivers
    this.#told = told
    this.#turns = new Semaphore(host.turns ?? coordinatorDefaults.turns)
  }

  /** Turns at work over all runs, and those that wait for a free place. */
  get load(): { readonly turns: number; readonly waiting: number } {
    return { turns: this.#turns.held, waiting: this.#turns.waiting }
  }

  async resumeAll(): Promise<void> {
    const { runtime, homes } = this.#host
    // All names that are taken first: one run's agents must not get those of another's.
    for (const run of runtime.active) await this.#takeNames(run)
    for (const run of runtime.active) await this.#resume(run)
    for (const run of homes.unsettled) await this.#tidy(run)
  }

  /** Drives a run that has just begun. It is on record, so what stops it here is tried again, as at a start. */
  async begin(run: RunHandle, facts: RunFacts, folders: Folders): Promise<void> {
    try {
      await this.#drive(run, facts, folders)
    } catch (cause) {
      await this.#notDriven(run.id, cause, NONE)
    }
  }

  /** Ends a run that has just begun, and that nobody is to drive. What stops it here is tried again as well. */
  async end(run: RunHandle, ends: KnownEnd): Promise<void> {
    const ended = await endBegun(run, ends)
    if (!ended.ok) await this.#notDriven(run.id, ended.error, NONE)
  }

  async #drive(run: RunHandle, facts: RunFacts, folders: Folders): Promise<void> {
    const { trail, secret, runtime, clock, machine, adapters, log, environment = {} } = this.#host
    const driver = new RunDriver({
      run,
      principal: runtime.user(facts.principal),
      approver: runtime.user(facts.approver ?? facts.principal),
      entries: after => trail.readable(run.id).since(after),
      facts,
      folders,
      clock,
      machine,
      adapter: (work, task, agent) => adapters.adapter(run.id, facts, work, task, agent),
      setup: (workspace, setup) => adapters.setup(run.id, facts, workspace, setup),
      token: (workspace, epoch) => turnToken(secret, { run: run.id, workspace, epoch }),
      environment,
      turns: this.#turns,
      identity: agent => this.#identities.next(agent),
      release: identity => this.#identities.release(identity),
      log,
      onEvent: event => this.#told.listeners.tell(run.id, event),
      onEnd: tidy => this.#ended(run.id, driver, tidy),
    })
    this.#drivers.set(run.id, driver)
    try {
      await driver.start()
    } catch (cause) {
      this.#drivers.delete(run.id)
      throw cause
    }
  }

  /** Puts a workspace's folder in order for another agent (W-MIG-05). */
  async prepare(run: RunId, workspace: WorkspaceId): Promise<void> {
    const driver = this.#drivers.get(run)
    if (!driver) throw new ParleyError('unavailable', `Nobody drives ${run}.`)
    await driver.prepare(workspace)
  }

  /** Work that a stop waits for. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    try {
      return await work
    } finally {
      this.#work.delete(work)
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#work)
    await Promise.all([...this.#drivers.values()].map(driver => driver.stop()))
    await this.#host.adapters.closeAll()
  }

  #ended(run: RunId, driver: RunDriver, tidy: boolean): void {
    this.#told.views.keep(run, driver)
    this.#told.listeners.forget(run)
    this.#told.records.keep(run, driver.cutOff)
    this.#drivers.delete(run)
    if (tidy) void this.during(this.#settle(run, driver.projection))
    void this.#host.adapters.close(run)
  }

  /** Whoever waits for the end of the run does not wait for this, and what fails now is done by the next start. */
  async #settle(run: RunId, projection: RunProjection): Promise<void> {
    const { homes, machine, stopping, log } = this.#host
    const attempt = async (): Promise<Result<void>> => {
      try {
        return ok(homes.settle(run, projection))
      } catch (cause) {
        return err(new ParleyError('folder_failed', asParleyError(cause).message, { cause }))
      }
    }
    const settled = await machine.through(attempt, [homes.home(run)], stopping)
    if (!settled.ok) log('warn', `the folder of ${run} is not in order yet: ${settled.error.message}`)
  }

  async #resume(id: RunId, troubles = NONE): Promise<void> {
    const { runtime, clock, homes, log } = this.#host
    try {
      const run = unwrap(await runtime.open(id))
      this.#identities.take(await liveAgents(run))
      const facts = unwrap(await run.coordinator.readContext()) as RunFacts
      // A run that something else than a coordinator has started is not ours to drive.
      if (facts.plan === undefined) return
      const { found: ended } = await endMarked(`${id}/`, { clock })
      if (ended > 0) log('info', `ended ${ended} processes that an earlier node left behind`, { run: id })
      if (facts.ends) {
        const projection = await this.#told.views.project(id)
        unwrap(await endCutOff(run, runtime.user(facts.principal), { ...facts, ends: facts.ends }, projection))
        return
      }
      if (await this.#abandons(run)) return
      const folders = unwrap(await homes.open(id, facts.project))
      await this.#drive(run, facts, folders)
      log('info', `goes on with ${id}, with the environment of this node`, { run: id })
    } catch (cause) {
      await this.#notDriven(id, cause, troubles)
    }
  }

  /** A run at work must not be left without anybody who drives it. */
  async #notDriven(id: RunId, cause: unknown, { faults, own }: Troubles): Promise<void> {
    const { runtime, clock, log, stopping } = this.#host
    const again = async (troubles: Troubles) => {
      if (stopping.aborted || this.#drivers.has(id) || !runtime.active.includes(id)) return
      await this.#resume(id, troubles)
    }
    const isTired = faults >= machineLimits.faultsInARow
    if (!isTired && (await this.#whenSound(cause, id, () => again({ faults: faults + 1, own })))) return
    // One broken run must not keep the others from going on; it can still be looked at and aborted.
    log('error', `cannot go on with ${id}: ${asParleyError(cause).message}`, { run: id, troubles: own })
    const wait = coordinatorDefaults.stepRetries[own]
    if (wait !== undefined)
      clock.after(wait, () => void this.during(again({ faults, own: own + 1 })), { background: true })
  }

  /** What a fault of the machine kept from being done is done when it is sound again, unless the node stops. */
  async #whenSound(cause: unknown, run: RunId, work: () => Promise<void>): Promise<boolean> {
    const { machine, profile, homes, stopping } = this.#host
    if (!(await machine.blame(cause, [profile, homes.home(run)]))) return false
    void machine.sound(stopping).then(async sound => {
      if (sound) await this.during(work())
    })
    return true
  }

  /** Whether it is ended in place of going on. Its folders are cleaned up with those of all that are over. */
  async #abandons(run: RunHandle): Promise<boolean> {
    const { abandon, log } = this.#host
    const reason = abandon?.(unwrap(await this.#told.records.storedRun(run.id)))
    if (reason === undefined) return false
    const names = await liveAgents(run)
    unwrap(await abandonRun(run, reason))
    for (const name of names) this.#identities.release(name)
    log('info', `does not go on with ${run.id}: ${reason}`, { run: run.id })
    return true
  }

  async #takeNames(id: RunId): Promise<void> {
    const { runtime, log } = this.#host
    try {
      this.#identities.take(await liveAgents(unwrap(await runtime.open(id))))
    } catch (cause) {
      // As with going on: one broken run is its own trouble.
      log('error', `cannot read who works in ${id}: ${asParleyError(cause).message}`, { run: id })
    }
  }

  /** What a stop between a run's end and its cleaning up has left. */
  async #tidy(run: RunId): Promise<void> {
    const { runtime, clock, homes, log } = this.#host
    // What is not over can be looked at and aborted, and keeps what it has until then.
    if (this.#drivers.has(run) || runtime.active.includes(run)) return
    try {
      await endMarked(`${run}/`, { clock })
      const projection = await this.#told.views.project(run)
      await homes.clean(run, projection)
      homes.settle(run, projection)
    } catch (cause) {
      log('warn', `the folders of ${run} were not cleaned up: ${asParleyError(cause).message}`, { run })
      await this.#whenSound(cause, run, () => this.#tidy(run))
    }
  }
}
