// The runtime: all runs of one trail in one process. It opens what is unfinished, starts runs, lets finished ones leave memory, and
// keeps the house run.
import {
  asParleyError,
  type Clock,
  err,
  type IdSource,
  isId,
  ok,
  type Result,
  type RunId,
  StrictClock,
  SystemClock,
  SystemIds,
  type WorkspaceId,
} from '@parley/core'
import type { ProposedEntry, QueryPage, RunTrail, Trail, TrailQuery } from '@parley/trail'
import type { UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { HOUSE_KEY, House } from '../house/house.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { plain } from '../plain.ts'
import { invalidArgument, invalidState, refusal } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import type { RunDraft } from '../run/start.ts'
import { ended } from '../workspace/workspace.ts'
import { RunActor } from './actor.ts'
import type { AgentHandle } from './agent.ts'
import type { Notice } from './notice.ts'
import { RunHandle, type RunHost } from './run-handle.ts'
import { directTransport, type Transport } from './transport.ts'
import { UserHandle } from './user-handle.ts'

export interface RuntimeOptions {
  /** An open trail; whoever opened it closes it, after the runtime. */
  readonly trail: Trail
  readonly clock?: Clock
  readonly ids?: IdSource
  readonly transport?: Transport
  /** Hands each agent to whoever runs it, again after a restart. What it throws fails the workspace with `creation_error`. */
  readonly bind?: (agent: AgentHandle) => void | Promise<void>
  /** Base of redelivery in milliseconds (W-ENV-14). */
  readonly redeliveryBase?: number
  /** Waits before a commit is tried again, in milliseconds (W-REC-07). */
  readonly commitRetries?: readonly number[]
  readonly users?: UserDirectory
  /** Observers may read the global trail (W-TRAIL-19). */
  readonly observersReadGlobally?: boolean
  /** Told when a subscriber of notices throws; by default the process hears of it as of any uncaught error. */
  readonly onFault?: (cause: unknown) => void
  /** Entries of the house run after which a new one takes over. */
  readonly houseEntries?: number
}

export class Runtime implements RunHost {
  readonly #options: RuntimeOptions
  readonly #clock: Clock
  readonly #stamps: StrictClock
  readonly #ids: IdSource
  readonly #actors = new Map<RunId, RunActor>()
  readonly #opening = new Map<RunId, Promise<RunActor>>()
  /** Finished runs that were read lately, oldest first. */
  readonly #finished = new Map<RunId, RunActor>()
  #house: House | undefined
  /** Runs whose coordinator is the node itself. */
  readonly #houses = new Set<RunId>()
  #closed = false

  private constructor(options: RuntimeOptions) {
    this.#options = options
    this.#clock = options.clock ?? new SystemClock()
    this.#stamps = new StrictClock(this.#clock)
    this.#ids = options.ids ?? new SystemIds()
    // W-CLOCK-07: nothing is written before the clock is above everything on record.
    this.#stamps.anchor(options.trail.floor)
  }

  /** Opens a runtime on a trail: unfinished runs are replayed and go on. */
  static async open(options: RuntimeOptions): Promise<Runtime> {
    const runtime = new Runtime(options)
    const unfinished = (await options.trail.runs()).filter(run => !run.ended).map(run => run.run)
    for (let at = 0; at < unfinished.length; at += kernelLimits.openingRuns) {
      const part = unfinished.slice(at, at + kernelLimits.openingRuns)
      await Promise.all(part.map(run => runtime.#actor(run)))
    }
    await runtime.#openHouse(unfinished)
    for (const run of unfinished) await runtime.#resume(run)
    return runtime
  }

  async #openHouse(unfinished: readonly RunId[]): Promise<void> {
    const host = {
      start: (draft: RunDraft) => this.#start(draft, true),
      submit: <T>(run: RunId, command: Command) => this.submit<T>(run, command),
      read: <T>(run: RunId, reader: (state: Run) => T) => this.read(run, reader),
      trail: (run: RunId) => this.trail(run),
    }
    this.#house = await House.open(host, unfinished, this.#options.houseEntries ?? kernelLimits.houseEntries)
    this.#houses.add(this.#house.run)
  }

  /** The run that records what belongs to no other. */
  get house(): House {
    if (!this.#house) throw new Error('The house run is opened with the runtime.')
    return this.#house
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

  /** The runs at work, the house run aside. */
  get active(): readonly RunId[] {
    return [...this.#actors.keys()].filter(id => !this.#houses.has(id))
  }

  /** Waits for what is on its way to disk and refuses everything after it. Safe to repeat. */
  async close(): Promise<void> {
    this.#closed = true
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
    return Promise.resolve(invalidState(`The run ${run} has ended.`))
  }

  /** Reading outlives the run, which then takes no entry of its own about who reached for what. */
  async #read(run: RunId, command: Command): Promise<Result<unknown>> {
    const live = await this.#actors.get(run)?.submit(command)
    // A run may end while the read waits for its turn.
    if (live && (live.ok || live.error.code !== 'invalid_state')) return live
    const context = { now: this.#stamps.next(), ids: this.#ids }
    const actor = await this.#opened(run)
    if (!actor.ok) return actor
    const { result, entries } = await actor.value.read(state => decide(state, command, context))
    const recorded =
      entries.length === 0 ? ok(undefined) : await this.house.record(entries as readonly ProposedEntry[])
    return recorded.ok ? result : recorded
  }

  async read<T>(run: RunId, reader: (state: Run) => T): Promise<T> {
    const actor = this.#actors.get(run) ?? (await this.#actor(run))
    return actor.read(reader)
  }

  subscribe(run: RunId, listener: (notice: Notice) => void): () => void {
    return this.#actors.get(run)?.subscribe(listener) ?? (() => undefined)
  }

  trail(run: RunId): RunTrail {
    return this.#options.trail.run(run)
  }

  bindAgent(agent: AgentHandle): void | Promise<void> {
    if (!this.#houses.has(agent.run.id)) return this.#options.bind?.(agent)
  }

  /** W-TRAIL-19: what a reader reached for and may not see is on record, in the house run once the run itself has ended. */
  async query(run: RunId, query: TrailQuery, workspace: WorkspaceId): Promise<Result<QueryPage>> {
    const global = this.#options.observersReadGlobally ? await this.#observes(run, workspace) : ok(false)
    if (!global.ok) return global
    const reader = { kind: 'agent', workspace, ...(global.value && { global: true }) } as const
    const page = await this.trail(run).query(query, reader)
    if (!page.ok || page.value.denials.length === 0) return page
    const recorded = await this.#record(run, page.value.denials)
    return recorded.ok ? page : recorded
  }

  async #record(run: RunId, entries: readonly ProposedEntry[]): Promise<Result<void>> {
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
    const { transport = directTransport, users } = this.#options
    const actor = await RunActor.open({
      id,
      trail: this.trail(id),
      clock: this.#clock,
      stamps: this.#stamps,
      ids: this.#ids,
      transport,
      redeliveryBase: this.#options.redeliveryBase ?? kernelDefaults.redeliveryBase,
      commitRetries: this.#options.commitRetries ?? kernelDefaults.commitRetries,
      users,
      onEnd: () => this.#leave(id),
      onFault: this.#options.onFault ?? rethrow,
    })
    if (!actor.ended) this.#actors.set(id, actor)
    else await this.#remember(id, actor)
    return actor
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
    void actor?.stop().then(() => this.#options.trail.release(id))
  }

  /** A restart simply goes on: agents are bound again, what was on its way is carried again. */
  async #resume(id: RunId): Promise<void> {
    const actor = this.#actors.get(id)
    if (!actor) return
    const state = await actor.read(run => ({
      root: run.root?.id,
      open: [...run.workspaces.values()].filter(each => !ended(each)),
    }))
    // A run whose very first batch was lost never began.
    if (state.root === undefined) return this.#forget(id)
    const run = new RunHandle(this, id, state.root)
    actor.resume()
    for (const workspace of state.open)
      await run.bind(workspace.id, workspace.role, workspace.parent?.id ?? workspace.id)
  }
}

function rethrow(cause: unknown): void {
  queueMicrotask(() => {
    throw cause
  })
}
