// All runs of one profile: puts the parts together that answer each kind of question and act, opens and closes them.
import { join } from 'node:path'
import {
  asParleyError,
  err,
  ok,
  ParleyError,
  pause,
  type Result,
  type RunId,
  type RunRequest,
  SystemClock,
  SystemIds,
  type WorkspaceId,
} from '@parley/core'
import { DEPLOYMENT_MODEL, Runtime, type StorageKeeper } from '@parley/kernel'
import { ContentCipher, fileStateCache } from '@parley/trail'
import { Applies } from './apply/applies.ts'
import { Cleaning } from './apply/cleaning.ts'
import { HouseRecords } from './apply/house-record.ts'
import type { AgentVerbs, Coordination, CoordinatorOptions, RunSetup } from './contract.ts'
import { ProfileLibrary } from './library/library.ts'
import { coordinatorDefaults } from './limits.ts'
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
import type { RunsHost } from './run/runs-host.ts'
import { readToken } from './turn/token.ts'
import { TurnListeners } from './turn/turn-listeners.ts'
import { AgentUsage } from './view/agent-usage.ts'
import { RunList } from './view/run-list.ts'
import { RunRecords } from './view/run-records.ts'
import { RunViews } from './view/run-views.ts'
import type { MachineView } from './view/view.ts'
import { Works } from './view/works.ts'

export class Coordinator implements Coordination {
  readonly runs: RunList
  readonly views: RunViews
  readonly records: RunRecords
  readonly works: Works
  readonly usage: AgentUsage
  readonly listeners: TurnListeners
  readonly gates: Gates
  readonly interventions: Interventions
  readonly migrations: Migrations
  readonly salvages: Salvages
  readonly budgets: Budgets
  readonly users: Users
  readonly applies: Applies
  readonly cleaning: Cleaning
  readonly library: ProfileLibrary
  readonly #options: CoordinatorOptions
  readonly #runtime: Runtime
  readonly #machine: Machine
  readonly #atWork = new Map<RunId, RunDriver>()
  readonly #drivers: RunDrivers
  readonly #starts: RunStarts
  readonly #stopping = new AbortController()
  /** When what an earlier node was doing in checkouts of users is done, or taken back. */
  #recovered: Promise<void> | undefined

  private constructor(options: CoordinatorOptions, runtime: Runtime, machine: Machine) {
    this.#options = options
    this.#runtime = runtime
    this.#machine = machine
    const { profile, clock = new SystemClock(), ids = new SystemIds(), log = () => undefined } = options
    const host: RunsHost = {
      ...options,
      runtime,
      clock,
      ids,
      machine,
      log,
      homes: new RunHomes(profile, clock),
      adapters: new RunAdapters(options.profile, options.adapter, log),
      drivers: this.#atWork,
      stopping: this.stopping,
      isActive: run => runtime.isAtWork(run) || runtime.active.includes(run),
    }
    this.views = new RunViews(host)
    this.records = new RunRecords(host, this.views)
    this.works = new Works(host, this.views)
    this.usage = new AgentUsage(host, this.views)
    this.runs = new RunList(host, this.views)
    this.listeners = new TurnListeners(message => log('error', message))
    const records = new HouseRecords(runtime)
    this.salvages = new Salvages(host, { works: this.works, views: this.views, records })
    this.gates = new Gates(host, this.runs, this.salvages)
    this.interventions = new Interventions(host)
    this.migrations = new Migrations(host)
    this.budgets = new Budgets(host, this.views)
    this.users = new Users(runtime.users, () => this.gates.list())
    this.applies = new Applies(host, this, records)
    this.cleaning = new Cleaning(host, { works: this.works, views: this.views, records })
    this.library = new ProfileLibrary(host, this.users)
    this.#drivers = new RunDrivers(host, this.#atWork, this)
    this.#starts = new RunStarts(host, this.#drivers, this)
  }

  /** Resumes the profile's runs that are not over. Processes that a dead node left behind are ended first. */
  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const { trail, secret, profile, clock = new SystemClock(), ids = new SystemIds(), log } = options
    const { deployment = DEPLOYMENT_MODEL, storage, libraryEntries } = options
    const machine =
      options.machine ?? new Machine({ clock, folder: profile, probe: probeMachine, log: (...said) => log?.(...said) })
    const runtime = await Runtime.open({
      trail,
      clock,
      ids,
      users: 'house',
      secret,
      deployment,
      stateCache: fileStateCache(join(profile, 'states'), ContentCipher.for(deployment, secret)),
      onStateCacheFault: cause => log?.('warn', asParleyError(cause).message, { cause }),
      ...(storage && { storage }),
      ...(libraryEntries !== undefined && { libraryEntries }),
      onStorageFault: ({ run, code, message, retry }) =>
        log?.('error', `storage: ${message}`, { code, retry, ...(run && { run }) }),
      onUnwritable: error => machine.report(error),
      onFault: cause => {
        machine.report(cause)
        log?.('error', `the runtime met an error: ${asParleyError(cause).message}`, { cause })
      },
      // `<agent>#<slot>`, from the context that the coordinator gave the workspace.
      identify: ({ context, workspace }) => (typeof context.agent === 'string' ? context.agent : `agent:${workspace}`),
      prepare: ({ agent, workspace }) => coordinator.#drivers.prepare(agent.run, workspace),
    })
    const coordinator: Coordinator = new Coordinator({ ...options, clock, ids }, runtime, machine)
    await coordinator.#drivers.resumeAll()
    coordinator.#recovered = coordinator.applies.recover()
    // A large checkout takes its time, and nobody else has to wait for all of it.
    const waited = new AbortController()
    await Promise.race([coordinator.#recovered, pause(clock, coordinatorDefaults.recoveryMs, waited.signal)])
    waited.abort()
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
    await this.#recovered
    await this.#runtime.close()
  }
}
