// The coordinating agent of one run. It follows the run's trail and, after everything that happened, does what is next: answer what falls
// to it, let its crews work (crew.ts), end the run. Nothing is remembered elsewhere, so a restart simply goes on.
import {
  asParleyError,
  type CancelTimer,
  type Clock,
  err,
  type GateId,
  ok,
  type Result,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { RunHandle, UserHandle } from '@parley/kernel'
import type { QueryPage } from '@parley/trail'
import type { CutOff } from './accounts.ts'
import { isOfPlan } from './approval.ts'
import { ask, emptyInbox } from './asking.ts'
import { controlPayload } from './control.ts'
import { Crew, type CrewHost } from './crew.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { Handovers } from './handover.ts'
import { coordinatorDefaults } from './limits.ts'
import { machineLimits } from './machine/limits.ts'
import { isOfTrail, type Machine } from './machine/machine.ts'
import { pause } from './pause.ts'
import { RunProjection, type SeenWorkspace } from './projection.ts'
import { placed, resultAt } from './run-result.ts'
import { RunTime } from './run-time.ts'
import type { Semaphore } from './semaphore.ts'
import { plannedTasks } from './spending.ts'
import type { PlannedTask } from './team/team.ts'
import { leadTeam } from './team-lead.ts'
import { type Live, runView } from './to-view.ts'
import type { TurnDriver } from './turn-driver.ts'
import { TurnDrivers, type TurnDriversOptions } from './turn-drivers.ts'
import type { RunView } from './view.ts'

export interface RunDriverOptions {
  readonly run: RunHandle
  /** Whoever started the run. */
  readonly principal: UserHandle
  /** Durable entries behind a place on the trail. */
  readonly entries: (after: number) => Promise<Result<QueryPage>>
  readonly facts: RunFacts
  readonly folders: RunFolders
  readonly clock: Clock
  readonly adapter: TurnDriversOptions['adapter']
  readonly token: TurnDriversOptions['token']
  readonly environment: Readonly<Record<string, string>>
  readonly machine: Machine
  /** Turns at once over all runs. */
  readonly turns: Semaphore
  /** `<agent>#<slot>`, with a slot that no live workspace has. */
  readonly identity: (agent: string) => string
  readonly release: (identity: string) => void
  readonly log: TurnDriversOptions['log']
  readonly heard: TurnDriversOptions['heard']
  /** The run is over. `tidy`: nothing of it is left to be cleaned up. */
  readonly onEnd: (tidy: boolean) => void
}

export class RunDriver {
  readonly #options: RunDriverOptions
  readonly #run: RunHandle
  readonly #seen = new RunProjection()
  readonly #plan: ReadonlyMap<string, PlannedTask>
  readonly #drivers: TurnDrivers
  readonly #listeners = new Set<() => void>()
  readonly #stop = new AbortController()
  readonly #over = new AbortController()
  readonly #crewHost: CrewHost
  readonly #crew: Crew
  readonly #handovers: Handovers
  readonly #time: RunTime
  /** Gates that were answered already; what was refused then is not asked again. */
  readonly #answered = new Set<GateId>()
  #result: RunView['result']
  #again: CancelTimer | undefined
  #knows = false
  #troubles = 0
  /** Faults of the machine in a row, without a step in between that succeeded. */
  #faults = 0
  #waits = false
  #stepping: Promise<void> = Promise.resolve()
  #done: Promise<void> = Promise.resolve()

  constructor(options: RunDriverOptions) {
    this.#options = options
    this.#run = options.run
    const { facts, run } = options
    this.#plan = plannedTasks(facts.plan)
    const seen = this.#seen
    const poke = () => void this.poke()
    this.#handovers = new Handovers({ ...options, seen })
    this.#time = new RunTime({ ...options, seen, poke })
    this.#drivers = new TurnDrivers({
      ...options,
      seen,
      plan: this.#plan,
      handOver: (workspace, to, reason) => {
        this.#handovers.want(workspace, to, reason)
        poke()
      },
      changed: this.#changed,
    })
    this.#crewHost = {
      ...options,
      seen,
      live: ({ id }) => this.#drivers.get(id)?.turn,
      merged: () => this.#showResult(),
    }
    this.#crew = new Crew(this.#crewHost, { handle: run.coordinator, plan: facts.plan })
  }

  get view(): RunView {
    return runView(this.#run.id, this.#seen, this.#live)
  }

  get seen(): RunProjection {
    return this.#seen
  }

  /** All of the trail was read once. Before that, what was seen is the past. */
  get knows(): boolean {
    return this.#knows
  }

  /** What turns had used that were ended before they could record it. */
  get cutOff(): CutOff {
    return this.#drivers.cutOff
  }

  /** Resolves when nobody follows the run any more: it is over and its turns have ended, or the node stops. */
  get finished(): Promise<void> {
    return this.#done
  }

  get folders(): RunFolders {
    return this.#options.folders
  }

  /** For acts that people ask the coordinator for. */
  get coordinator(): RunHandle['coordinator'] {
    return this.#run.coordinator
  }

  readonly #live: Live = {
    activity: workspace => this.#drivers.get(workspace)?.activity,
    turn: workspace => this.#drivers.get(workspace)?.turn,
    result: () => this.#result,
  }

  driver(workspace: WorkspaceId): TurnDriver | undefined {
    return this.#drivers.get(workspace)
  }

  /** Puts another agent in the place of a workspace's own; answers when that is done. */
  async migrate(workspace: SeenWorkspace, to: string, reason: string): Promise<Result<{ to: string }>> {
    const moved = await this.#handovers.migrate(workspace, to, reason)
    await this.poke()
    return moved
  }

  /** W-MIG-05 step 3: the processes of the old agent are gone before the new one is bound. What they left is put back. */
  async prepare(workspace: WorkspaceId): Promise<void> {
    await this.#drivers.get(workspace)?.stop()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly #changed = (): void => {
    for (const listener of this.#listeners) listener()
  }

  /** Resolves when it knows what the trail says. */
  async start(): Promise<void> {
    try {
      await this.#catchUp()
    } catch (cause) {
      // It is read when the machine lets it be.
      if (!this.#options.machine.report(cause)) throw cause
    }
    this.#done = this.#follow().catch(cause => {
      const error = asParleyError(cause)
      this.#options.log('error', `the run ${this.#run.id} is not followed any more: ${error.message}`, {
        error,
      })
    })
  }

  /** Ends turns and follows no longer; the run itself stays as it is. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#changed()
    await this.#drivers.stop()
    await this.#done
    await this.#stepping
    this.#time.cancel()
    this.#again?.()
  }

  /** Looks what is next now; resolves when that is done. */
  poke(): Promise<void> {
    this.#stepping = this.#stepping.then(() => this.#tryStep())
    return this.#stepping
  }

  /** Every commit is a reason to look what is next. */
  async #follow(): Promise<void> {
    const quiet = AbortSignal.any([this.#stop.signal, this.#over.signal])
    while (!quiet.aborted) {
      try {
        await this.poke()
        for await (const _page of this.#run.watch({ after: this.#seen.cursor }, quiet)) await this.poke()
      } catch (cause) {
        if (this.#options.machine.report(cause) && (await this.#options.machine.sound(quiet))) continue
        this.#options.log(
          'warn',
          `the run ${this.#run.id} cannot be followed: ${asParleyError(cause).message}`,
        )
        await pause(this.#options.clock, coordinatorDefaults.stepRetries[0], quiet)
      }
    }
    if (this.#over.signal.aborted) await this.#finish()
  }

  /** The trail or git may be away for a while. A run that cannot go on for longer is ended, so that nobody waits for it for ever. */
  async #tryStep(): Promise<void> {
    if (this.#stop.signal.aborted) return
    try {
      await this.#catchUp()
      if (this.#options.machine.held) this.#goOnWhenSound()
      else {
        // What a step has done is a reason to look again.
        do await this.#step()
        while (await this.#catchUp())
        this.#troubles = 0
        this.#faults = 0
      }
    } catch (cause) {
      await this.#troubled(cause)
    }
    if (this.#seen.over) this.#over.abort()
    this.#changed()
  }

  async #troubled(cause: unknown): Promise<void> {
    const { machine, folders } = this.#options
    const { code, message } = asParleyError(cause)
    if (this.#faults < machineLimits.faultsInARow || isOfTrail(code)) {
      if (await machine.blame(cause, folders.disks)) {
        this.#faults++
        this.#goOnWhenSound()
        return
      }
    }
    this.#options.log('error', `the run ${this.#run.id} cannot go on: ${message}`, {
      troubles: ++this.#troubles,
    })
    const wait = coordinatorDefaults.stepRetries[this.#troubles - 1]
    if (wait !== undefined || !(await this.#run.stop()).ok)
      this.#tryAgain(wait ?? coordinatorDefaults.stepRetries.at(-1)!)
  }

  /** A fault of the machine ends no run, however long it lasts. */
  #goOnWhenSound(): void {
    if (this.#waits) return
    this.#waits = true
    void this.#options.machine.sound(this.#stop.signal).then(sound => {
      this.#waits = false
      if (sound) void this.poke()
    })
  }

  #tryAgain(milliseconds: number): void {
    this.#again?.()
    this.#again = this.#options.clock.after(milliseconds, () => void this.poke(), { background: true })
  }

  /** What is decided next sees everything that was done before. True if there was something new. */
  async #catchUp(): Promise<boolean> {
    const before = this.#seen.cursor
    const load = async (id: Parameters<RunHandle['object']>[0]) => unwrap(await this.#run.object(id))?.value
    for (;;) {
      const page = unwrap(await this.#options.entries(this.#seen.cursor))
      for (const entry of page.entries) await this.#seen.apply(entry, load)
      if (!page.more) break
    }
    this.#knows = true
    // A run that is over has left memory: reading its state would replay it.
    if (this.#seen.over) return this.#seen.cursor > before
    await this.#run.read(({ workspaces }) => {
      for (const seen of this.#seen.workspaces.values()) {
        const meter = workspaces.get(seen.id)?.meter
        if (meter) seen.metered = { tokens: meter.tokens, cost: meter.cost }
      }
    })
    return this.#seen.cursor > before
  }

  async #step(): Promise<void> {
    const { root } = this.#seen
    if (!root || this.#seen.over) return
    if (await this.#time.endLate(root)) return
    if (!(await this.#hasIntent(root))) return
    await this.#answerGates()
    if (await this.#time.endInTime()) return
    await this.#handovers.step()
    await this.#catchUp()
    this.#drivers.update()
    for (const { id, facts, state, parent } of this.#seen.workspaces.values())
      if (facts && state === 'idle') await ask(this.#run.bind(id, 'worker', parent ?? root.id))
    await this.#crew.step()
    await this.#leadTeams()
    await this.#close()
  }

  /** Work begins with the wish of a person in the root's inbox (DESIGN, Runs); a stop may have come before it got there. */
  async #hasIntent(root: SeenWorkspace): Promise<boolean> {
    const { coordinator } = this.#run
    if (root.state === 'idle') {
      await ask(coordinator.started())
      return false
    }
    if (!this.#seen.controls.some(({ kind }) => kind === 'intent')) {
      const payload = controlPayload({ parley: 'intent', text: this.#options.facts.intent })
      await ask(this.#options.principal.inject(this.#run.id, { to: root.id, type: 'directive', payload }))
      return false
    }
    // What people say is on the trail, and the projection knows it; the inbox is only emptied.
    return emptyInbox(coordinator)
  }

  /**
   * The tasks of the plan are approved under the name of whoever asked for the run with their approval; what is planned later is theirs to
   * answer. What nobody answered in time falls to the coordinator.
   */
  async #answerGates(): Promise<void> {
    const { facts, principal, release } = this.#options
    for (const { gate, action } of this.#seen.highway.takeEnds()) {
      const { paused } = gate.record
      if (paused.type !== 'workspace_create' || action !== 'reject') continue
      const { context } = paused.draft as { readonly context?: Partial<WorkspaceFacts> }
      if (context?.agent !== undefined) release(context.agent)
    }
    for (const gate of this.#seen.highway.gates.values()) {
      if (gate.handedOver !== undefined) {
        await ask(this.#run.coordinator.answerGate(gate.id, 'approve'))
        continue
      }
      if (gate.type !== 'task_approval' || facts.approval !== 'given' || this.#answered.has(gate.id)) continue
      if (!isOfPlan(this.#seen, gate)) continue
      this.#answered.add(gate.id)
      const approved = await principal.approve(this.#run.id, gate.id, 'approved with the request')
      if (!approved.ok)
        this.#options.log('warn', `${principal.id} cannot approve ${gate.id}: ${approved.error.message}`)
    }
  }

  async #leadTeams(): Promise<void> {
    for (const workspace of this.#seen.workspaces.values()) {
      if (workspace.facts?.kind !== 'team' || workspace.state !== 'active') continue
      const planned = this.#plan.get(workspace.facts.task)
      if (planned?.plan) await leadTeam(this.#crewHost, workspace, workspace.facts, planned)
    }
  }

  async #showResult(): Promise<void> {
    const { folders } = this.#options
    this.#result = await resultAt(folders, await folders.head())
  }

  /** When nothing is left to be done: the folders first, since the run cannot be asked to mend them afterwards. */
  async #close(): Promise<void> {
    const open = [...this.#seen.workspaces.values()].some(
      each => each !== this.#seen.root && each.ended === undefined,
    )
    if (!this.#crew.tasks.settled || open) return
    await this.#settleFolders()
    await ask(this.#run.close())
  }

  async #settleFolders(): Promise<void> {
    const { folders, log, machine } = this.#options
    await this.#showResult()
    const finished = await folders.finish()
    if (!finished.ok) {
      if (this.#faults < machineLimits.faultsInARow && (await machine.blame(finished.error, folders.disks)))
        throw finished.error
      log('error', `the result of ${this.#run.id} could not be put in its place: ${finished.error.message}`)
      return
    }
    this.#result = placed(this.#result!, finished.value)
  }

  async #tidy(): Promise<Result<void>> {
    try {
      if (this.#seen.root?.state === 'failed') await this.#settleFolders()
      await this.#options.folders.clean()
      return ok(undefined)
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

  /** The run has ended, by itself or because somebody ended it. */
  async #finish(): Promise<void> {
    this.#time.cancel()
    await this.#drivers.end()
    const { folders, machine, log } = this.#options
    const tidied = await machine.through(() => this.#tidy(), folders.disks, this.#stop.signal)
    if (!tidied.ok) log('warn', `the folders of ${this.#run.id} were not cleaned up: ${tidied.error.message}`)
    this.#options.onEnd(tidied.ok)
    this.#changed()
  }
}
