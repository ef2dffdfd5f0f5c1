// All runs of one profile: starts them, goes on with those that a stop interrupted, and hands what people ask and do to the part that is for
// it. Each run has a driver (run-driver.ts) as long as it is at work.
import { join } from 'node:path'
import { endMarked } from '@parley/agents'
import {
  asParleyError,
  type Clock,
  err,
  type IdSource,
  machineFaultText,
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
import { BudgetActs } from './budget-acts.ts'
import type { Conducting, ConductorOptions, SolveRequest, WorkspaceDoor } from './contract.ts'
import type { RunFacts } from './facts.ts'
import { RunFolders } from './folder/run-folders.ts'
import { Hearers } from './hearers.ts'
import { Highway } from './highway.ts'
import { Identities, liveAgents } from './identities.ts'
import { misfit } from './intake.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { Machine } from './machine/machine.ts'
import { probeMachine } from './machine/probe.ts'
import type { RunProjection } from './projection.ts'
import { RunAdapters } from './run-adapters.ts'
import { RunDriver } from './run-driver.ts'
import { highwayFor } from './run-highway.ts'
import { RunHomes } from './run-homes.ts'
import { KeyedStarts } from './run-key.ts'
import { RunList } from './run-list.ts'
import { RunViews } from './run-views.ts'
import { Semaphore } from './semaphore.ts'
import { Succession } from './succession-acts.ts'
import { planFor } from './team/team.ts'
import { readToken, turnToken } from './token.ts'
import { UserActs } from './user-acts.ts'
import type { MachineView } from './view.ts'

export class Conductor implements Conducting {
  readonly #options: ConductorOptions
  readonly #clock: Clock
  readonly #newIds: IdSource
  readonly #runtime: Runtime
  readonly #drivers = new Map<RunId, RunDriver>()
  readonly #adapters: RunAdapters
  readonly #homes: RunHomes
  readonly #identities = new Identities()
  readonly #turns: Semaphore
  readonly #machine: Machine
  readonly #solving = new Set<Promise<unknown>>()
  readonly #breaker = new StartBreaker()
  readonly #highway: Highway
  readonly #budgets: BudgetActs
  readonly #users: UserActs
  readonly #succession: Succession
  readonly #views: RunViews
  readonly #accounts: Accounts
  readonly #hearers = new Hearers(message => this.#log('error', message))
  readonly #keyedStarts: KeyedStarts
  readonly #list: RunList
  readonly #stopping = new AbortController()

  private constructor(
    options: ConductorOptions,
    clock: Clock,
    ids: IdSource,
    runtime: Runtime,
    machine: Machine,
  ) {
    this.#machine = machine
    this.#options = options
    this.#clock = clock
    this.#newIds = ids
    this.#runtime = runtime
    this.#turns = new Semaphore(options.turns ?? coordinatorDefaults.turns)
    this.#adapters = new RunAdapters(options.adapter, this.#log)
    this.#homes = new RunHomes(options.profile, clock)
    const driver = (run: RunId) => this.#drivers.get(run)
    const isActive = (run: RunId) => this.#isActive(run)
    this.#succession = new Succession({ runtime, driver })
    this.#budgets = new BudgetActs({ runtime, driver })
    this.#highway = new Highway({
      runtime,
      clock,
      find: text => this.find(text),
      drivers: this.#drivers,
      machine,
      log: this.#log,
      succession: this.#succession,
    })
    this.#users = new UserActs(runtime.users, () => this.#highway.gates())
    const { trail, secret } = options
    const { stopping } = this
    this.#views = new RunViews({ trail, clock, homes: this.#homes, driver, isActive, machine, stopping })
    const project = (run: RunId) => this.#views.readable(run)
    this.#accounts = new Accounts({ trail, secret, driver, isActive, project })
    this.#keyedStarts = new KeyedStarts(secret, ids, this.keyed)
    this.#list = new RunList({
      trail,
      house: () => runtime.house.run,
      active: () => runtime.active,
      view: run => this.view(run),
    })
  }

  /** Opens the profile's runs: those that are not over go on. Processes that a dead node left behind are ended first. */
  static async open(options: ConductorOptions): Promise<Conductor> {
    const { trail, secret, clock = new SystemClock(), ids = new SystemIds() } = options
    const { deployment = DEPLOYMENT_MODEL } = options
    const machine =
      options.machine ??
      new Machine({
        clock,
        folder: options.profile,
        probe: probeMachine,
        log: (...said) => options.log?.(...said),
      })
    const sealing = { keys: new ContentKeys(secret), seals: sealingOf(deployment) !== 'none' }
    const runtime = await Runtime.open({
      trail,
      clock,
      ids,
      users: 'house',
      secret,
      deployment,
      stateCache: fileStateCache(join(options.profile, 'states'), sealing),
      onStateCacheFault: cause => options.log?.('warn', asParleyError(cause).message, { cause }),
      ...(options.storage && { storage: options.storage }),
      onStorageFault: ({ run, code, message, retry }) =>
        options.log?.('error', `storage: ${message}`, { code, retry, ...(run && { run }) }),
      onUnwritable: error => machine.report(error),
      onFault: cause => {
        machine.report(cause)
        options.log?.('error', `the runtime met an error: ${asParleyError(cause).message}`, { cause })
      },
      // `<agent>#<slot>`: what the coordinator gave the workspace to know says who works in it.
      identify: ({ context, workspace }) =>
        typeof context.agent === 'string' ? context.agent : `agent:${workspace}`,
      prepare: async ({ agent, workspace }) => {
        const driver = conductor.#drivers.get(agent.run)
        if (!driver) throw new ParleyError('unavailable', `Nobody drives ${agent.run}.`)
        await driver.prepare(workspace)
      },
    })
    const conductor: Conductor = new Conductor(options, clock, ids, runtime, machine)
    // All names that are taken first: one run's agents must not get those of another's.
    for (const run of runtime.active) await conductor.#takeNames(run)
    for (const run of runtime.active) await conductor.#resume(run)
    await conductor.#tidy()
    return conductor
  }

  get held(): MachineView | undefined {
    return this.#machine.held
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

  async #resume(id: RunId, troubles = 0): Promise<void> {
    try {
      const run = unwrap(await this.#runtime.open(id))
      const facts = unwrap(await run.coordinator.readContext()) as RunFacts
      // A run that something else than a conductor has started is not ours to drive.
      if (facts.plan === undefined || facts.project === undefined) return
      const { found: ended } = await endMarked(`${id}/`, { clock: this.#clock })
      if (ended > 0)
        this.#log('info', `ended ${ended} processes that an earlier node left behind`, { run: id })
      if (await this.#abandons(run)) return
      const folders = unwrap(await this.#homes.open(id, facts.project))
      await this.#drive(run, facts, folders)
      this.#log('info', `goes on with ${id}, with the environment of this node`, { run: id })
    } catch (cause) {
      const again = async (count: number) => {
        if (!this.#closed && !this.#drivers.has(id) && this.#runtime.active.includes(id))
          await this.#resume(id, count)
      }
      if (await this.#machine.blame(cause, this.#placesOf(id))) {
        // It must not be left without anybody who drives it.
        this.#whenSound(() => again(troubles))
        return
      }
      // One broken run must not keep the others from going on; it can still be looked at and aborted.
      this.#log('error', `cannot go on with ${id}: ${asParleyError(cause).message}`, { run: id, troubles })
      const wait = coordinatorDefaults.stepRetries[troubles]
      if (wait !== undefined)
        this.#clock.after(wait, () => void this.#solved(again(troubles + 1)), { background: true })
    }
  }

  /** Where a fault of the machine can keep a run from going on. */
  #placesOf(run: RunId): readonly string[] {
    return [this.#options.profile, this.#homes.home(run)]
  }

  /** What the machine kept from being done is done when it is sound again, unless the node stops. */
  #whenSound(work: () => Promise<void>): void {
    void this.#machine.sound(this.stopping).then(async sound => {
      if (sound) await this.#solved(work())
    })
  }

  /** A stop waits for it. */
  async #solved<T>(work: Promise<T>): Promise<T> {
    this.#solving.add(work)
    try {
      return await work
    } finally {
      this.#solving.delete(work)
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

  /** What a stop between a run's end and its cleaning up has left. */
  async #tidy(): Promise<void> {
    for (const run of this.#homes.unsettled) await this.#tidyRun(run)
  }

  async #tidyRun(run: RunId): Promise<void> {
    // What is not over can be looked at and aborted, and keeps what it has until then.
    if (this.#drivers.has(run) || this.#runtime.active.includes(run)) return
    try {
      await endMarked(`${run}/`, { clock: this.#clock })
      await this.#homes.clean(run)
      this.#homes.settle(run, await this.#views.project(run))
    } catch (cause) {
      const { message } = asParleyError(cause)
      this.#log('warn', `the folders of ${run} were not cleaned up: ${message}`, { run })
      if (await this.#machine.blame(cause, this.#placesOf(run))) this.#whenSound(() => this.#tidyRun(run))
    }
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
    const solving = begun
      .catch(cause => err(unusable(this.#options.profile, cause)))
      .then(result => this.#startedOrHeld(result, request.project))
    return this.#solved(solving)
  }

  /** What the machine kept from being started can be asked for again; nothing of it is left. */
  async #startedOrHeld<T>(result: Result<T>, project: string): Promise<Result<T>> {
    if (result.ok || result.error.code === 'machine_fault') return result
    const { error } = result
    // What git says of a full disk is words; the disk is asked.
    const wordless = FOLDER_CODES.has(error.code)
    const fault = this.#machine.report(error) ?? (wordless ? await this.#machine.look() : undefined)
    if (fault) return err(heldUp(this.#machine.held!.message, error))
    const place = wordless ? await RunFolders.writtenTo(project, this.#clock) : undefined
    const found = place === undefined ? undefined : await this.#machine.inspect([place])
    return found
      ? err(
          heldUp(
            `The project cannot be worked on until its disk can be written: ${machineFaultText(found)}.`,
            error,
          ),
        )
      : result
  }

  async #solve(request: SolveRequest, run: RunId): Promise<Result<{ readonly run: RunId }>> {
    const { intent, team, project, principal, origin, context, facts: stored, idempotencyKey: key } = request
    const opened = await this.#mayStart(request)
    if (!opened.ok) return opened
    const known = await this.#users.admit(principal, origin)
    if (!known.ok) return known
    const folders = await this.#homes.create(run, project)
    if (!folders.ok) return folders
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
    const started = await this.#runtime.start({ owner: principal.id, highway, context: { ...facts } }, run)
    if (!started.ok) {
      // It may have begun all the same: nobody was told so, and nobody shall find it at work.
      const begun = this.#runtime.active.includes(run) ? await this.#runtime.open(run) : undefined
      if (begun?.ok) await begun.value.stop()
      await folders.value.clean()
      this.#homes.remove(run)
      return started
    }
    if (request.environment) this.#adapters.setEnvironment(run, request.environment)
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
      const seen: Result<RunProjection> = await this.#views.readable(each)
      each = (seen.ok ? seen.value.facts?.parent : undefined) as RunId | undefined
    }
    return depth
  }

  #refuse(request: SolveRequest): ParleyError | undefined {
    if (this.#closed) return new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    const { held } = this
    if (held) return heldUp(held.message)
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
      machine: this.#machine,
      adapter: (work, task, agent) => this.#adapters.adapter(run.id, facts, work, task, agent),
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

  #ended(run: RunId, driver: RunDriver, tidy: boolean): void {
    this.#views.keep(run, driver)
    this.#accounts.keep(run, driver.cutOff)
    this.#drivers.delete(run)
    if (tidy) this.#homes.settle(run, driver.seen)
    void this.#adapters.close(run)
  }

  // Questions

  readonly runs: Conducting['runs'] = filter => this.#list.list(filter)
  readonly find: Conducting['find'] = text => this.#list.find(text)
  readonly view: Conducting['view'] = run => this.#views.view(run)
  readonly follow: Conducting['follow'] = (run, signal) => this.#views.follow(run, signal)
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
  readonly budgets: Conducting['budgets'] = run => this.#budgets.budgets(run)
  readonly raiseBudget: Conducting['raiseBudget'] = (run, raise) => this.#budgets.raiseBudget(run, raise)
  readonly users: Conducting['users'] = () => this.#users.users()
  readonly accept: Conducting['accept'] = (principal, method) => this.#users.accept(principal, method)
  readonly changeUser: Conducting['changeUser'] = (user, act) => this.#users.changeUser(user, act)

  door(token: string): Result<WorkspaceDoor> {
    const key = readToken(this.#options.secret, token)
    const driver = key && this.#drivers.get(key.run as RunId)?.driver(key.workspace as WorkspaceId)
    const door = driver?.door(key!.epoch)
    return door ? ok(door) : err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#stopping.abort()
    if (!this.#options.machine) this.#machine.close()
    await Promise.all(this.#solving)
    await Promise.all([...this.#drivers.values()].map(driver => driver.stop()))
    await this.#adapters.closeAll()
    await this.#runtime.close()
  }
}

const FOLDER_CODES: ReadonlySet<string> = new Set(['git_failed', 'folder_failed', 'repository_locked'])

/** Nothing is lost: nothing was begun. */
function heldUp(message: string, cause?: ParleyError): ParleyError {
  return new ParleyError('machine_fault', `${message} Nothing was started; ask again then.`, {
    retryable: true,
    ...(cause && { cause }),
  })
}

function unusable(profile: string, cause: unknown): ParleyError {
  const { message } = asParleyError(cause)
  return new ParleyError('profile_unusable', `The run could not be prepared in ${profile}: ${message}`, {
    cause,
  })
}
