// All runs of one profile. Each kind of question and act has a part that answers it; here the parts are put together,
// opened and closed.
import { join } from 'node:path'
import {
  asParleyError,
  err,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type RunRequest,
  SystemClock,
  SystemIds,
  type WorkspaceId,
} from '@parley/core'
import { DEPLOYMENT_MODEL, Runtime, type StorageKeeper } from '@parley/kernel'
import { ContentKeys, fileStateCache, sealingOf } from '@parley/trail'
import type { AgentVerbs, Coordination, CoordinatorOptions, Log, RunSetup } from './contract.ts'
import { Machine } from './machine/machine.ts'
import { probeMachine } from './machine/probe.ts'
import { Budgets } from './people/budgets.ts'
import { Gates } from './people/gates.ts'
import { Interventions } from './people/interventions.ts'
import { Migrations } from './people/migrations.ts'
import { Salvages } from './people/salvages.ts'
import { Users } from './people/users.ts'
import { RunAdapters } from './run/run-adapters.ts'
import type { RunDriver } from './run/run-driver.ts'
import { RunDrivers } from './run/run-drivers.ts'
import { RunHomes } from './run/run-homes.ts'
import { RunStarts } from './run/run-starts.ts'
import { readToken } from './turn/token.ts'
import { TurnListeners } from './turn/turn-listeners.ts'
import { RunList } from './view/run-list.ts'
import { RunRecords } from './view/run-records.ts'
import { RunViews } from './view/run-views.ts'
import type { MachineView } from './view/view.ts'

export class Coordinator implements Coordination {
  readonly runs: RunList
  readonly views: RunViews
  readonly records: RunRecords
  readonly listeners: TurnListeners
  readonly gates: Gates
  readonly interventions: Interventions
  readonly migrations: Migrations
  readonly salvages: Salvages
  readonly budgets: Budgets
  readonly users: Users
  readonly #options: CoordinatorOptions
  readonly #runtime: Runtime
  readonly #machine: Machine
  readonly #atWork = new Map<RunId, RunDriver>()
  readonly #drivers: RunDrivers
  readonly #starts: RunStarts
  readonly #stopping = new AbortController()

  private constructor(options: CoordinatorOptions, runtime: Runtime, machine: Machine) {
    this.#options = options
    this.#runtime = runtime
    this.#machine = machine
    const { trail, secret, profile, clock = new SystemClock(), ids = new SystemIds() } = options
    const log: Log = options.log ?? (() => undefined)
    const { stopping } = this
    const homes = new RunHomes(profile, clock)
    const adapters = new RunAdapters(options.adapter, log)
    const drivers = this.#atWork
    const driver = (run: RunId) => drivers.get(run)
    /** Something may still be recorded in it: what the trail holds of it in memory is in use. */
    const isActive = (run: RunId) => run === runtime.house.run || runtime.active.includes(run)
    this.views = new RunViews({ trail, clock, homes, driver, isActive, machine, stopping })
    const project = (run: RunId) => this.views.readable(run)
    this.records = new RunRecords({ trail, runtime, secret, driver, isActive, project })
    this.runs = new RunList({
      trail,
      house: () => runtime.house.run,
      active: () => runtime.active,
      view: run => this.views.view(run),
    })
    this.listeners = new TurnListeners(message => log('error', message))
    const host = { runtime, clock, drivers, machine, log }
    this.salvages = new Salvages(host)
    this.gates = new Gates({ ...host, find: text => this.runs.find(text), salvages: this.salvages })
    this.interventions = new Interventions(host)
    this.migrations = new Migrations(host)
    this.budgets = new Budgets(host)
    this.users = new Users(runtime.users, () => this.gates.list())
    const shared = { ...options, runtime, clock, ids, machine, adapters, homes, stopping, log }
    this.#drivers = new RunDrivers(drivers, {
      ...shared,
      listeners: this.listeners,
      storedRun: run => this.records.storedRun(run),
      project: run => this.views.project(run),
      onEnd: (run, ended) => {
        this.views.keep(run, ended)
        this.records.keep(run, ended.cutOff)
      },
    })
    this.#starts = new RunStarts({
      ...shared,
      users: this.users,
      drivers: this.#drivers,
      count: () => drivers.size,
      keyed: (principal, key) => this.records.keyed(principal, key),
      project,
    })
  }

  /**
   * Opens the profile's runs: those that are not over go on. Processes that a dead node left behind are ended first.
   */
  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const { trail, secret, profile, clock = new SystemClock(), ids = new SystemIds(), log } = options
    const { deployment = DEPLOYMENT_MODEL, storage } = options
    const machine =
      options.machine ?? new Machine({ clock, folder: profile, probe: probeMachine, log: (...said) => log?.(...said) })
    const sealing = { keys: new ContentKeys(secret), seals: sealingOf(deployment) !== 'none' }
    const runtime = await Runtime.open({
      trail,
      clock,
      ids,
      users: 'house',
      secret,
      deployment,
      stateCache: fileStateCache(join(profile, 'states'), sealing),
      onStateCacheFault: cause => log?.('warn', asParleyError(cause).message, { cause }),
      ...(storage && { storage }),
      onStorageFault: ({ run, code, message, retry }) =>
        log?.('error', `storage: ${message}`, { code, retry, ...(run && { run }) }),
      onUnwritable: error => machine.report(error),
      onFault: cause => {
        machine.report(cause)
        log?.('error', `the runtime met an error: ${asParleyError(cause).message}`, { cause })
      },
      // `<agent>#<slot>`: what the coordinator gave the workspace to know says who works in it.
      identify: ({ context, workspace }) => (typeof context.agent === 'string' ? context.agent : `agent:${workspace}`),
      prepare: ({ agent, workspace }) => coordinator.#drivers.prepare(agent.run, workspace),
    })
    const coordinator: Coordinator = new Coordinator({ ...options, clock, ids }, runtime, machine)
    await coordinator.#drivers.resumeAll()
    return coordinator
  }

  get held(): MachineView | undefined {
    return this.#machine.held
  }

  get storage(): StorageKeeper {
    return this.#runtime.storage
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  start(request: RunRequest, setup: RunSetup): Promise<Result<{ readonly run: RunId }>> {
    return this.#starts.start(request, setup)
  }

  verbs(token: string): Result<AgentVerbs> {
    const key = readToken(this.#options.secret, token)
    const turns = key && this.#atWork.get(key.run as RunId)?.driver(key.workspace as WorkspaceId)
    const verbs = turns?.verbs(key!.epoch)
    return verbs ? ok(verbs) : err(new ParleyError('permission_denied', 'No turn with this token is at work.'))
  }

  async close(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    if (!this.#options.machine) this.#machine.close()
    await this.#drivers.stop()
    await this.#runtime.close()
  }
}
