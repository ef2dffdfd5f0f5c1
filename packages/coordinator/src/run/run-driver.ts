// The coordinating agent of one run. After every change on the trail it takes the next steps: answer gates, let
// integrators work (integrator.ts), end the run. It keeps no state, so a restart simply continues.
import { asParleyError, err, type GateId, ok, type Result, type WorkspaceId } from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import { ask, emptyInbox } from '../ask.ts'
import type { Folders } from '../folder/folders.ts'
import { keptCommits } from '../merge/salvaging.ts'
import { plannedFor } from '../plan/approved-plan.ts'
import { driveDelegate } from '../plan/delegate.ts'
import { Integrator, type IntegratorHost } from '../plan/integrator.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import { type RunProjection, waitsForPerson } from '../projection/run-projection.ts'
import type { TurnDriver } from '../turn/turn-driver.ts'
import { TurnDrivers } from '../turn/turn-drivers.ts'
import { gateViews } from '../view/gate-view.ts'
import type { GateView } from '../view/people-view.ts'
import type { CutOff } from '../view/run-records.ts'
import { placed, resultAt } from '../view/run-result.ts'
import { type Live, runView } from '../view/to-view.ts'
import type { RunView } from '../view/view.ts'
import type { WorkspaceFacts } from './facts.ts'
import { Handovers } from './handover.ts'
import { intentMail } from './known-end.ts'
import { RunFollower } from './run-follower.ts'
import type { RunParts } from './run-parts.ts'
import { RunTime } from './run-time.ts'

export class RunDriver {
  readonly projection: RunProjection
  readonly #options: RunParts
  readonly #run: RunHandle
  readonly #follower: RunFollower
  readonly #drivers: TurnDrivers
  readonly #listeners = new Set<() => void>()
  readonly #stop = new AbortController()
  readonly #integratorHost: IntegratorHost
  readonly #integrator: Integrator
  readonly #handovers: Handovers
  readonly #time: RunTime
  /** Gates that were answered already; what was refused then is not asked again. */
  readonly #answered = new Set<GateId>()
  #result: RunView['result']

  constructor(options: RunParts) {
    this.#options = options
    this.#run = options.run
    const { facts, run } = options
    this.#follower = new RunFollower(options, {
      step: () => this.#step(),
      finish: () => this.#finish(),
      changed: () => this.#changed(),
      stopping: this.#stop.signal,
    })
    const { projection } = this.#follower
    this.projection = projection
    const work = { ...options, projection, changed: this.#changed, poke: () => void this.poke() }
    this.#handovers = new Handovers(work)
    this.#time = new RunTime(work, reason => this.endTurns(reason))
    this.#drivers = new TurnDrivers(work, (workspace, to, reason) => this.#handovers.want(workspace, to, reason))
    this.#integratorHost = {
      ...work,
      live: ({ id }) => this.#drivers.get(id)?.turn,
      merged: () => this.#showResult(),
    }
    this.#integrator = new Integrator(this.#integratorHost, { handle: run.coordinator, plan: facts.plan })
  }

  get view(): RunView {
    return runView(this.#run.id, this.projection, this.#live)
  }

  get gates(): readonly GateView[] {
    return gateViews(this.#run.id, this.projection, this.#live.asks)
  }

  get principal(): string {
    return this.#options.facts.principal
  }

  get waits(): boolean {
    return waitsForPerson(this.projection)
  }

  get knows(): boolean {
    return this.#follower.knows
  }

  /** What turns had used that were ended before they could record it. */
  get cutOff(): CutOff {
    return this.#drivers.cutOff
  }

  /** Resolves when nobody follows the run any more: it is over and its turns have ended, or the node stops. */
  get finished(): Promise<void> {
    return this.#follower.done
  }

  get folders(): Folders {
    return this.#options.folders
  }

  get coordinator(): RunHandle['coordinator'] {
    return this.#run.coordinator
  }

  readonly #live: Live = {
    activity: workspace => this.#drivers.get(workspace)?.activity,
    turn: workspace => this.#drivers.get(workspace)?.turn,
    asks: (workspace, question) => this.#drivers.get(workspace)?.asksUntil(question),
    result: () => this.#result,
  }

  driver(workspace: WorkspaceId): TurnDriver | undefined {
    return this.#drivers.get(workspace)
  }

  /** Before work is ended: what its turns used must be on record by then. */
  endTurns(reason: string, of?: WorkspaceId): Promise<void> {
    return this.#drivers.endTurns(reason, of)
  }

  async migrate(workspace: ProjectedWorkspace, to: string, reason: string): Promise<Result<{ to: string }>> {
    const moved = await this.#handovers.migrate(workspace, to, reason)
    await this.poke()
    return moved
  }

  /** W-MIG-05 step 3: ends the old agent's processes before the new one is bound, and puts back what they left. */
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

  start(): Promise<void> {
    return this.#follower.start()
  }

  /** Ends turns and follows no longer; the run itself stays as it is. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#changed()
    await this.#drivers.stop()
    await this.#follower.stop()
    this.#time.cancel()
  }

  poke(): Promise<void> {
    return this.#follower.poke()
  }

  async #step(): Promise<void> {
    const { root } = this.projection
    if (!root || this.projection.over) return
    if (await this.#time.endLate(root)) return
    if (!(await this.#hasIntent(root))) return
    await this.#answerGates()
    if (await this.#time.endInTime()) return
    await this.#handovers.step()
    await this.#follower.catchUp()
    this.#drivers.update()
    for (const { id, facts, state, parent } of this.projection.workspaces.values())
      if (facts && state === 'idle') await ask(this.#run.bind(id, 'worker', parent ?? root.id))
    await this.#integrator.step()
    await this.#leadTeams()
    await this.#close()
  }

  /** Work begins with a person's wish in the root's inbox (DESIGN, Runs), which a stop may have cut off. */
  async #hasIntent(root: ProjectedWorkspace): Promise<boolean> {
    const { coordinator } = this.#run
    if (root.state === 'idle') {
      await ask(coordinator.started())
      return false
    }
    if (!this.projection.controls.some(({ kind }) => kind === 'intent')) {
      const mail = intentMail(this.#options.facts.intent)
      await ask(this.#options.principal.inject(this.#run.id, { to: root.id, ...mail }))
      return false
    }
    // What people say is on the trail, and the projection knows it; the inbox is only emptied.
    return emptyInbox(coordinator)
  }

  /**
   * Approves the tasks of the plan under the name of whoever approved them with the request, and what nobody answered
   * in time and so fell to the coordinator.
   */
  async #answerGates(): Promise<void> {
    const { facts, approver, release } = this.#options
    for (const { gate, action } of this.projection.highway.takeEnds()) {
      const { paused } = gate.record
      if (paused.type !== 'workspace_create' || action !== 'reject') continue
      const { context } = paused.draft as { readonly context?: Partial<WorkspaceFacts> }
      if (context?.agent !== undefined) release(context.agent)
    }
    for (const gate of this.projection.highway.gates.values()) {
      if (gate.handedOver !== undefined) {
        await ask(this.#run.coordinator.answerGate(gate.id, 'approve'))
        continue
      }
      if (gate.type !== 'task_approval' || facts.approval !== 'given' || this.#answered.has(gate.id)) continue
      const planned = plannedFor(this.projection, gate)
      if (!planned || planned.approve) continue
      this.#answered.add(gate.id)
      const approved = await approver.approve(this.#run.id, gate.id, 'approved with the request')
      if (!approved.ok) this.#options.log('warn', `${approver.id} cannot approve ${gate.id}: ${approved.error.message}`)
    }
  }

  async #leadTeams(): Promise<void> {
    const { workspaces, plan } = this.projection
    for (const workspace of workspaces.values()) {
      if (workspace.facts?.kind !== 'team' || workspace.state !== 'active') continue
      const planned = plan.get(workspace.facts.task)
      if (planned?.plan) await driveDelegate(this.#integratorHost, workspace, workspace.facts, planned)
    }
  }

  async #showResult(): Promise<void> {
    const { folders } = this.#options
    this.#result = await resultAt(folders, await folders.head())
  }

  /** When nothing is left to be done: the folders first, since the run cannot be asked to mend them afterwards. */
  async #close(): Promise<void> {
    const open = [...this.projection.workspaces.values()].some(
      each => each !== this.projection.root && each.ended === undefined,
    )
    if (!this.#integrator.tasks.settled || open) return
    await this.#settleFolders()
    await ask(this.#run.close())
  }

  async #settleFolders(): Promise<void> {
    const { folders, log, machine } = this.#options
    await this.#showResult()
    const finished = await folders.finish()
    if (!finished.ok) {
      if (!this.#follower.isTired && (await machine.blame(finished.error, folders.disks))) throw finished.error
      log('error', `the result of ${this.#run.id} could not be put in its place: ${finished.error.message}`)
      return
    }
    this.#result = placed(this.#result, finished.value)
  }

  async #tidy(): Promise<Result<void>> {
    try {
      if (this.projection.root?.state === 'failed') await this.#settleFolders()
      await this.#options.folders.clean(keptCommits(this.projection))
      return ok(undefined)
    } catch (cause) {
      return err(asParleyError(cause))
    }
  }

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
