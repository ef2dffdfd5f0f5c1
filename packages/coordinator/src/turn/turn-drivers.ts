// Starts a turn driver for each workspace at work, and stops it, its turn and its folder when the workspace has ended.
import { sumUsage } from '@parley/agents'
import { asParleyError, ParleyError, pause, type Usage, type WorkspaceId } from '@parley/core'
import { coordinatorDefaults } from '../limits.ts'
import type { Machine } from '../machine/machine.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import { type CutOff, NOTHING_CUT_OFF } from '../view/run-records.ts'
import { nameOf } from './identities.ts'
import { Semaphore } from './semaphore.ts'
import { TurnDriver, type TurnDriverHost } from './turn-driver.ts'

export class TurnDrivers {
  /** What turns had used that were ended before they could record it. */
  cutOff: CutOff = NOTHING_CUT_OFF
  readonly #options: RunAtWork
  readonly #host: TurnDriverHost
  readonly #drivers = new Map<WorkspaceId, TurnDriver>()
  /** Drivers of workspaces that have ended, until their turns have too. */
  readonly #leaving = new Set<Promise<void>>()
  #stopped = false

  constructor(options: RunAtWork, handOver: TurnDriverHost['handOver']) {
    const { projection, turns, facts, machine } = options
    const { concurrency } = facts.team.limits
    const slots = new TurnSlots(concurrency, turns, agent => projection.agentConfig(agent)?.slots)
    this.#options = options
    this.#host = {
      ...options,
      handOver,
      slot: ({ agent }, signal) => whenSound(machine, signal, () => slots.acquire(agent, signal)),
      cutOff: usage => this.#addCutOff(usage),
    }
  }

  get(workspace: WorkspaceId): TurnDriver | undefined {
    return this.#drivers.get(workspace)
  }

  #addCutOff(used: Usage): void {
    const { turns, usage } = this.cutOff
    this.cutOff = { turns: turns + 1, usage: sumUsage(usage, used) }
  }

  /** After everything that was seen. */
  update(): void {
    if (!this.#stopped) this.#begin()
    this.#forgetEnded()
  }

  /** Every workspace at work has somebody who takes its turns; a team takes none. */
  #begin(): void {
    const { workspaces, plan } = this.#options.projection
    for (const { id, facts, ended } of workspaces.values()) {
      if (!facts || facts.kind === 'team' || ended !== undefined) continue
      // One whose agent was replaced has stopped, and stays until the new one is bound.
      if (this.#drivers.get(id)?.facts.agent === facts.agent) continue
      const task = plan.get(facts.task)
      if (!task) continue
      const driver = new TurnDriver(this.#host, id, facts, task)
      this.#drivers.set(id, driver)
      driver.start()
    }
  }

  #forgetEnded(): void {
    const { projection, release } = this.#options
    for (const [id, driver] of this.#drivers) {
      if (projection.workspaces.get(id)?.ended === undefined) continue
      this.#drivers.delete(id)
      release(driver.facts.agent)
      const leaving = this.#leave(id, driver).finally(() => this.#leaving.delete(leaving))
      this.#leaving.add(leaving)
    }
  }

  async #leave(id: WorkspaceId, driver: TurnDriver): Promise<void> {
    const { folders, log } = this.#options
    try {
      await driver.stop()
      await folders.discard(id)
    } catch (cause) {
      log('warn', `the folder of ${id} was not removed: ${asParleyError(cause).message}`)
    }
  }

  /**
   * Ends the turns at work in a workspace and below it, or in all, before these are ended: nothing is filed under work
   * that has ended, and what its turns used would be on no record.
   */
  async endTurns(reason: string, of?: WorkspaceId): Promise<void> {
    const { projection, clock } = this.#options
    const within = (id: WorkspaceId | null): boolean =>
      id !== null && (id === of || within(projection.workspaces.get(id)?.parent ?? null))
    const why = new ParleyError('aborted', reason)
    const turns = [...this.#drivers].map(([id, driver]) =>
      of !== undefined && !within(id) ? undefined : driver.leave(why),
    )
    const late = new AbortController()
    await Promise.race([Promise.all(turns), pause(clock, coordinatorDefaults.leaveMs, late.signal)])
    late.abort()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([...[...this.#drivers.values()].map(driver => driver.stop()), ...this.#leaving])
  }

  /** The same when the run is over: nobody has a place in it any more. */
  async end(): Promise<void> {
    await this.stop()
    for (const { facts } of this.#drivers.values()) this.#options.release(facts.agent)
    this.#drivers.clear()
  }
}

/** Places for turns: one of the agent's own, one in the run, and one on this machine. */
class TurnSlots {
  readonly #run: Semaphore
  readonly #turns: Semaphore
  readonly #slotsOf: (agent: string) => number | undefined
  readonly #agents = new Map<string, Semaphore>()

  /** `concurrency`: turns at once in this run; `turns`: over all runs; `slotsOf`: of one agent. */
  constructor(concurrency: number, turns: Semaphore, slotsOf: (agent: string) => number | undefined) {
    this.#run = new Semaphore(concurrency)
    this.#turns = turns
    this.#slotsOf = slotsOf
  }

  /** In the same order for all, against deadlock. Resolves to the release, or undefined if the signal fires first. */
  async acquire(identity: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const releases: (() => void)[] = []
    const release = () => {
      for (const each of releases.toReversed()) each()
    }
    for (const slots of [this.#ofAgent(nameOf(identity)), this.#run, this.#turns]) {
      const one = await slots.acquire(signal)
      if (!one) {
        release()
        return undefined
      }
      releases.push(one)
    }
    return release
  }

  #ofAgent(name: string): Semaphore {
    const slots = this.#agents.get(name) ?? new Semaphore(this.#slotsOf(name) ?? Number.POSITIVE_INFINITY)
    this.#agents.set(name, slots)
    return slots
  }
}

/** No turn begins while the machine is at fault, not even one whose place became free meanwhile. */
async function whenSound(
  machine: Machine,
  signal: AbortSignal,
  acquire: () => Promise<(() => void) | undefined>,
): Promise<(() => void) | undefined> {
  for (;;) {
    if (!(await machine.sound(signal))) return undefined
    const release = await acquire()
    if (!release || !machine.held) return release
    release()
  }
}
