// All runs of one profile: starts them, goes on with those that a stop interrupted, answers what people ask about them. Each run has a
// driver (run-driver.ts) as long as it is at work.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endMarked } from '@parley/agents'
import {
  type AgentAdapter,
  asParleyError,
  type Clock,
  err,
  type IdSource,
  ok,
  ParleyError,
  type Result,
  type RunId,
  SystemClock,
  SystemIds,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { DEPLOYMENT_MODEL, expandHighway, type RunHandle, Runtime, type StorageKeeper } from '@parley/kernel'
import { ContentKeys, fileStateCache, sealingOf } from '@parley/trail'
import { abandonRun } from './abandoning.ts'
import { Accounts } from './accounts.ts'
import { StartBreaker } from './breakers.ts'
import type { Conducting, ConductorOptions, SolveRequest, WorkspaceDoor } from './contract.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import { type ProjectFacts, RunFolders } from './folder/run-folders.ts'
import { Hearers } from './hearers.ts'
import { Highway } from './highway.ts'
import { Identities, liveAgents, nameOf } from './identities.ts'
import { misfit } from './intake.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { pause } from './pause.ts'
import { RunProjection } from './projection.ts'
import { RunDriver } from './run-driver.ts'
import { highwayFor } from './run-highway.ts'
import { KeyedStarts } from './run-key.ts'
import { RunList, unreadable } from './run-list.ts'
import { Semaphore } from './semaphore.ts'
import { Succession } from './succession-acts.ts'
import { mayChange, type PlannedTask, planFor, type TeamAgent } from './team/team.ts'
import { runView } from './to-view.ts'
import { readToken, turnToken } from './token.ts'
import { isOver, type RunView } from './view.ts'

export class Conductor implements Conducting {
  readonly #options: ConductorOptions
  readonly #clock: Clock
  readonly #newIds: IdSource
  readonly #runtime: Runtime
  readonly #drivers = new Map<RunId, RunDriver>()
  readonly #adapters = new Map<RunId, Map<string, AgentAdapter>>()
  readonly #environments = new Map<RunId, Readonly<Record<string, string>>>()
  readonly #identities = new Identities()
  readonly #turns: Semaphore
  /** Views of runs that are over, the oldest first. */
  readonly #finished = new Map<RunId, RunView>()
  readonly #solving = new Set<Promise<unknown>>()
  readonly #breaker = new StartBreaker()
  readonly #highway: Highway
  readonly #succession: Succession
  readonly #accounts: Accounts
  readonly #hearers = new Hearers(message => this.#log('error', message))
  readonly #keyedStarts: KeyedStarts
  readonly #list: RunList
  readonly #stopping = new AbortController()

  private constructor(options: ConductorOptions, clock: Clock, ids: IdSource, runtime: Runtime) {
    this.#options = options
    this.#clock = clock
    this.#newIds = ids
    this.#runtime = runtime
    this.#turns = new Semaphore(options.turns ?? coordinatorDefaults.turns)
    this.#succession = new Succession({ runtime, driver: run => this.#drivers.get(run) })
    this.#highway = new Highway({
      runtime,
      clock,
      find: text => this.find(text),
      driver: run => this.#drivers.get(run),
      drivers: () => this.#drivers,
      log: this.#log,
      salvage: (run, by) => this.#succession.salvage(run, by),
      windDown: (run, by) => this.#succession.windDown(run, by),
    })
    this.#accounts = new Accounts({
      trail: options.trail,
      secret: options.secret,
      driver: run => this.#drivers.get(run),
      isActive: run => this.#isActive(run),
      project: run => this.#readable(run),
    })
    this.#keyedStarts = new KeyedStarts(options.secret, ids, this.keyed)
    this.#list = new RunList({
      trail: options.trail,
      house: () => runtime.house.run,
      active: () => runtime.active,
      view: run => this.view(run),
    })
  }

  /** Opens the profile's runs: those that are not over go on. Processes that a dead node left behind are ended first. */
  static async open(options: ConductorOptions): Promise<Conductor> {
    const { trail, secret, clock = new SystemClock(), ids = new SystemIds() } = options
    const { deployment = DEPLOYMENT_MODEL } = options
    const sealing = { keys: new ContentKeys(secret), seals: sealingOf(deployment) !== 'none' }
    const runtime = await Runtime.open({
      trail,
      clock,
      ids,
      users: 'house',
      secret,
      deployment,
      stateCache: fileStateCache(join(options.profile, 'states'), sealing),
      ...(options.storage && { storage: options.storage }),
      onStorageFault: ({ run, code, message, retry }) =>
        options.log?.('error', `storage: ${message}`, { code, retry, ...(run && { run }) }),
      // `<agent>#<slot>`: what the coordinator gave the workspace to know says who works in it.
      identify: ({ context, workspace }) =>
        typeof context.agent === 'string' ? context.agent : `agent:${workspace}`,
      prepare: async ({ agent, workspace }) => {
        const driver = conductor.#drivers.get(agent.run.id)
        if (!driver) throw new ParleyError('unavailable', `Nobody drives ${agent.run.id}.`)
        await driver.prepare(workspace)
      },
    })
    const conductor: Conductor = new Conductor(options, clock, ids, runtime)
    // All names that are taken first: one run's agents must not get those of another's.
    for (const run of runtime.active) await conductor.#takeNames(run)
    for (const run of runtime.active) await conductor.#resume(run)
    await conductor.#tidy()
    return conductor
  }

  get storage(): StorageKeeper {
    return this.#runtime.storage
  }

  get #log(): NonNullable<ConductorOptions['log']> {
    return this.#options.log ?? (() => undefined)
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  get #closed(): boolean {
    return this.#stopping.signal.aborted
  }

  /** Whether something may still be recorded in it: what the trail holds of it in memory is in use. */
  #isActive(run: RunId): boolean {
    return run === this.#runtime.house.run || this.#runtime.active.includes(run)
  }

  async #resume(id: RunId): Promise<void> {
    try {
      const run = unwrap(await this.#runtime.open(id))
      const facts = unwrap(await run.coordinator.readContext()) as RunFacts
      // A run that something else than a conductor has started is not ours to drive.
      if (facts.plan === undefined || facts.project === undefined) return
      const { found: ended } = await endMarked(`${id}/`, { clock: this.#clock })
      if (ended > 0)
        this.#log('info', `ended ${ended} processes that an earlier node left behind`, { run: id })
      if (await this.#abandons(run)) return
      const folders = unwrap(
        await RunFolders.open({ facts: facts.project, home: this.#home(id), run: id, clock: this.#clock }),
      )
      await this.#drive(run, facts, folders)
      this.#log('info', `goes on with ${id}, with the environment of this node`, { run: id })
    } catch (cause) {
      // One broken run must not keep the others from going on; it can still be looked at and aborted.
      this.#log('error', `cannot go on with ${id}: ${asParleyError(cause).message}`, { run: id })
    }
  }

  /** Whether it is ended in place of going on. Its folders are cleaned up with those of all that are over. */
  async #abandons(run: RunHandle): Promise<boolean> {
    const stored = unwrap(await this.#accounts.storedRun(run.id))
    const reason = this.#options.abandon?.(stored)
    if (reason === undefined) return false
    const names = await liveAgents(run)
    unwrap(await abandonRun(run, reason))
    for (const name of names) this.#identities.release(name)
    this.#log('info', `does not go on with ${run.id}: ${reason}`, { run: run.id })
    return true
  }

  async #takeNames(id: RunId): Promise<void> {
    try {
      this.#identities.take(await liveAgents(unwrap(await this.#runtime.open(id))))
    } catch (cause) {
      // As with going on: one broken run is its own trouble.
      this.#log('error', `cannot read who works in ${id}: ${asParleyError(cause).message}`, { run: id })
    }
  }

  #home(run: RunId): string {
    return join(this.#options.profile, 'runs', run)
  }

  /** What a stop between a run's end and its cleaning up has left. */
  async #tidy(): Promise<void> {
    const left = readFolder(join(this.#options.profile, 'runs')).filter(
      run => !this.#drivers.has(run as RunId) && existsSync(join(this.#home(run as RunId), OPEN)),
    ) as RunId[]
    for (const run of left) {
      try {
        await this.#tidyRun(run)
      } catch (cause) {
        this.#log('warn', `the folders of ${run} were not cleaned up: ${asParleyError(cause).message}`, {
          run,
        })
      }
    }
  }

  async #tidyRun(run: RunId): Promise<void> {
    // It can be looked at and aborted, and keeps what it has until then.
    if (this.#runtime.active.includes(run)) return
    await endMarked(`${run}/`, { clock: this.#clock })
    const home = this.#home(run)
    const facts = readFileSync(join(home, OPEN), 'utf8')
    if (facts !== '') {
      const opened = { facts: JSON.parse(facts) as ProjectFacts, home, run, clock: this.#clock }
      const folders = unwrap(await RunFolders.open(opened))
      unwrap(await folders.finish())
      await folders.clean()
    }
    this.#settled(run, await this.#project(run))
  }

  /** What is kept of its folders is its result: one that never came to be has none, and neither has one that could change nothing. */
  #settled(run: RunId, seen: RunProjection): void {
    const home = this.#home(run)
    if (seen.root && hasResult(seen)) rmSync(join(home, OPEN), { force: true })
    else rmSync(home, { recursive: true, force: true })
  }

  async solve(request: SolveRequest): Promise<Result<{ readonly run: RunId }>> {
    const refused = this.#refuse(request)
    if (refused) return err(refused)
    const { principal, idempotencyKey: key } = request
    const start = (run: RunId) => this.#solve(request, run)
    const begun =
      key === undefined
        ? start(this.#newIds.next('run') as RunId)
        : this.#keyedStarts.once(principal.id, key, start)
    const solving = begun.catch(cause => err(unusable(this.#options.profile, cause)))
    this.#solving.add(solving)
    try {
      return await solving
    } finally {
      this.#solving.delete(solving)
    }
  }

  async #solve(request: SolveRequest, run: RunId): Promise<Result<{ readonly run: RunId }>> {
    const { intent, team, project, principal, origin, context, facts: stored, idempotencyKey: key } = request
    const opened = await this.#mayStart(request)
    if (!opened.ok) return opened
    const known = await this.#highway.admit(principal, origin)
    if (!known.ok) return known
    const home = this.#home(run)
    mkdirSync(home, { recursive: true, mode: 0o700 })
    writeFileSync(join(home, OPEN), '')
    const folders = await RunFolders.create({ project, home, run, clock: this.#clock })
    if (!folders.ok) {
      rmSync(home, { recursive: true, force: true })
      return folders
    }
    const highway = highwayFor(request, this.#options.gates, known.value.approves)
    const { escalation } = unwrap(expandHighway(highway))
    const facts: RunFacts = {
      intent,
      team,
      plan: planFor(team, intent),
      project: folders.value.facts,
      principal: principal.id,
      origin,
      approval: request.approved ? 'given' : 'ask',
      questions: { timeout: escalation.timeout, fallback: escalation.fallback },
      ...(request.parent !== undefined && { parent: request.parent }),
      ...(context && context.length > 0 && { context }),
      ...(stored && { stored }),
      ...(key !== undefined && { key }),
    }
    // What a stop in the middle of this leaves can be cleaned up by it.
    writeFileSync(join(home, OPEN), JSON.stringify(facts.project))
    const started = await this.#runtime.start(
      {
        owner: principal.id,
        highway,
        context: { ...facts },
      },
      run,
    )
    if (!started.ok) {
      // It may have begun all the same: nobody was told so, and nobody shall find it at work.
      const begun = this.#runtime.active.includes(run) ? await this.#runtime.open(run) : undefined
      if (begun?.ok) await begun.value.stop()
      await folders.value.clean()
      rmSync(home, { recursive: true, force: true })
      return started
    }
    if (request.environment) this.#environments.set(run, request.environment)
    // The node stops: the next one goes on with it.
    if (!this.#closed) await this.#drive(started.value, facts, folders.value)
    this.#log('info', `started ${run}`, { run, team: team.name, principal: principal.id })
    return ok({ run })
  }

  /** Runs that agents start, and runs that something starts again and again, are bounded. */
  async #mayStart({ intent, team, project, parent, force = false }: SolveRequest): Promise<Result<void>> {
    const key = JSON.stringify([intent, team.name, project])
    const now = this.#clock.now()
    const above = parent && { run: parent, depth: await this.#depth(parent) }
    const open = this.#breaker.refuse(key, above, now, force)
    if (open) return err(open)
    this.#breaker.note(key, parent, now)
    return ok(undefined)
  }

  /** How many runs stand above one, itself included. */
  async #depth(run: RunId): Promise<number> {
    let depth = 0
    for (let each: RunId | undefined = run; each !== undefined && depth < 8; depth++) {
      const seen: Result<RunProjection> = await this.#readable(each)
      each = (seen.ok ? seen.value.facts?.parent : undefined) as RunId | undefined
    }
    return depth
  }

  #refuse(request: SolveRequest): ParleyError | undefined {
    if (this.#closed) return new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    const bad = misfit(request)
    if (bad) return bad
    if (this.#drivers.size >= coordinatorLimits.activeRuns)
      return new ParleyError('overloaded', `${coordinatorLimits.activeRuns} runs are at work already.`, {
        retryable: true,
      })
    return undefined
  }

  async #drive(run: RunHandle, facts: RunFacts, folders: RunFolders): Promise<void> {
    const { secret, environment = {} } = this.#options
    const driver = new RunDriver({
      run,
      principal: this.#runtime.user(facts.principal),
      entries: after => this.#options.trail.run(run.id).query({ after, limit: 256 }, { kind: 'runtime' }),
      facts,
      folders,
      clock: this.#clock,
      adapter: (work, task, agent) => this.#adapter(run.id, facts, work, task, agent),
      token: (workspace, epoch) => turnToken(secret, { run: run.id, workspace, epoch }),
      environment,
      turns: this.#turns,
      identity: agent => this.#identities.next(agent),
      release: identity => this.#identities.release(identity),
      log: this.#log,
      heard: heard => this.#hearers.tell(run.id, heard),
      onEnd: tidy => this.#ended(run.id, driver, tidy),
    })
    this.#drivers.set(run.id, driver)
    await driver.start()
  }

  #adapter(
    run: RunId,
    { team, origin }: RunFacts,
    work: WorkspaceFacts,
    task: PlannedTask,
    agent: TeamAgent | undefined,
  ): AgentAdapter {
    const adapters = this.#adapters.get(run) ?? new Map<string, AgentAdapter>()
    this.#adapters.set(run, adapters)
    const name = nameOf(work.agent)
    const known = adapters.get(name)
    if (known) return known
    const check = work.kind === 'check'
    const config = check
      ? ({ command: [...task.check!], prompt: 'none', output: 'text', slots: 1 } as const)
      : agent
    if (!config) throw new ParleyError('not_found', `The team ${team.name} has no agent ${name}.`)
    const environment = this.#environments.get(run)
    const wanted = { run, name, agent: config, check, base: team.base, environment, origin }
    const adapter = this.#options.adapter(wanted)
    adapters.set(name, adapter)
    return adapter
  }

  #ended(run: RunId, driver: RunDriver, tidy: boolean): void {
    const { result, ...view } = driver.view
    this.#remember(run, result && hasResult(driver.seen) ? { ...view, result } : view)
    this.#accounts.keep(run, driver.cutOff)
    this.#drivers.delete(run)
    this.#environments.delete(run)
    if (tidy) this.#settled(run, driver.seen)
    void this.#closeAdapters(run)
  }

  async #closeAdapters(run: RunId): Promise<void> {
    const adapters = this.#adapters.get(run)
    this.#adapters.delete(run)
    for (const adapter of adapters?.values() ?? [])
      try {
        await adapter.close()
      } catch (cause) {
        this.#log('warn', `the agent ${adapter.name} did not close: ${asParleyError(cause).message}`, { run })
      }
  }

  #remember(run: RunId, view: RunView): void {
    this.#finished.set(run, view)
    const [oldest] = this.#finished.keys()
    if (this.#finished.size > coordinatorLimits.cachedRuns && oldest !== undefined)
      this.#finished.delete(oldest)
  }

  // Questions

  readonly runs: Conducting['runs'] = filter => this.#list.list(filter)
  readonly find: Conducting['find'] = text => this.#list.find(text)

  async view(run: RunId): Promise<Result<RunView>> {
    const known = this.#drivers.get(run)?.view ?? this.#finished.get(run)
    if (known) return ok(known)
    const read = await this.#readable(run)
    if (!read.ok) return read
    const seen = read.value
    if (!seen.root) return err(new ParleyError('not_found', `There is no run ${run}.`))
    const view = runView(run, seen)
    const origin = this.#options.trail.imported(run)
    const whole = origin
      ? // Nobody here can answer what it waits for.
        { ...view, gates: [], imported: { from: origin.fingerprint, at: origin.at } }
      : { ...view, ...(await this.#resultOf(run, seen)) }
    if (isOver(view.state)) this.#remember(run, whole)
    return ok(whole)
  }

  /** A damaged run is a refusal for whoever asks for it, and nothing to the others. */
  async #readable(run: RunId): Promise<Result<RunProjection>> {
    try {
      return ok(await this.#project(run))
    } catch (cause) {
      return err(unreadable(run, cause))
    }
  }

  async #project(run: RunId): Promise<RunProjection> {
    const trail = this.#options.trail.run(run)
    const seen = new RunProjection()
    const objects = new Map<string, unknown>()
    for await (const record of trail.replay({ sound: true })) {
      if ('event_type' in record)
        await seen.apply(record, async id => objects.get(id) ?? (await trail.object(id))?.value)
      else objects.set(record.id, record.value)
    }
    if (!this.#runtime.active.includes(run)) await this.#options.trail.release(run)
    return seen
  }

  /** Where the result of a run is that ended before this node was started. */
  async #resultOf(run: RunId, { facts }: RunProjection): Promise<Pick<RunView, 'result'>> {
    // Asking changes nothing: what is not settled is so by the driver, or by the next start.
    if (!facts || existsSync(join(this.#home(run), OPEN))) return {}
    const { base } = facts.project
    try {
      const folders = unwrap(
        await RunFolders.open({ facts: facts.project, home: this.#home(run), run, clock: this.#clock }),
      )
      const { head: commit, branch, folder } = unwrap(await folders.finish())
      const files = (await folders.changes(base, commit)).map(({ path }) => path)
      return {
        result: {
          commit,
          base,
          files: files.slice(0, coordinatorLimits.shownFiles),
          ...(branch !== undefined && { branch }),
          ...(folder !== undefined && { folder }),
        },
      }
    } catch {
      // The project has moved or its commits are gone: the rest of the view is still true.
      return {}
    }
  }

  async *follow(run: RunId, signal?: AbortSignal): AsyncIterable<RunView> {
    for (;;) {
      const driver = this.#drivers.get(run)
      const changed = Promise.withResolvers<void>()
      const off = driver?.onChange(() => changed.resolve())
      const stop = () => changed.resolve()
      signal?.addEventListener('abort', stop)
      try {
        const view = unwrap(await this.view(run))
        // A run that is over is shown when its folders are in order as well.
        if (!driver || !isOver(view.state)) yield view
        if (!driver || signal?.aborted) return
        await changed.promise
        if (this.#closed) throw new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
        await pause(this.#clock, coordinatorDefaults.viewInterval, signal)
      } finally {
        off?.()
        signal?.removeEventListener('abort', stop)
      }
    }
  }

  readonly storedRun: Conducting['storedRun'] = run => this.#accounts.storedRun(run)
  readonly stored: Conducting['stored'] = filter => this.#accounts.stored(filter)
  readonly keyed: Conducting['keyed'] = (principal, key) => this.#accounts.keyed(principal, key)
  readonly account: Conducting['account'] = run => this.#accounts.account(run)
  readonly listen: Conducting['listen'] = (run, listener) => this.#hearers.listen(run, listener)

  // The highway

  readonly gates: Conducting['gates'] = run => this.#highway.gates(run)
  readonly watchGates: Conducting['watchGates'] = signal => this.#highway.watchGates(signal)
  readonly respond: Conducting['respond'] = (gate, answer) => this.#highway.respond(gate, answer)
  readonly reply: Conducting['reply'] = (question, answer) => this.#highway.reply(question, answer)
  readonly inject: Conducting['inject'] = (run, injection) => this.#highway.inject(run, injection)
  readonly suspend: Conducting['suspend'] = (run, by) => this.#highway.suspend(run, by)
  readonly resume: Conducting['resume'] = (run, by) => this.#highway.resume(run, by)
  readonly abort: Conducting['abort'] = (run, by) => this.#highway.abort(run, by)
  readonly hasAgent: Conducting['hasAgent'] = (run, name) => this.#succession.hasAgent(run, name)
  readonly proof: Conducting['proof'] = (run, entry) => this.#succession.proof(run, entry)
  readonly migrate: Conducting['migrate'] = (run, by) => this.#succession.migrate(run, by)
  readonly left: Conducting['left'] = (run, which) => this.#succession.left(run, which)
  readonly salvage: Conducting['salvage'] = (run, by) => this.#succession.salvage(run, by)
  readonly budgets: Conducting['budgets'] = run => this.#highway.budgets(run)
  readonly raiseBudget: Conducting['raiseBudget'] = (run, raise) => this.#highway.raiseBudget(run, raise)
  readonly users: Conducting['users'] = () => this.#highway.users()
  readonly accept: Conducting['accept'] = (principal, method) => this.#highway.accept(principal, method)
  readonly changeUser: Conducting['changeUser'] = (user, act) => this.#highway.changeUser(user, act)

  door(token: string): Result<WorkspaceDoor> {
    const key = readToken(this.#options.secret, token)
    const driver = key && this.#drivers.get(key.run as RunId)?.driver(key.workspace as WorkspaceId)
    const door = driver?.door(key!.epoch)
    return door ? ok(door) : err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#stopping.abort()
    await Promise.all(this.#solving)
    await Promise.all([...this.#drivers.values()].map(driver => driver.stop()))
    for (const run of this.#adapters.keys()) await this.#closeAdapters(run)
    await this.#runtime.close()
  }
}

function hasResult({ facts }: RunProjection): boolean {
  return !facts || mayChange(facts.plan)
}

/** In a run's folder while there may be something to clean up, with the facts that it takes. */
const OPEN = 'open'

function unusable(profile: string, cause: unknown): ParleyError {
  const { message } = asParleyError(cause)
  return new ParleyError('profile_unusable', `The run could not be prepared in ${profile}: ${message}`, {
    cause,
  })
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
