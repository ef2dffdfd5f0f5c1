// The runtime: all runs of one trail in one process. It opens what is unfinished, starts runs, binds their agents
// again, and keeps the house run. runs.ts holds the runs themselves.
import type { Clock, IdSource, ParleyError, Result, RunId, Ticks, WorkspaceId } from '@parley/core'
import { err, isId, ok, StrictClock, SystemClock, SystemIds, unwrap } from '@parley/core'
import type { ReadableRun } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import type { House } from '../house/house.ts'
import { STANDING_KEYS } from '../house/standing-run.ts'
import { keyedProofs } from '../integrity/keyed.ts'
import type { Proofs } from '../integrity/proofs.ts'
import { StateProof } from '../integrity/state-proof.ts'
import { isLibrary, type LibraryRun } from '../library/library.ts'
import { plain } from '../plain.ts'
import { invalidArgument, invalidState, refusal } from '../refusal.ts'
import { requireDeployment } from '../run/deployment.ts'
import { requireLevel } from '../run/level.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import { ended } from '../workspace/workspace.ts'
import { RunActor } from './actor/actor.ts'
import { transportIn } from './actor/sealed-transport.ts'
import { stateCacheOf } from './actor/state-cache.ts'
import { directTransport } from './actor/transport.ts'
import { recordForged, requireNoHouse } from './halt.ts'
import type { AgentHandle } from './handle/agent.ts'
import { AgentKeys } from './handle/agent-keys.ts'
import { RunHandle, type RunHost } from './handle/run-handle.ts'
import { UserHandle } from './handle/user-handle.ts'
import { Migrations } from './migrations.ts'
import type { Notice } from './notice.ts'
import { OwnRuns } from './own-runs.ts'
import { RecordedReads } from './recorded-reads.ts'
import { inParts, Runs } from './runs.ts'
import { type RuntimeOptions, settingsOf } from './runtime-options.ts'
import { type StorageKeeper, StorageSchedule } from './storage-schedule.ts'
import { Users, type UsersHost } from './users.ts'
import { beginning, type Wish } from './wish.ts'

export class Runtime implements RunHost, UsersHost {
  readonly users: Users = new Users(this)
  /** Makes and checks proofs; undefined at level 1. */
  readonly proofs: Proofs | undefined
  /** Reading in somebody's name: what they reach for and may not see is on record (W-TRAIL-19, -20). */
  readonly reads: RecordedReads
  /** What it vouches for (W-SEC-13). */
  readonly deployment: DeploymentModel
  readonly #options: RuntimeOptions
  readonly #stateProof: StateProof | undefined
  readonly #settings: ReturnType<typeof settingsOf>
  readonly #clock: Clock
  readonly #stamps: StrictClock
  readonly #ids: IdSource
  readonly #runs: Runs
  readonly #migrations: Migrations
  readonly #storage: StorageSchedule
  /** Runs whose coordinator is the node itself. */
  readonly #own: OwnRuns
  #closed = false
  /** Gives the trail up (W-CONC-08). */
  readonly #release: () => void

  private constructor(options: RuntimeOptions, deployment: DeploymentModel, release: () => void) {
    this.#release = release
    this.#options = options
    this.#settings = settingsOf(options)
    this.deployment = deployment
    this.proofs = options.secret && keyedProofs(options.secret)
    this.#stateProof = options.secret && new StateProof(options.secret)
    this.#clock = options.clock ?? new SystemClock()
    this.#stamps = new StrictClock(this.#clock)
    this.#ids = options.ids ?? new SystemIds()
    this.#runs = new Runs(options.trail, (id, proven) => this.#openActor(id, proven))
    this.reads = new RecordedReads({
      trail: options.trail,
      runs: this.#runs,
      stamps: this.#stamps,
      ids: this.#ids,
      house: () => this.house,
      directory: this.directory,
      observersReadGlobally: options.observersReadGlobally ?? false,
    })
    this.#own = new OwnRuns({
      options,
      newId: () => this.#ids.next('run') as RunId,
      startOwn: (draft, id) => this.#start(draft, true, id),
      open: run => this.open(run),
      submit: (run, command) => this.submit(run, command),
      read: (run, reader) => this.read(run, reader),
      trail: run => this.trail(run),
      isAtWork: run => this.isAtWork(run),
      halted: this.#runs.halted,
      away: this.#runs.away,
    })
    this.#migrations = new Migrations({
      clock: this.#clock,
      prepare: options.prepare ?? (({ agent }) => this.bindAgent(agent)),
      handle: run => this.#handle(run),
      submit: (run, command) => this.submit(run, command),
      onFault: this.#settings.onFault,
    })
    this.#storage = new StorageSchedule({
      trail: options.trail,
      clock: this.#clock,
      stamps: this.#stamps,
      ids: this.#ids,
      policy: options.storage,
      release: run => this.#runs.release(run),
      exempt: async run => (await options.trail.starts([run])).some(({ context }) => isLibrary(context)),
      record: entries => this.house.record(entries),
      onFault: options.onStorageFault ?? (() => undefined),
    })
    // W-CLOCK-07: nothing is written before the clock is above everything on record.
    this.#stamps.anchor(options.trail.floor)
  }

  /**
   * Opens a runtime on a trail: unfinished runs are checked, replayed and recovered, and go on (W-REC-11). Throws
   * `trail_in_use`, with nothing changed, where another one holds it.
   */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const deployment = requireDeployment(options.deployment, {
      sealing: options.trail.sealing,
      secret: options.secret !== undefined,
      stateCache: options.stateCache,
      transport: options.transport ?? directTransport,
    })
    const level = requireLevel(options.level, {
      secret: options.secret !== undefined,
      users: options.users !== undefined,
    })
    const held = unwrap(options.trail.hold())
    if (options.secret) options.trail.prove(options.secret)
    const runtime = new Runtime({ ...options, level }, deployment, held)
    try {
      await runtime.#open()
    } catch (cause) {
      held()
      throw cause
    }
    return runtime
  }

  async #open(): Promise<void> {
    const { trail } = this.#options
    const unfinished = (await trail.runs())
      // A run from elsewhere is there to be read: it goes on where it came from.
      .filter(({ ended, imported }) => !ended && !imported)
      .map(({ run }) => run)
    await inParts(unfinished, run => this.#runs.examine(run))
    const runs = unfinished.filter(run => this.#runs.get(run))
    // Other runs ask the house who their users are, so it comes first.
    const houses = await this.#own.mark(runs, state => state.house)
    if (houses.length === 0) await requireNoHouse([...this.halted, ...this.#runs.away], trail)
    for (const run of houses) await this.#recover(run)
    await this.#own.openHouse(houses)
    await this.users.load()
    const libraries = await this.#own.mark(runs, state => state.library)
    const others = runs.filter(run => !houses.includes(run))
    await inParts(others, run => this.#recover(run))
    await this.#own.openLibrary(libraries)
    await recordForged(this.halted, this.house, this.trail(this.house.run))
    this.#storage.begin()
  }

  /** The run that records what belongs to no other. */
  get house(): House {
    return this.#own.house
  }

  /** The run of Knowledge Blocks, feedback and settlements. */
  get library(): LibraryRun {
    return this.#own.library
  }

  /** Something may still be recorded in it, and it is in memory. */
  isAtWork(run: RunId): boolean {
    return this.#runs.get(run) !== undefined
  }

  /** The trails in which people are on record, the present house's first. */
  houses(): Promise<readonly ReadableRun[]> {
    return this.house.trails()
  }

  get clock(): StrictClock {
    return this.#stamps
  }

  /**
   * Starts a run: its root exists, its coordinator is bound and has said `ready`. `id` is for hosts that prepare
   * something under the run's name first: one that no run has or had. With a `wish` it has begun as well, and the
   * person's mail is on its way to the root: all of that is one commit. What refuses the mail refuses the start.
   */
  start(draft: RunDraft, id?: RunId, wish?: Wish): Promise<Result<RunHandle>> {
    // What marks a run as the runtime's own is reserved.
    const reserved = STANDING_KEYS.find(key => draft?.context && key in draft.context)
    if (reserved)
      return Promise.resolve(invalidArgument(`The context of a run has no '${reserved}'; that is reserved.`))
    return this.#start(draft, false, id, wish)
  }

  async #start(
    draft: RunDraft,
    own: boolean,
    id: RunId = this.#ids.next('run') as RunId,
    wish?: Wish,
  ): Promise<Result<RunHandle>> {
    if (this.#closed) return refusal('trail_unavailable', 'The runtime is closed.')
    if (!isId(id)) return invalidArgument('An id has 1 to 64 visible ASCII characters.')
    const actor = await this.#runs.open(id)
    if (!actor.ok) return actor
    if (await actor.value.read(run => run.root !== undefined)) return invalidState(`The run ${id} has begun already.`)
    const { first: root, rest } = await actor.value.submitEach<WorkspaceId>(
      { type: 'start', draft: plain(draft) },
      workspace => (wish ? beginning(workspace, wish) : []),
    )
    if (!root.ok) {
      // Somebody else may have begun it meanwhile: then it goes on.
      if (await actor.value.read(run => run.root === undefined)) await this.#runs.leave(actor.value)
      return root
    }
    if (own) this.#own.add(id)
    for (const each of rest) if (!each.ok) return each
    const run = new RunHandle(this, id, root.value)
    const bound = await run.bind(root.value, 'coordinator', root.value)
    return bound.ok ? ok(run) : bound
  }

  /** A run that exists, whether it is at work or finished. */
  async open(id: RunId): Promise<Result<RunHandle>> {
    if (this.#runs.away.has(id)) await this.#runs.bringBack(id, () => this.#recover(id))
    const actor = await this.#runs.open(id)
    if (!actor.ok) return actor
    const root = await actor.value.read(run => run.root?.id)
    if (root === undefined) {
      await this.#runs.forget(id)
      return refusal('not_found', `There is no run ${id}.`)
    }
    return ok(new RunHandle(this, id, root))
  }

  /** A user whom the authentication boundary has accepted. */
  user(id: string): UserHandle {
    return new UserHandle(this, id)
  }

  /** The users that decisions look at; undefined where everybody who is let in may do everything. */
  get directory(): UserDirectory | undefined {
    const { users } = this.#options
    return users === 'house' ? this.users : users
  }

  get storage(): StorageKeeper {
    return this.#storage
  }

  /** Runs that were found damaged or could not be recovered, each with its report: they take nothing (W-REC-13). */
  get halted(): ReadonlyMap<RunId, ParleyError> {
    return this.#runs.halted
  }

  /** The runs at work, the node's own aside; those too that cannot be read for now, which `open` tries again. */
  get active(): readonly RunId[] {
    return [...this.#runs.ids, ...this.#runs.away.keys()].filter(id => !this.#own.has(id))
  }

  /** Whether nothing of a run can be written for now: commands are held until that is over (W-REC-08). */
  isDegraded(run: RunId): boolean {
    return this.#runs.get(run)?.degraded ?? false
  }

  /** Waits for what is on its way to disk and refuses everything after it. Safe to repeat. */
  async close(): Promise<void> {
    this.#closed = true
    this.#migrations.stop()
    this.#storage.stop()
    await this.#runs.stop()
    this.#release()
  }

  // For the handles

  submit<T>(run: RunId, command: Command): Promise<Result<T>> {
    if (this.#closed) return Promise.resolve(refusal('trail_unavailable', 'The runtime is closed.'))
    if (command.type === 'read') return this.reads.mayRead(run, command) as Promise<Result<T>>
    const actor = this.#runs.get(run)
    if (actor) return actor.submit(command)
    const refused = this.halted.get(run) ?? this.#runs.away.get(run)
    if (refused) return Promise.resolve(err(refused))
    return Promise.resolve(invalidState(`The run ${run} has ended.`))
  }

  read<T>(run: RunId, reader: (state: Run) => T): Promise<T> {
    return this.#runs.read(run, reader)
  }

  now(): Ticks {
    return this.#stamps.next()
  }

  subscribe(run: RunId, listener: (notice: Notice) => void): () => void {
    return this.#runs.get(run)?.subscribe(listener) ?? (() => undefined)
  }

  agentOf(run: RunId, workspace: WorkspaceId): string | undefined {
    return this.#runs.get(run)?.agentOf(workspace)
  }

  migrated(workspace: WorkspaceId): Promise<Result<AgentHandle>> {
    return this.#migrations.outcome(workspace)
  }

  tell(run: RunId, notice: Notice): void {
    this.#runs.get(run)?.tell(notice)
  }

  trail(run: RunId): ReadableRun {
    return this.#options.trail.readable(run)
  }

  agentKeys(run: RunId, workspace: WorkspaceId): AgentKeys | undefined {
    return this.deployment === 'zero-trust' ? new AgentKeys(workspace, () => this.trail(run)) : undefined
  }

  bindAgent(agent: AgentHandle): void | Promise<void> {
    if (!this.#own.has(agent.run)) return this.#options.bind?.(agent)
  }

  // Runs in memory

  #openActor(id: RunId, proven: boolean): Promise<RunActor> {
    const trail = this.#options.trail.run(id)
    return RunActor.open({
      ...this.#settings,
      id,
      trail,
      clock: this.#clock,
      stamps: this.#stamps,
      ids: this.#ids,
      transport: transportIn(this.deployment, this.#settings.transport, trail),
      users: this.directory,
      proofs: this.proofs,
      deployment: this.deployment,
      proven,
      states: stateCacheOf(this.#options, this.#stateProof, { id, trail, clock: this.#clock }),
      onCreated: (workspace, role, creator) => void this.#bindCreated(id, workspace, role, creator),
      onMigration: entry => this.#migrations.follow(id, entry),
      onEnd: () => this.#leave(id),
    })
  }

  /** What binding comes to is on record; a workspace that ended meanwhile needs no agent. */
  async #bindCreated(id: RunId, workspace: WorkspaceId, role: string, creator: WorkspaceId): Promise<void> {
    try {
      const run = await this.#handle(id)
      await run?.bind(workspace, role, creator)
    } catch (cause) {
      this.#settings.onFault(cause)
    }
  }

  async #handle(id: RunId): Promise<RunHandle | undefined> {
    const root = await this.#runs.get(id)?.read(run => run.root?.id)
    return root === undefined ? undefined : new RunHandle(this, id, root)
  }

  /** A run whose root is terminal leaves memory. */
  #leave(id: RunId): void {
    const actor = this.#runs.get(id)
    if (actor) void this.#runs.leave(actor)
    this.#migrations.drop(id)
    this.#storage.ended()
  }

  /**
   * Recovers a run that was replayed and binds its agents again. Where the trail cannot be written, both happen once it
   * can.
   */
  async #recover(id: RunId): Promise<void> {
    const actor = this.#runs.get(id)
    if (!actor) return
    // A run whose very first batch was lost never began.
    if (!actor.recovering) return this.#runs.forget(id)
    const { promise: delayed, resolve } = Promise.withResolvers<void>()
    const recovered = actor.recover(resolve).then(
      () => this.#bindAgain(id),
      cause => {
        this.#migrations.drop(id)
        return this.#runs.halt(id, cause)
      },
    )
    await Promise.race([recovered, delayed])
  }

  async #bindAgain(id: RunId): Promise<void> {
    const open = await this.#runs.get(id)?.read(run => [...run.workspaces.values()].filter(each => !ended(each)))
    const run = await this.#handle(id)
    if (!open || this.#closed) return
    for (const each of open) await run?.bind(each.id, each.role, each.creator ?? each.id)
  }
}
