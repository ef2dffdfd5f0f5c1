// The adapters of each run, one for each agent, from the first use to the end of the run; and the environment of the
// caller who started the run, in memory only.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandSettings } from '@parley/agents'
import { type AgentAdapter, asParleyError, ParleyError, type RunId, type WorkspaceId } from '@parley/core'
import type { CoordinatorOptions } from '../contract.ts'
import { coordinatorLimits } from '../limits.ts'
import type { Setup } from '../team/folder-fields.ts'
import type { PlannedTask, TeamAgent } from '../team/team.ts'
import { nameOf } from '../turn/identities.ts'
import { cacheVariables } from './caches.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'

/** What runs one setup, and the file that gets everything it prints. */
export interface SetupRun {
  readonly adapter: AgentAdapter
  readonly log: string
}

export class RunAdapters {
  readonly #profile: string
  readonly #make: CoordinatorOptions['adapter']
  readonly #log: NonNullable<CoordinatorOptions['log']>
  readonly #byRun = new Map<RunId, Map<string, AgentAdapter>>()
  readonly #environments = new Map<RunId, Readonly<Record<string, string>>>()

  constructor(profile: string, make: CoordinatorOptions['adapter'], log: NonNullable<CoordinatorOptions['log']>) {
    this.#profile = profile
    this.#make = make
    this.#log = log
  }

  setEnvironment(run: RunId, environment: Readonly<Record<string, string>>): void {
    this.#environments.set(run, environment)
  }

  /** `agent`: what the run knows of the agent of this work; a check has none. */
  adapter(
    run: RunId,
    { team, origin }: RunFacts,
    work: WorkspaceFacts,
    task: PlannedTask,
    agent: TeamAgent | undefined,
  ): AgentAdapter {
    const adapters = this.#byRun.get(run) ?? new Map<string, AgentAdapter>()
    this.#byRun.set(run, adapters)
    const name = nameOf(work.agent)
    const known = adapters.get(name)
    if (known) return known
    const check = work.kind === 'check'
    const config = check ? ({ command: [...task.check!], prompt: 'none', output: 'text', slots: 1 } as const) : agent
    if (!config) throw new ParleyError('not_found', `The team ${team.name} has no agent ${name}.`)
    const environment = this.#environments.get(run)
    const adapter = this.#make({ run, name, agent: config, check, base: team.base, environment, origin })
    adapters.set(name, adapter)
    return adapter
  }

  /** For one setup; its caller closes the adapter. */
  setup(run: RunId, { team, origin }: RunFacts, workspace: WorkspaceId, setup: Setup): SetupRun {
    const { run: command, timeoutMs, pass = [] } = setup
    const agent: CommandSettings & { readonly slots: number } = {
      command,
      prompt: 'none',
      output: 'text',
      env: cacheVariables(this.#profile, command),
      pass,
      timeoutMs,
      maxOutputBytes: coordinatorLimits.setupOutputBytes,
      slots: 1,
    }
    const logs = join(this.#profile, 'logs', 'setup')
    dropOldest(logs)
    const log = join(logs, run, `${workspace}.log`)
    const environment = this.#environments.get(run)
    const adapter = this.#make({ run, name: 'setup', agent, check: true, base: team.base, environment, origin, log })
    return { adapter, log }
  }

  async close(run: RunId): Promise<void> {
    const adapters = this.#byRun.get(run)
    this.#byRun.delete(run)
    this.#environments.delete(run)
    for (const adapter of adapters?.values() ?? [])
      try {
        await adapter.close()
      } catch (cause) {
        this.#log('warn', `the agent ${adapter.name} did not close: ${asParleyError(cause).message}`, { run })
      }
  }

  async closeAll(): Promise<void> {
    for (const run of this.#byRun.keys()) await this.close(run)
  }
}

/** The ids of runs are in the order in which these began. */
function dropOldest(logs: string): void {
  let runs: string[] = []
  try {
    runs = readdirSync(logs).sort()
  } catch {
    // There are none yet.
  }
  for (const run of runs.slice(0, -coordinatorLimits.setupLogRuns))
    rmSync(join(logs, run), { recursive: true, force: true })
}
