// The runtime: all runs of one trail in one process. It opens what is unfinished, starts runs, lets finished ones leave memory, and
// keeps the house run.
import {
  asParleyError,
  type Clock,
  err,
  type IdSource,
  isId,
  ok,
  ParleyError,
  type Result,
  type RunId,
  StrictClock,
  SystemClock,
  SystemIds,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type {
  Aggregated,
  ProposedEntry,
  QueryPage,
  RunTrail,
  StateCacheStore,
  Trail,
  TrailAggregate,
  TrailFilter,
  TrailQuery,
  TrailReader,
} from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import { clip, type UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { HOUSE_KEY, House } from '../house/house.ts'
import type { Identify } from '../integrity/identity.ts'
import { keyedProofs } from '../integrity/keyed.ts'
import type { Proofs } from '../integrity/proofs.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { plain } from '../plain.ts'
import { elsewhere, invalidArgument, invalidState, refusal } from '../refusal.ts'
import { requireDeployment } from '../run/deployment.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import type { CapacityProbe } from '../workspace/admission.ts'
import { ended } from '../workspace/workspace.ts'
import { RunActor } from './actor.ts'
import type { AgentHandle } from './agent.ts'
import { AgentKeys } from './agent-keys.ts'
import { damageOf, haltedBy, mayBeHouse } from './halt.ts'
import { Housekeeping, type StorageFault, type StorageKeeper, type StoragePolicy } from './housekeeping.ts'
import { Migrations, type Prepare } from './migrations.ts'
import type { Notice } from './notice.ts'
import { RunHandle, type RunHost } from './run-handle.ts'
import { sealedTransport } from './sealed-transport.ts'
import { StateCache } from './state-cache.ts'
import { directTransport, type Transport } from './transport.ts'
import { UserHandle } from './user-handle.ts'
import { strangerEntry, userReader } from './user-reader.ts'
import { Users, type UsersHost } from './users.ts'

export interface RuntimeOptions {
  /** An open trail; whoever opened it closes it, after the runtime. */
  readonly trail: Trail
  readonly clock?: Clock
  readonly ids?: IdSource
  readonly transport?: Transport
  /** Hands each agent to whoever runs it, again after a restart. What it throws fails the workspace with `creation_error`. */
  readonly bind?: (agent: AgentHandle) => void | Promise<void>
  /** Prepares the agent that takes over a workspace (W-MIG-05); without it that one is handed to `bind`, as after a creation. */
  readonly prepare?: Prepare
  /** The conformance level that the host declares; below 3 there is no migration and no graceful termination (W-MIG-04). */
  readonly level?: 1 | 2 | 3
  /** Base of redelivery in milliseconds (W-ENV-14). */
  readonly redeliveryBase?: number
  /** Waits before a commit is tried again, in milliseconds (W-REC-07). */
  readonly commitRetries?: readonly number[]
  /** How many commands of one run are held while its trail cannot be written (W-REC-08). */
  readonly heldCommands?: number
  /** Who is known and may do what: a directory of the host's own, or the registry of the house run (`runtime.users`). Without it
   *  everybody who is let in may do everything. */
  readonly users?: UserDirectory | 'house'
  /** Escalations that may wait for one user of one run who is away (W-HWY-21). */
  readonly escalationQueue?: number
  /** Percent by which an agent's report of what it used may differ from the meter before that is on record (W-CP-10); 1 by default. */
  readonly resourceTolerance?: number
  /** The profile's secret, at least 32 bytes: envelopes and checkpoints carry proofs (W-SEC-07, -09). Without it there are none. */
  readonly secret?: Uint8Array
  /** Assigns agents to workspaces (W-SEC-03); without it each workspace has an agent of its own. */
  readonly identify?: Identify
  /** The deployment model that the host declares (W-SEC-13), `single-runtime` by default. A trail for another one is opened with a cipher of `sealingOf`. */
  readonly deployment?: string
  /** What the machine has left (W-WS-20); without it there is room for everything within the limits. */
  readonly capacity?: CapacityProbe
  /** Keeps states of long runs, so that they open fast; without one every run is replayed from its beginning. */
  readonly stateCache?: StateCacheStore
  /** Entries of a run behind its newest kept state after which the next one is kept. */
  readonly stateCacheEntries?: number
  /** Told why a state could not be kept or used, for debugging: nothing else comes of it. */
  readonly onStateCacheFault?: (cause: unknown) => void
  /** Observers may read the global trail (W-TRAIL-19). */
  readonly observersReadGlobally?: boolean
  /** Told when a subscriber of notices throws; by default the process hears of it as of any uncaught error. */
  readonly onFault?: (cause: unknown) => void
  /** Entries of the house run after which a new one takes over. */
  readonly houseEntries?: number
  /** What happens by itself to the record of runs that have ended; nothing by default. */
  readonly storage?: StoragePolicy
  /** Told what of it failed, once for each reason; `storage.status()` has what is still open. */
  readonly onStorageFault?: (fault: StorageFault) => void
}

export class Runtime implements RunHost, UsersHost {
  /** The people that this node knows. */
  readonly users: Users = new Users(this)
  /** Makes and checks proofs; undefined at level 1. */
  readonly proofs: Proofs | undefined
  /** What it vouches for (W-SEC-13). */
  readonly deployment: DeploymentModel
  readonly #options: RuntimeOptions
  readonly #clock: Clock
  readonly #stamps: StrictClock
  readonly #ids: IdSource
  readonly #actors = new Map<RunId, RunActor>()
  readonly #opening = new Map<RunId, Promise<RunActor>>()
  /** Finished runs that were read lately, oldest first. */
  readonly #finished = new Map<RunId, RunActor>()
  /** Runs that take nothing, with what was found (W-REC-13). */
  readonly #halted = new Map<RunId, ParleyError>()
  readonly #migrations: Migrations
  readonly #housekeeping: Housekeeping
  /** What is opened now had not ended when the runtime stopped. */
  #examining = true
  #house: House | undefined
  /** Runs whose coordinator is the node itself. */
  readonly #houses = new Set<RunId>()
  #closed = false

  private constructor(options: RuntimeOptions, deployment: DeploymentModel) {
    this.#options = options
    this.deployment = deployment
    this.proofs = options.secret && keyedProofs(options.secret)
    this.#clock = options.clock ?? new SystemClock()
    this.#stamps = new StrictClock(this.#clock)
    this.#ids = options.ids ?? new SystemIds()
    this.#migrations = new Migrations({
      clock: this.#clock,
      prepare: options.prepare ?? (({ agent }) => this.bindAgent(agent)),
      handle: run => this.#handle(run),
      submit: (run, command) => this.submit(run, command),
      onFault: options.onFault ?? rethrow,
    })
    this.#housekeeping = new Housekeeping({
      trail: options.trail,
      clock: this.#clock,
      stamps: this.#stamps,
      ids: this.#ids,
      policy: options.storage,
      release: run => this.#release(run),
      record: entries => this.house.record(entries),
      onFault: options.onStorageFault ?? (() => undefined),
    })
    // W-CLOCK-07: nothing is written before the clock is above everything on record.
    this.#stamps.anchor(options.trail.floor)
  }

  /** Opens a runtime on a trail: unfinished runs are checked, replayed and recovered, and go on (W-REC-11). */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const deployment = requireDeployment(options.deployment, {
      sealing: options.trail.sealing,
      secret: options.secret !== undefined,
      stateCache: options.stateCache,
      transport: options.transport ?? directTransport,
    })
    const runtime = new Runtime(options, deployment)
    const unfinished = (await options.trail.runs())
      // A run from elsewhere is there to be read: it goes on where it came from.
      .filter(({ ended, imported }) => !ended && !imported)
      .map(({ run }) => run)
    await inParts(unfinished, run => runtime.#examine(run))
    runtime.#examining = false
    const runs = unfinished.filter(run => runtime.#actors.has(run))
    // Other runs ask the house who their users are, so it comes first.
    for (const run of runs) if (await runtime.read(run, state => state.house)) runtime.#houses.add(run)
    const houses = [...runtime.#houses]
    await runtime.#requireHouse(houses)
    for (const run of houses) await runtime.#recover(run)
    await runtime.#openHouse(houses)
    await inParts(
      runs.filter(run => !houses.includes(run)),
      run => runtime.#recover(run),
    )
    runtime.#housekeeping.begin()
    return runtime
  }

  /** W-REC-12: damage halts the run and no other. A trail that is only away for now is no damage. */
  async #examine(id: RunId): Promise<void> {
    try {
      await this.#actor(id)
    } catch (cause) {
      if (asParleyError(cause).retryable) throw cause
      this.#halted.set(id, await damageOf(id, this.trail(id), cause))
    }
  }

  /** A house that cannot be read must not be replaced by an empty one: nobody would know any more who may do what. */
  async #requireHouse(houses: readonly RunId[]): Promise<void> {
    if (houses.length > 0) return
    for (const [id, error] of this.#halted) if (await mayBeHouse(this.trail(id))) throw error
  }

  async #openHouse(unfinished: readonly RunId[]): Promise<void> {
    const host = {
      newId: () => this.#ids.next('run') as RunId,
      start: (draft: RunDraft, id: RunId) => this.#start(draft, true, id),
      open: (run: RunId) => this.open(run),
      submit: <T>(run: RunId, command: Command) => this.submit<T>(run, command),
      read: <T>(run: RunId, reader: (state: Run) => T) => this.read(run, reader),
      trail: (run: RunId) => this.trail(run),
    }
    this.#house = await House.open(host, unfinished, this.#options.houseEntries ?? kernelLimits.houseEntries)
    this.#houses.add(this.#house.run)
    await this.users.load()
  }

  /** The run that records what belongs to no other. */
  get house(): House {
    if (!this.#house) throw new Error('The house run is opened with the runtime.')
    return this.#house
  }

  /** The trails in which people are on record, the present house's first. */
  houses(): Promise<readonly RunTrail[]> {
    return this.house.trails()
  }

  get clock(): StrictClock {
    return this.#stamps
  }

  /**
   * Starts a run: its root exists, its coordinator is bound and has said `ready`. `id` is for hosts that prepare something under the
   * run's name first: one that no run has or had.
   */
  start(draft: RunDraft = {}, id?: RunId): Promise<Result<RunHandle>> {
    // What marks a run as the house is the runtime's own.
    if (draft.context && HOUSE_KEY in draft.context)
      return Promise.resolve(invalidArgument(`The context of a run has no '${HOUSE_KEY}'; that is reserved.`))
    return this.#start(draft, false, id)
  }

  async #start(
    draft: RunDraft,
    house: boolean,
    id: RunId = this.#ids.next('run') as RunId,
  ): Promise<Result<RunHandle>> {
    if (this.#closed) return refusal('trail_unavailable', 'The runtime is closed.')
    if (!isId(id)) return invalidArgument('An id has 1 to 64 visible ASCII characters.')
    const actor = await this.#opened(id)
    if (!actor.ok) return actor
    if (await actor.value.read(run => run.root !== undefined))
      return invalidState(`The run ${id} has begun already.`)
    const root = await actor.value.submit<WorkspaceId>({ type: 'start', draft: plain(draft) })
    if (!root.ok) {
      this.#actors.delete(id)
      await actor.value.stop()
      await this.#options.trail.release(id)
      return root
    }
    if (house) this.#houses.add(id)
    const run = new RunHandle(this, id, root.value)
    const bound = await run.bind(root.value, 'coordinator', root.value)
    return bound.ok ? ok(run) : bound
  }

  /** A run that exists, whether it is at work or finished. */
  async open(id: RunId): Promise<Result<RunHandle>> {
    const actor = await this.#opened(id)
    if (!actor.ok) return actor
    const root = await actor.value.read(run => run.root?.id)
    if (root === undefined) {
      await this.#forget(id)
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

  /** The storage life cycle of runs that have ended. */
  get storage(): StorageKeeper {
    return this.#housekeeping
  }

  /** Runs that were found damaged or could not be recovered, each with its report: they take nothing (W-REC-13). */
  get halted(): ReadonlyMap<RunId, ParleyError> {
    return this.#halted
  }

  /** The runs at work, the house run aside. */
  get active(): readonly RunId[] {
    return [...this.#actors.keys()].filter(id => !this.#houses.has(id))
  }

  /** Waits for what is on its way to disk and refuses everything after it. Safe to repeat. */
  async close(): Promise<void> {
    this.#closed = true
    this.#migrations.stop()
    this.#housekeeping.stop()
    // A run that is just being opened would come to work after the end.
    await Promise.allSettled(this.#opening.values())
    await Promise.all([...this.#actors.values(), ...this.#finished.values()].map(actor => actor.stop()))
    this.#actors.clear()
    this.#finished.clear()
  }

  // For the handles

  submit<T>(run: RunId, command: Command): Promise<Result<T>> {
    if (this.#closed) return Promise.resolve(refusal('trail_unavailable', 'The runtime is closed.'))
    if (command.type === 'read') return this.#read(run, command) as Promise<Result<T>>
    const actor = this.#actors.get(run)
    if (actor) return actor.submit(command)
    const halted = this.#halted.get(run)
    if (halted) return Promise.resolve(err(halted))
    return Promise.resolve(invalidState(`The run ${run} has ended.`))
  }

  /** What may be read needs no entry, so that it can be read while none can be written (W-REC-08). Reading outlives the run. */
  async #read(run: RunId, command: Command): Promise<Result<unknown>> {
    const actor = await this.#opened(run)
    if (!actor.ok) return actor
    const context = { now: this.#stamps.next(), ids: this.#ids }
    const { result, entries } = await actor.value.read(state => decide(state, command, context))
    if (entries.length === 0) return result
    // Who reached for what is on record: in the run, and once that has ended, in the house.
    const live = await this.#actors.get(run)?.submit(command)
    if (live && (live.ok || live.error.code !== 'invalid_state')) return live
    const recorded = await this.house.record(entries as readonly ProposedEntry[])
    return recorded.ok ? elsewhere(result) : recorded
  }

  async read<T>(run: RunId, reader: (state: Run) => T): Promise<T> {
    const actor = this.#actors.get(run) ?? (await this.#actor(run))
    return actor.read(reader)
  }

  now(): Ticks {
    return this.#stamps.next()
  }

  subscribe(run: RunId, listener: (notice: Notice) => void): () => void {
    return this.#actors.get(run)?.subscribe(listener) ?? (() => undefined)
  }

  isBound(run: RunId, workspace: WorkspaceId, agent: string): boolean {
    return this.#actors.get(run)?.isBound(workspace, agent) ?? true
  }

  migrated(workspace: WorkspaceId): Promise<Result<AgentHandle>> {
    return this.#migrations.outcome(workspace)
  }

  /** Hands a notice to those who listen to a run at work. */
  tell(run: RunId, notice: Notice): void {
    this.#actors.get(run)?.tell(notice)
  }

  trail(run: RunId): RunTrail {
    return this.#options.trail.run(run)
  }

  agentKeys(run: RunId, workspace: WorkspaceId): AgentKeys | undefined {
    return this.deployment === 'zero-trust' ? new AgentKeys(workspace, () => this.trail(run)) : undefined
  }

  bindAgent(agent: AgentHandle): void | Promise<void> {
    if (!this.#houses.has(agent.run.id)) return this.#options.bind?.(agent)
  }

  /** W-TRAIL-19: what a reader reached for and may not see is on record, in the house run once the run itself has ended. */
  async query(run: RunId, query: TrailQuery, workspace: WorkspaceId): Promise<Result<QueryPage>> {
    const reader = await this.#readerFor(run, workspace)
    return reader.ok ? this.#onRecord(run, await this.trail(run).query(query, reader.value)) : reader
  }

  async aggregate(run: RunId, query: TrailAggregate, workspace: WorkspaceId): Promise<Result<Aggregated>> {
    const reader = await this.#readerFor(run, workspace)
    return reader.ok ? this.#onRecord(run, await this.trail(run).aggregate(query, reader.value)) : reader
  }

  /** W-TRAIL-20: the same for a person. */
  async queryAsUser(run: RunId, query: TrailQuery, user: string): Promise<Result<QueryPage>> {
    const reader = await this.#userReader(run, user)
    return reader.ok ? this.#onRecord(run, await this.trail(run).query(query, reader.value)) : reader
  }

  /** W-HWY-02: the same as it becomes durable, unless the run shows nothing live. Watching leaves no record. */
  async watchAsUser(
    run: RunId,
    filter: TrailFilter & { readonly after?: number },
    user: string,
    signal?: AbortSignal,
  ): Promise<Result<AsyncGenerator<QueryPage>>> {
    const reader = await this.#userReader(run, user)
    if (!reader.ok) return reader
    if (!(await this.read(run, state => state.highway.visibility)))
      return invalidState(`The run ${run} is not shown live; query its trail instead.`, 'visibility_off')
    return ok(this.trail(run).watch(filter, reader.value, signal))
  }

  async #userReader(run: RunId, user: string): Promise<Result<TrailReader>> {
    const actor = await this.#opened(run)
    if (!actor.ok) return actor
    const roles = await actor.value.read(state => new Set(state.vocabulary.roles.keys()))
    const reader = userReader(this.directory, user, roles)
    if (reader) return ok(reader)
    const recorded = await this.record(run, [strangerEntry(user)])
    if (!recorded.ok) return recorded
    return refusal('permission_denied', `There is no user ${clip(user, 80)}: authenticate first.`, {
      reason: 'unknown_identity',
    })
  }

  async #readerFor(run: RunId, workspace: WorkspaceId): Promise<Result<TrailReader>> {
    const global = this.#options.observersReadGlobally ? await this.#observes(run, workspace) : ok(false)
    return global.ok ? ok({ kind: 'agent', workspace, ...(global.value && { global: true }) }) : global
  }

  async #onRecord<T extends { readonly denials: readonly ProposedEntry[] }>(
    run: RunId,
    found: Result<T>,
  ): Promise<Result<T>> {
    if (!found.ok || found.value.denials.length === 0) return found
    const recorded = await this.record(run, found.value.denials)
    return recorded.ok ? found : recorded
  }

  async record(run: RunId, entries: readonly ProposedEntry[]): Promise<Result<void>> {
    const live = await this.#actors.get(run)?.submit<void>({ type: 'record', entries })
    // A run may end while its own record waits for its turn.
    if (live && (live.ok || live.error.code !== 'invalid_state')) return live
    return this.house.record(entries)
  }

  async #observes(run: RunId, workspace: WorkspaceId): Promise<Result<boolean>> {
    const actor = await this.#opened(run)
    if (!actor.ok) return actor
    const observes = await actor.value.read(state => {
      const role = state.workspaces.get(workspace)?.role ?? ''
      return state.vocabulary.roles.get(role)?.base === 'observer'
    })
    return ok(observes)
  }

  /** The run's actor; a finished run's is kept for a while. */
  #actor(id: RunId): Promise<RunActor> {
    const known = this.#actors.get(id) ?? this.#finished.get(id)
    if (known) return Promise.resolve(known)
    const halted = this.#halted.get(id)
    if (halted) return Promise.reject(halted)
    const opening = this.#opening.get(id) ?? this.#load(id).finally(() => this.#opening.delete(id))
    this.#opening.set(id, opening)
    return opening
  }

  /** The same for whoever answers with a value: the trail may be away even for reading (W-REC-06). */
  async #opened(id: RunId): Promise<Result<RunActor>> {
    try {
      return ok(await this.#actor(id))
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  async #load(id: RunId): Promise<RunActor> {
    if (this.#options.trail.imported(id))
      throw new ParleyError(
        'invalid_state',
        `${id} was imported: it can be read and verified, and nothing else.`,
      )
    const { identify, capacity, escalationQueue, resourceTolerance } = this.#options
    const actor = await RunActor.open({
      id,
      trail: this.trail(id),
      clock: this.#clock,
      stamps: this.#stamps,
      ids: this.#ids,
      transport: this.#transport(id),
      redeliveryBase: this.#options.redeliveryBase ?? kernelDefaults.redeliveryBase,
      commitRetries: this.#options.commitRetries ?? kernelDefaults.commitRetries,
      heldCommands: this.#options.heldCommands ?? kernelLimits.queuedCommands,
      users: this.directory,
      escalationQueue,
      resourceTolerance,
      proofs: this.proofs,
      identify,
      level: this.#options.level,
      capacity,
      deployment: this.deployment,
      proven: this.#examining,
      states: this.#states(id),
      onCreated: (workspace, role, creator) => void this.#bindCreated(id, workspace, role, creator),
      onMigration: entry => this.#migrations.follow(id, entry),
      onEnd: () => this.#leave(id),
      onFault: this.#options.onFault ?? rethrow,
    })
    if (!actor.ended) this.#actors.set(id, actor)
    else await this.#remember(id, actor)
    return actor
  }

  /** Where workspaces have keys of their own, mail leaves the process sealed. */
  #transport(id: RunId): Transport {
    const { transport = directTransport } = this.#options
    const stays = transport.protection === 'in-process' || this.deployment !== 'zero-trust'
    return stays ? transport : sealedTransport(transport, this.trail(id))
  }

  #states(id: RunId): StateCache | undefined {
    const { stateCache: store, onStateCacheFault: onFault = () => undefined } = this.#options
    const entries = this.#options.stateCacheEntries ?? kernelLimits.stateCacheEntries
    return store && new StateCache({ id, trail: this.trail(id), clock: this.#clock, store, entries, onFault })
  }

  /** What binding comes to is on record; a workspace that ended meanwhile needs no agent. */
  async #bindCreated(id: RunId, workspace: WorkspaceId, role: string, creator: WorkspaceId): Promise<void> {
    try {
      const run = await this.#handle(id)
      await run?.bind(workspace, role, creator)
    } catch (cause) {
      ;(this.#options.onFault ?? rethrow)(cause)
    }
  }

  /** The handle of a run at work. */
  async #handle(id: RunId): Promise<RunHandle | undefined> {
    const root = await this.#actors.get(id)?.read(run => run.root?.id)
    return root === undefined ? undefined : new RunHandle(this, id, root)
  }

  async #remember(id: RunId, actor: RunActor): Promise<void> {
    this.#finished.set(id, actor)
    const [oldest] = this.#finished.keys()
    if (this.#finished.size > kernelLimits.cachedRuns && oldest !== undefined) await this.#forget(oldest)
  }

  async #forget(id: RunId): Promise<void> {
    this.#finished.delete(id)
    this.#actors.delete(id)
    await this.#options.trail.release(id)
  }

  /** A run whose root is terminal leaves memory. */
  #leave(id: RunId): void {
    const actor = this.#actors.get(id)
    this.#actors.delete(id)
    this.#migrations.drop(id)
    void actor?.stop().then(() => this.#options.trail.release(id))
    this.#housekeeping.ended()
  }

  /** Lets go of a run that is only in memory for its storage. */
  async #release(id: RunId): Promise<void> {
    const held = this.#actors.has(id) || this.#finished.has(id) || this.#opening.has(id)
    if (!held) await this.#options.trail.release(id)
  }

  /** Recovers a run that was replayed and binds its agents again. Where the trail cannot be written, both happen once it can. */
  async #recover(id: RunId): Promise<void> {
    const actor = this.#actors.get(id)
    if (!actor) return
    // A run whose very first batch was lost never began.
    if (!actor.recovering) return this.#forget(id)
    const { promise: delayed, resolve } = Promise.withResolvers<void>()
    const recovered = actor.recover(resolve).then(
      () => this.#bindAgain(id),
      cause => this.#halt(id, cause),
    )
    await Promise.race([recovered, delayed])
  }

  #halt(id: RunId, cause: unknown): void {
    this.#migrations.drop(id)
    this.#actors.delete(id)
    this.#halted.set(id, haltedBy(id, cause))
  }

  /** Whoever was at work is bound again. */
  async #bindAgain(id: RunId): Promise<void> {
    const state = await this.#actors.get(id)?.read(run => ({
      root: run.root?.id,
      open: [...run.workspaces.values()].filter(each => !ended(each)),
    }))
    if (this.#closed || state?.root === undefined) return
    const run = new RunHandle(this, id, state.root)
    for (const workspace of state.open)
      await run.bind(workspace.id, workspace.role, workspace.parent?.id ?? workspace.id)
  }
}

/** A few at a time. */
async function inParts(runs: readonly RunId[], work: (run: RunId) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < runs.length; at += kernelLimits.openingRuns)
    await Promise.all(runs.slice(at, at + kernelLimits.openingRuns).map(work))
}

function rethrow(cause: unknown): void {
  queueMicrotask(() => {
    throw cause
  })
}
