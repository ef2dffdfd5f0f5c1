// Parley as a host of the conformance kit: the kernel's runtime on a trail in memory, over disks that can be made to
// fail, with a clock and a transport that do what they are told.
import { hash } from 'node:crypto'
import {
  asParleyError,
  type EnvelopeId,
  type IdSource,
  ParleyError,
  type RunId,
  SeededIds,
  type Ticks,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { type AgentHandle, type RunHandle, Runtime, type RuntimeOptions } from '@parley/kernel'
import { Trail, type TrailStore } from '@parley/trail'
import { ed25519Signer, type MemoryDisks, memoryDisks, openMemoryStore, seededRandom } from '@parley/trail/testing'
import type { Faults } from '../faults.ts'
import {
  type Caller,
  type Entry,
  type Host,
  type Notice,
  type Outcome,
  type Restarted,
  type RestartOptions,
  type Setup,
  type System,
  Unsupported,
} from '../host.ts'
import type { OperationName, Value } from '../operations.ts'
import { done, entryOf, noticeOf, refusalOf } from './parley-answers.ts'
import { SteppedClock } from './parley-clock.ts'
import { type Call, OPERATIONS, type Parameters, type Table } from './parley-operations.ts'
import { READING } from './parley-reading.ts'
import { FailingStore } from './parley-store.ts'
import { drafted, shown, storedFault } from './parley-stored.ts'
import { FaultyTransport } from './parley-transport.ts'

const START = 1_772_355_900_000_000 as Ticks
const SECRET = new Uint8Array(32).fill(42)
const SEED = new Uint8Array(32).fill(7)
const TABLE: Table = { ...OPERATIONS, ...READING }

/** Entries that are asked for at once. */
const PAGE = 1000

/** Turns of the event loop in which everything that waits for no clock comes to its end. */
const TURNS = 24

class ParleySystem implements System {
  readonly faults: Faults
  disks: MemoryDisks = memoryDisks()
  readonly #setup: Setup
  readonly #ids: IdSource
  readonly #transport: FaultyTransport
  #clock = new SteppedClock(START)
  readonly #failing = new FailingStore()
  #store!: TrailStore
  #trail!: Trail
  #runtime!: Runtime
  #options!: RuntimeOptions
  readonly #runs = new Map<string, RunHandle>()
  /** What was read of each run since it was opened: all that is to be read again is what came later. */
  readonly #read = new Map<string, Entry[]>()
  readonly #agents = new Map<string, AgentHandle>()
  #notices: Notice[] = []
  #crashes = 0
  /** Appends after which the next recovery dies. */
  #recoveryAppends: number | undefined
  #room: number | undefined
  #binding: 'work' | 'fail' | 'hold' = 'work'
  #bound: (() => void)[] = []

  constructor(setup: Setup) {
    this.#setup = setup
    this.#ids = setup.unorderedIds ? new UnorderedIds() : new SeededIds(7)
    this.#transport = new FaultyTransport(setup.carriedSignals ?? false)
    this.faults = this.#faults()
  }

  async open(): Promise<void> {
    const {
      redeliveryBase,
      appendRetries = 0,
      holdLimit,
      escalationQueue,
      deployment,
      observersReadGlobally,
      usageTolerance,
      without,
    } = this.#setup
    const level = this.#setup.level ?? host.level
    this.#read.clear()
    this.#store = this.#failing.over(await openMemoryStore(this.disks))
    this.#trail = new Trail({
      store: this.#store,
      ...(this.#setup.signing && { signer: ed25519Signer(SEED) }),
    })
    const options = {
      trail: this.#trail,
      clock: this.#clock,
      ids: this.#ids,
      transport: this.#transport,
      bind: () => this.#bind(),
      level,
      commitRetries: Array.from({ length: appendRetries }, () => 50),
      capacity: { shortage: (open: number) => this.#shortage(open) },
      ...(level >= 2 && without !== 'users' && { users: 'house' as const }),
      ...(level >= 2 && without !== 'secret' && { secret: SECRET }),
      ...(redeliveryBase !== undefined && { redeliveryBase }),
      ...(holdLimit !== undefined && { heldCommands: holdLimit }),
      ...(escalationQueue !== undefined && { escalationQueue }),
      ...(deployment !== undefined && { deployment }),
      ...(observersReadGlobally !== undefined && { observersReadGlobally }),
      ...(usageTolerance !== undefined && { resourceTolerance: usageTolerance }),
    }
    this.#options = options
    this.#runtime = await Runtime.open(options)
  }

  async call<O extends OperationName>(
    caller: Caller,
    operation: O,
    given: Readonly<Record<string, unknown>>,
  ): Promise<Outcome<Value<O>>> {
    const operate = TABLE[operation] as ((call: Call) => Promise<Outcome<Value<O>>>) | undefined
    if (!operate) throw new Unsupported(operation)
    const halted = this.#runtime.halted.get(caller.run as RunId)
    // What is damaged can be looked into, and nothing else.
    if (halted && operation !== 'verify_trail') return refusalOf(halted)
    // What names no run is about the node itself.
    const run = this.#runs.get(caller.run) as RunHandle
    const { retention = 0 } = this.#setup
    const params = given as Parameters
    // Nothing else takes entries away.
    if (operation === 'delete_archive') this.#read.clear()
    const [runtime, trail, store] = [this.#runtime, this.#trail, this.#store]
    try {
      return await operate({
        runtime,
        trail,
        store,
        caller,
        run,
        params,
        retention,
        onRun: each => this.#follow(each),
        agents: this.#agents,
        slow: this.#failing.held,
      })
    } catch (cause) {
      if (cause instanceof ParleyError) return refusalOf(cause)
      throw cause
    }
  }

  #follow(run: RunHandle): void {
    this.#runs.set(run.id, run)
    run.subscribe(notice => this.#notices.push(noticeOf(run.id, notice)))
  }

  async entries(run: string): Promise<readonly Entry[]> {
    const trail = this.#trail.run(run as RunId)
    const known = this.#read.get(run)
    try {
      if (known) {
        for (let more = true; more; ) {
          const page = unwrap(await trail.query({ after: known.at(-1)?.seq ?? 0, limit: PAGE }))
          known.push(...page.entries.map(entryOf))
          more = page.more
        }
        return [...known]
      }
      const entries: Entry[] = []
      for await (const record of trail.replay({ entriesOnly: true }))
        if ('event_type' in record) entries.push(entryOf(record))
      this.#read.set(run, entries)
      return [...entries]
    } catch {
      return this.#remains(run as RunId)
    }
  }

  /** What is physically there of a run that is damaged. */
  async #remains(run: RunId): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for await (const records of this.#store.scan(run))
      for (const record of records) {
        const found = record.kind === 'entry' ? shown(record) : undefined
        if (found?.kind === 'entry') entries.push(found.entry)
      }
    return entries
  }

  /** The house run, but for its own life. */
  async standing(): Promise<readonly Entry[]> {
    const entries = await this.entries(this.#runtime.house.run)
    return entries.filter(entry => entry.workspace === null && entry.event_type !== 'recovery_completed')
  }

  notices(): readonly Notice[] {
    return this.#notices
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await new Promise(resolve => setImmediate(resolve))
  }

  advance(milliseconds: number): Promise<void> {
    return this.#clock.advance(milliseconds, () => this.settle())
  }

  async restart({ crash = false, outage = 0, meanwhile }: RestartOptions): Promise<Restarted> {
    await this.#stop(crash, outage)
    await meanwhile?.()
    if (this.#recoveryAppends !== undefined) {
      this.disks.trail.fail('sync', { after: this.#recoveryAppends, times: Number.POSITIVE_INFINITY })
      this.#recoveryAppends = undefined
      await this.open()
      await this.settle()
      await this.#stop(true, 0)
    }
    await this.open()
    const runs = [...this.#runs.keys()] as RunId[]
    const halted = runs.flatMap(run => {
      const report = this.#runtime.halted.get(run)
      return report ? [{ run, report: report.message }] : []
    })
    for (const run of runs) {
      const opened = this.#runtime.halted.has(run) ? undefined : await this.#runtime.open(run)
      if (opened?.ok) this.#follow(opened.value)
    }
    await this.settle()
    return { halted }
  }

  /** A process that died is left as it is: its clock stands still from here on, and its disks are dead. */
  async #stop(crash: boolean, outage: number): Promise<void> {
    if (crash) {
      const random = seededRandom(++this.#crashes)
      this.disks = { trail: this.disks.trail.crash(random), blobs: this.disks.blobs.crash(random) }
    } else await this.close()
    this.#clock = new SteppedClock((this.#clock.now() + outage * 1000) as Ticks)
  }

  async close(): Promise<void> {
    this.#failing.release()
    await this.#runtime.close()
    await this.#trail.close()
  }

  now(): Ticks {
    return this.#clock.now()
  }

  newId(prefix: string): string {
    return this.#ids.next(prefix)
  }

  #shortage(open: number): { compute?: { needed: number; available: number } } {
    const others = open - 1
    if (this.#room === undefined || others < this.#room) return {}
    return { compute: { needed: others + 1, available: this.#room } }
  }

  #bind(): void | Promise<void> {
    if (this.#binding === 'fail') throw new Error('The agent cannot be started.')
    if (this.#binding === 'hold') return new Promise(resolve => this.#bound.push(resolve))
  }

  #faults(): Faults {
    const system = this
    return {
      transport: {
        rule: fate => this.#transport.rule(fate),
        release: () => this.#transport.release(),
        async repeat(run, envelope) {
          const arrived = await system.#runs.get(run)!.submit({ type: 'arrive', envelope: envelope as EnvelopeId })
          if (!arrived.ok) throw arrived.error
        },
      },
      store: {
        fail: times => {
          if (times === undefined) this.disks.trail.fail('write', { times: Number.POSITIVE_INFINITY })
          else this.#failing.failures = times
        },
        hold: () => this.#failing.hold(),
        mend: () => {
          this.disks.trail.mend()
          this.#failing.failures = 0
          this.#failing.release()
        },
      },
      stored: storedFault(system),
      async entry(run, foreign) {
        const entries = await system.entries(run)
        const last = entries.at(-1)
        const [draft] = drafted(system, [foreign], last && { entry: last })
        const { seq: _seq, ...entry } = draft!
        const appended = await system.#trail.run(run as RunId).append({ entries: [entry as never] })
        return appended.ok ? undefined : appended.error.code
      },
      clock: milliseconds => this.#clock.step(milliseconds),
      binder: mode => {
        this.#binding = mode
        for (const go of this.#bound.splice(0)) go()
      },
      capacity: workspaces => {
        this.#room = workspaces
      },
      async meter(run, workspace, used) {
        const metered = await system.#runs.get(run)!.meter(workspace as WorkspaceId, used)
        if (!metered.ok) throw metered.error
      },
      recovery: appends => {
        this.#recoveryAppends = appends
      },
      rival: async () => {
        try {
          const second = await Runtime.open(this.#options)
          await second.close()
          return done(undefined)
        } catch (cause) {
          return refusalOf(asParleyError(cause))
        }
      },
    }
  }
}

/** Ids that say nothing about order. */
class UnorderedIds implements IdSource {
  #count = 0

  next(prefix: string): string {
    this.#count++
    return hash('sha256', `${prefix} ${this.#count}`, 'hex').slice(0, 24)
  }
}

export const host: Host = {
  name: 'Parley',
  version: '0.1.0',
  level: 3,
  async open(setup) {
    const system = new ParleySystem(setup)
    try {
      await system.open()
    } catch (cause) {
      return refusalOf(asParleyError(cause))
    }
    return done(system)
  },
}
