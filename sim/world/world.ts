// The world of one seed: a real runtime on the real store over faulty disks in memory, life after life. It carries out
// nothing by itself; actions.ts acts on it, and after every step it is asked whether all is well.
import { ManualClock, SeededIds, type Ticks } from '@parley/core'
import { type AgentHandle, type RunHandle, Runtime } from '@parley/kernel'
import type { StateCacheStore, TrailStore } from '@parley/trail'
import { CAPABILITIES } from '@parley/trail/events'
import { openMemoryStore } from '@parley/trail/testing'
import { difference } from '../checks/compare.ts'
import { checkState, Violation, violated } from '../checks/invariants.ts'
import { needlessWait, overdue } from '../checks/overdue.ts'
import { checkRecovered, checkTwice, deliveredTooOften, notTakenUp, openedRun } from '../checks/recovery.ts'
import { type Asked, type Tamper, Watch, type Watched } from '../checks/watch.ts'
import type { Preparation } from '../commands/succession.ts'
import type { RunModel } from '../model/model.ts'
import { Dice } from '../random.ts'
import { type Config, configOf, PEOPLE } from './config.ts'
import { crashed, type Disks, mended, newDisks } from './disks.ts'
import { openKeys } from './keys.ts'
import { standingOf } from './people.ts'
import { Storage } from './storage.ts'
import { StormyTransport } from './transport.ts'
import { WatchedTrail } from './watched-trail.ts'

const START = 1_772_355_900_000_000 as Ticks
/** Turns of the event loop after which a world that is still busy is stuck in a circle. */
const MOST_TURNS = 20_000
/** Turns for which a run may be silent while it reads its trail again. */
const RELOAD_TURNS = 20

/** One life of the process, from opening to crash or stop. */
interface Life extends Watched {
  readonly clock: ManualClock
  readonly transport: StormyTransport
  readonly trail: WatchedTrail
  readonly store: TrailStore
  readonly runtime: Runtime
}

export interface WorldOptions {
  readonly tamper?: Tamper | undefined
  /** What the seed does not decide. */
  readonly config?: Partial<Config>
}

export class World {
  readonly seed: number
  readonly config: Config
  readonly dice: Dice
  readonly watch: Watch
  readonly runs = new Map<string, RunHandle>()
  readonly agents = new Map<string, AgentHandle>()
  disks: Disks = newDisks()
  readonly storage: Storage = new Storage(this)
  /** Runs that had ended when the last step did. */
  readonly finished = new Set<string>()
  /** The next agent cannot be bound. */
  bindingFails = false
  /** What becomes of the next agent that is to take over a workspace. */
  preparation: Preparation = 'at_once'
  readonly #unprepared: (() => void)[] = []
  readonly #ids: SeededIds
  /** Kept states of runs; no crash takes them, and nothing rests on them. */
  readonly #states = new Map<string, Uint8Array>()
  #life: Life | undefined
  /** The life that is being opened; a crash may strike it, too. */
  #nascent: Watched | undefined
  #now = START

  constructor(seed: number, { tamper, config }: WorldOptions = {}) {
    this.seed = seed
    this.dice = new Dice(seed)
    this.config = { ...configOf(this.dice), ...config }
    const keepsStates = this.config.keptEvery > 0
    this.watch = new Watch(
      {
        carriesSignals: this.config.signals,
        keepsStates,
        standing: user => standingOf(user, this.config.people, this.models),
      },
      tamper,
    )
    this.#ids = new SeededIds(seed)
  }

  get life(): Life {
    if (!this.#life) throw new Error('The world is not open.')
    return this.#life
  }

  get runtime(): Runtime {
    return this.life.runtime
  }

  get models(): ReadonlyMap<string, RunModel> {
    return this.watch.models
  }

  get openRuns(): RunModel[] {
    const house = this.runtime.house.run
    return [...this.models.values()].filter(run => run.root && !run.ended && run.id !== house)
  }

  // Lives

  async open(): Promise<void> {
    const { watch } = this
    const clock = new ManualClock(this.#now)
    const transport = new StormyTransport(this.config, this.dice, watch)
    const nascent: Watched = { asked: new Set<Asked>(), calls: 0, over: false }
    this.#nascent = nascent
    const store = await openMemoryStore(this.disks, this.config.store)
    if (store.damage.length > 0) throw new Violation('W-TRAIL-26 a crash damages nothing', store.damage[0]!.message)
    const signing = this.config.signed ? await openKeys(this.disks, this.#now, store.floor) : {}
    const trail = new WatchedTrail({ store, ...signing }, watch.batches(nascent))
    await checkRecovered(trail, store, watch, this.storage.deletions)
    if (nascent.over) return
    watch.underway.clear()
    watch.doubtful.length = 0
    this.runs.clear()
    this.agents.clear()
    this.bindingFails = false
    this.preparation = 'at_once'
    this.#unprepared.length = 0
    watch.recovering.clear()
    for (const run of watch.models.values()) if (run.root && !run.ended) watch.recovering.set(run.id, openedRun(run))
    watch.opening = true
    const runtime = await Runtime.open({
      ...this.config.runtime,
      trail,
      clock,
      ids: this.#ids,
      transport,
      ...(this.config.keptEvery > 0 && {
        stateCache: this.#stateCache(nascent),
        stateCacheEntries: this.config.keptEvery,
        onStateCacheFault: (cause: unknown) => nascent.over || watch.troubled || watch.uncaught(cause),
      }),
      bind: agent => this.#bind(agent, nascent),
      prepare: request => this.#prepare(request, nascent),
      onFault: cause => nascent.over || watch.uncaught(cause),
    })
    if (nascent.over) return
    this.#life = Object.assign(nascent, { clock, transport, trail, store, runtime })
    this.storage.opened()
    this.#noteFinished()
    watch.commands(runtime, nascent)
    await this.settle()
    if (nascent.over) return
    watch.opening = false
    const [unrecovered] = watch.troubled ? [] : watch.recovering.keys()
    violated('W-REC-11 a restart recovers every unfinished run', unrecovered)
    await this.#meet(nascent)
    if (nascent.over) return
    for (const run of this.openRuns) {
      const opened = await runtime.open(run.id as never)
      if (nascent.over) return
      if (opened.ok) this.runs.set(run.id, opened.value)
      violated('W-WS-06 W-WS-07 a restart takes up what creation left', watch.troubled ? undefined : notTakenUp(run))
      runtime.subscribe(run.id as never, watch.notices(run.id, nascent))
    }
    await this.compare()
  }

  /** The first time, people come in: each may do some things. */
  async #meet(life: Watched): Promise<void> {
    const { users } = this.runtime
    if (this.config.people !== 'house' || this.watch.troubled || users.list().length > 0) return
    for (const user of PEOPLE) {
      await users.accept({ user, method: 'password' })
      const share = this.dice.pick([0.2, 0.6, 1])
      for (const capability of CAPABILITIES) {
        if (life.over) return
        if (this.dice.chance(share)) await users.grant(user, capability)
      }
    }
    await this.settle()
  }

  #stateCache(life: Watched): StateCacheStore {
    return {
      load: run => Promise.resolve(this.#states.get(run)),
      save: (run, content) => {
        this.watch.moved()
        if (!life.over) this.#states.set(run, content.slice())
        return Promise.resolve()
      },
      remove: run => {
        if (!life.over) this.#states.delete(run)
        return Promise.resolve()
      },
    }
  }

  #bind(agent: AgentHandle, life: Watched): void {
    if (life.over) return
    this.watch.moved()
    if (this.bindingFails) {
      this.bindingFails = false
      throw new Error('nobody is there to be bound')
    }
    this.agents.set(agent.workspace, agent)
  }

  #prepare(
    { workspace, agent }: { readonly workspace: string; readonly agent: AgentHandle },
    life: Watched,
  ): void | Promise<void> {
    if (life.over) return
    this.watch.moved()
    const what = this.preparation
    this.preparation = 'at_once'
    if (what === 'fails') throw new Error('nobody is there to take over')
    this.agents.set(workspace, agent)
    if (what === 'waits') return new Promise(resolve => this.#unprepared.push(resolve))
  }

  /** Whoever was not ready to take over is now. */
  takeOver(): void {
    for (const ready of this.#unprepared.splice(0)) ready()
  }

  /**
   * The power goes: what is not on disk is lost, and what is on its way may be torn. It may go again while all is
   * opened.
   */
  async crash(): Promise<void> {
    this.#powerLoss()
    if (this.dice.chance(0.2)) await checkTwice(this.disks, this.config, this.seed)
    while (this.dice.chance(0.2)) await this.#openInVain()
    await this.open()
  }

  #powerLoss(): void {
    this.watch.statistics.crashes++
    if (this.#nascent) this.#nascent.over = true
    if (this.#life) this.#now = this.#life.clock.now()
    this.#life?.transport.forget()
    const random = this.dice.next
    this.disks = crashed(this.disks, random)
    this.watch.forget()
    this.watch.opening = false
    this.watch.troubled = false
  }

  /** An opening that the power, or a failing disk, does not let come to its end. */
  async #openInVain(): Promise<void> {
    if (this.dice.chance(0.5)) {
      this.watch.troubled = true
      this.disks.trail.fail('sync', { after: this.dice.int(3), times: 3 })
    }
    const opening = this.open()
    const life = this.#nascent!
    void opening.catch((cause: unknown) => {
      const expected = life.over || (this.watch.troubled && !(cause instanceof Violation))
      if (!expected) this.watch.fail(cause)
    })
    for (let turns = this.dice.int(12); turns > 0; turns--) await turn()
    this.#powerLoss()
    await turn()
    this.watch.raise()
  }

  /** Everything is closed properly and opened again. */
  async restart(): Promise<void> {
    const { life, watch } = this
    watch.statistics.restarts++
    this.mend()
    let closed = false
    void life.runtime.close().then(() => {
      closed = true
      watch.moved()
    })
    for (let waits = 0; !closed; waits++) {
      if (waits > 50) throw new Violation('W-REC-08 a runtime can be closed', 'it waits for ever')
      await this.settle()
      if (!closed) life.clock.advance(1000)
    }
    await this.settle()
    const [left] = life.asked
    if (left) throw new Violation('0.5 every command is answered', `${left.command.type} is not, and all is closed`)
    life.over = true
    life.transport.forget()
    await life.trail.close()
    this.#now = life.clock.now()
    watch.forget()
    watch.troubled = false
    await this.open()
  }

  mend(): void {
    mended(this.disks)
  }

  /** Ends a time of failing storage: mends the disks and lets held commands go on (W-REC-09). */
  async heal(): Promise<void> {
    this.mend()
    for (let waits = 0; waits < 12; waits++) {
      await this.settle()
      this.life.clock.advance(500)
    }
    await this.settle()
    this.watch.troubled = false
  }

  launch(call: () => Promise<unknown>): void {
    this.watch.launch(this.life, call)
  }

  // Time

  /** Lets everything happen that is due without the clock. */
  async settle(): Promise<void> {
    const { watch } = this
    let { failures } = watch
    let quiet = 0
    let needed = 2
    for (let turns = 0; quiet < needed; turns++) {
      if (turns > MOST_TURNS) throw new Violation('0.7 the runtime comes to rest', `${MOST_TURNS} turns and still busy`)
      const before = watch.moves
      await turn()
      // A call may read a run again that has ended, and nothing moves meanwhile.
      if (watch.failures !== failures || this.life.calls > 0) needed = RELOAD_TURNS
      failures = watch.failures
      quiet = watch.moves === before && watch.appending === 0 && watch.tending === 0 ? quiet + 1 : 0
    }
    watch.raise()
  }

  // Checks

  /** Before a step. */
  begin(): { readonly calm: boolean; readonly life: Life } {
    this.watch.begin()
    return { calm: !this.watch.troubled && this.life.asked.size === 0, life: this.life }
  }

  /** After a step: refusals left nothing behind, and whoever still waits has a reason. */
  end(begun: { readonly calm: boolean; readonly life: Life }): void {
    const { watch } = this
    watch.raise()
    this.#noteFinished()
    if (begun.life !== this.#life || watch.troubled) return
    if (begun.calm) watch.checkRefusals(this.runtime.house.run)
    for (const { run, command } of begun.life.asked)
      violated('W-INT-08 whoever waits for a lock goes on when it is free', needlessWait(watch.model(run), command))
    this.#checkTime()
  }

  #noteFinished(): void {
    const active = new Set<string>(this.runtime.active)
    for (const { id, ended } of this.models.values()) if (ended && !active.has(id)) this.finished.add(id)
  }

  newId(prefix: string): string {
    return this.#ids.next(prefix as never)
  }

  /** Whatever has come to its time has happened. */
  #checkTime(): void {
    const now = this.life.clock.now()
    for (const run of this.openRuns)
      if (!this.watch.recovering.has(run.id))
        violated('W-CLOCK-05 W-HWY-09 W-BUDGET-01 nothing waits after its time', overdue(run, now))
  }

  /** The runtime's own state is what the trail says. */
  async compare(): Promise<void> {
    const { watch, runtime } = this
    if (watch.troubled) return
    for (const id of new Set([...runtime.active, runtime.house.run])) {
      const model = watch.model(id)
      if (!model.root || model.ended) continue
      checkState(model)
      violated(
        'W-ENV-16 W-SIG-09 nothing is delivered more often than it arrived',
        deliveredTooOften(model, watch.arrived, this.config.signals),
      )
      const found = await runtime.read(id, run => difference(run, model))
      violated('W-REC-14 W-PORT-11 the state is the fold of the trail', found)
    }
  }
}

export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
