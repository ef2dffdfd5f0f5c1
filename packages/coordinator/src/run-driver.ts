// The coordinating agent of one run. It follows the run's trail and, after everything that happened, does what is next: answer what falls
// to it, let its crews work (crew.ts), end the run. Nothing is remembered elsewhere, so a restart simply goes on.
import { sumUsage } from '@parley/agents'
import {
  type AgentAdapter,
  asParleyError,
  type CancelTimer,
  type Clock,
  durationMs,
  type GateId,
  parseTimestamp,
  type Result,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { RunHandle, UserHandle } from '@parley/kernel'
import type { QueryPage } from '@parley/trail'
import { type CutOff, NOTHING_CUT_OFF } from './accounts.ts'
import { controlPayload } from './control.ts'
import { Crew, type CrewHost } from './crew.ts'
import type { RunFacts, WorkspaceFacts } from './facts.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { Handovers } from './handover.ts'
import { nameOf } from './identities.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { pause } from './pause.ts'
import { RunProjection, type SeenWorkspace } from './projection.ts'
import { Semaphore } from './semaphore.ts'
import { plannedTasks } from './spending.ts'
import type { PlannedTask, TeamAgent } from './team/team.ts'
import { leadTeam } from './team-lead.ts'
import { type Live, runView } from './to-view.ts'
import { TurnDriver, type TurnHost } from './turn-driver.ts'
import type { RunView } from './view.ts'
import { endingLeft, endingOf, windDown } from './winding-down.ts'

export interface RunDriverOptions {
  readonly run: RunHandle
  /** Whoever started the run. */
  readonly principal: UserHandle
  /** Durable entries behind a place on the trail. */
  readonly entries: (after: number) => Promise<Result<QueryPage>>
  readonly facts: RunFacts
  readonly folders: RunFolders
  readonly clock: Clock
  /** `agent`: what the run knows of the agent of this work. */
  readonly adapter: (facts: WorkspaceFacts, task: PlannedTask, agent: TeamAgent | undefined) => AgentAdapter
  readonly token: TurnHost['token']
  readonly environment: Readonly<Record<string, string>>
  /** Turns at once over all runs. */
  readonly turns: Semaphore
  /** `<agent>#<slot>`, with a slot that no live workspace has. */
  readonly identity: (agent: string) => string
  readonly release: (identity: string) => void
  readonly log: TurnHost['log']
  readonly heard: TurnHost['heard']
  /** The run is over. `tidy`: nothing of it is left to be cleaned up. */
  readonly onEnd: (tidy: boolean) => void
}

export class RunDriver {
  readonly #options: RunDriverOptions
  readonly #run: RunHandle
  readonly #seen = new RunProjection()
  readonly #plan: ReadonlyMap<string, PlannedTask>
  readonly #drivers = new Map<WorkspaceId, TurnDriver>()
  /** Drivers of workspaces that have ended, until their turns have too. */
  readonly #leaving = new Set<Promise<void>>()
  readonly #listeners = new Set<() => void>()
  readonly #stop = new AbortController()
  readonly #over = new AbortController()
  readonly #host: TurnHost
  readonly #crewHost: CrewHost
  readonly #crew: Crew
  readonly #handovers: Handovers
  readonly #slots: Semaphore
  readonly #agentSlots = new Map<string, Semaphore>()
  /** Gates that were answered already; what was refused then is not asked again. */
  readonly #answered = new Set<GateId>()
  #result: RunView['result']
  #cutOff = NOTHING_CUT_OFF
  #timer: CancelTimer | undefined
  /** Until its agents are asked to finish, and then until its end. */
  #grace: CancelTimer | undefined
  #again: CancelTimer | undefined
  #troubles = 0
  #late = false
  #stepping: Promise<void> = Promise.resolve()
  #done: Promise<void> = Promise.resolve()

  constructor(options: RunDriverOptions) {
    this.#options = options
    this.#run = options.run
    const { facts, run } = options
    this.#plan = plannedTasks(facts.plan)
    this.#slots = new Semaphore(facts.team.limits.concurrency)
    this.#host = {
      ...options,
      seen: this.#seen,
      adapter: (work, task) => options.adapter(work, task, this.#seen.agentConfig(nameOf(work.agent))),
      slot: (work, signal) => this.#slot(work, signal),
      handOver: (workspace, to, reason) => {
        this.#handovers.want(workspace, to, reason)
        void this.poke()
      },
      cutOff: usage => {
        const { turns, usage: before } = this.#cutOff
        this.#cutOff = { turns: turns + 1, usage: sumUsage(before, usage) }
      },
      changed: this.#changed,
    }
    this.#handovers = new Handovers({ ...options, seen: this.#seen })
    this.#crewHost = {
      ...options,
      seen: this.#seen,
      live: ({ id }) => this.#drivers.get(id)?.turn,
      ask: asked => this.#do(asked),
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

  /** What turns had used that were ended before they could record it. */
  get cutOff(): CutOff {
    return this.#cutOff
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
    await this.catchUp()
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
    await Promise.all([...[...this.#drivers.values()].map(driver => driver.stop()), ...this.#leaving])
    await this.#done
    await this.#stepping
    this.#timer?.()
    this.#grace?.()
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
      await this.catchUp()
      // What a step has done is a reason to look again.
      do await this.#step()
      while (await this.catchUp())
      this.#troubles = 0
    } catch (cause) {
      const { message } = asParleyError(cause)
      this.#options.log('error', `the run ${this.#run.id} cannot go on: ${message}`, {
        troubles: ++this.#troubles,
      })
      const wait = coordinatorDefaults.stepRetries[this.#troubles - 1]
      if (wait !== undefined || !(await this.#run.stop()).ok)
        this.#tryAgain(wait ?? coordinatorDefaults.stepRetries.at(-1)!)
    }
    if (this.#seen.over) this.#over.abort()
    this.#changed()
  }

  #tryAgain(milliseconds: number): void {
    this.#again?.()
    this.#again = this.#options.clock.after(milliseconds, () => void this.poke(), { background: true })
  }

  /** What is decided next sees everything that was done before. True if there was something new. */
  async catchUp(): Promise<boolean> {
    const before = this.#seen.cursor
    const load = async (id: Parameters<RunHandle['object']>[0]) => unwrap(await this.#run.object(id))?.value
    for (;;) {
      const page = unwrap(await this.#options.entries(this.#seen.cursor))
      for (const entry of page.entries) await this.#seen.apply(entry, load)
      if (!page.more) break
    }
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
    this.#limitTime(root)
    if (this.#late) {
      this.#options.log('warn', `the run ${this.#run.id} took longer than its limit and is ended`)
      unwrap(await this.#run.stop())
      return
    }
    if (!(await this.#hasIntent(root))) return
    await this.#answerGates()
    if (await this.#endInTime()) return
    await this.#handovers.step()
    await this.catchUp()
    this.#drive()
    this.#forgetEnded()
    for (const { id, facts, state, parent } of this.#seen.workspaces.values())
      if (facts && state === 'idle') await this.#do(this.#run.bind(id, 'worker', parent ?? root.id))
    await this.#crew.step()
    await this.#leadTeams()
    await this.#close()
  }

  /** Work begins with the wish of a person in the root's inbox (DESIGN, Runs); a stop may have come before it got there. */
  async #hasIntent(root: SeenWorkspace): Promise<boolean> {
    const { coordinator } = this.#run
    if (root.state === 'idle') {
      await this.#do(coordinator.started())
      return false
    }
    if (!this.#seen.controls.some(({ kind }) => kind === 'intent')) {
      const payload = controlPayload({ parley: 'intent', text: this.#options.facts.intent })
      await this.#do(
        this.#options.principal.inject(this.#run.id, { to: root.id, type: 'directive', payload }),
      )
      return false
    }
    // What people say is on the trail, and the projection knows it; the inbox is only emptied.
    for (;;) {
      const mail = await coordinator.consume()
      if (!(await this.#do(Promise.resolve(mail)))) return false
      if (mail.ok && mail.value === undefined) return true
    }
  }

  /** Whoever asked for the run with their approval answers each gate by itself; what nobody answered in time falls to the coordinator. */
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
        await this.#do(this.#run.coordinator.answerGate(gate.id, 'approve'))
        continue
      }
      if (gate.type !== 'task_approval' || facts.approval !== 'given' || this.#answered.has(gate.id)) continue
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

  #limitTime(root: SeenWorkspace): void {
    const { timeoutMs } = this.#options.facts.team.limits
    if (timeoutMs === undefined || this.#timer) return
    const { clock } = this.#options
    const left = timeoutMs - durationMs(parseTimestamp(root.created)!, clock.now())
    this.#timer = clock.after(
      Math.max(0, left),
      () => {
        this.#late = true
        void this.poke()
      },
      { background: true },
    )
  }

  /** Whether its time to finish is over. */
  async #endInTime(): Promise<boolean> {
    const ending = endingOf(this.#seen)
    if (!ending) return false
    const { untilTold, untilEnd } = endingLeft(ending, this.#run.now())
    if (untilEnd === 0) {
      unwrap(await this.#run.stop())
      return true
    }
    this.#grace?.()
    this.#grace = this.#options.clock.after(untilTold || untilEnd, () => void this.poke(), {
      background: true,
    })
    if (untilTold > 0) return false
    this.#seen.timeRunsOut = true
    await windDown(this.#seen, this.#run.coordinator, ending, untilEnd, asked => this.#do(asked))
    return false
  }

  /** Every workspace at work has somebody who takes its turns; a team's is this code itself. */
  #drive(): void {
    if (this.#stop.signal.aborted) return
    for (const seen of this.#seen.workspaces.values()) {
      if (!seen.facts || seen.facts.kind === 'team' || seen.ended !== undefined) continue
      // One whose agent was replaced has stopped, and stays until the new one is bound.
      if (this.#drivers.get(seen.id)?.facts.agent === seen.facts.agent) continue
      const task = this.#plan.get(seen.facts.task)
      if (!task) continue
      const driver = new TurnDriver(this.#host, seen.id, seen.facts, task)
      this.#drivers.set(seen.id, driver)
      driver.start()
    }
  }

  /** One of the agent's own places, one in the run, and one on this machine, in this order for all: nobody waits in a circle. */
  async #slot({ agent }: WorkspaceFacts, signal: AbortSignal): Promise<(() => void) | undefined> {
    const releases: (() => void)[] = []
    const release = () => {
      for (const each of releases.toReversed()) each()
    }
    for (const slots of [this.#slotsOf(agent), this.#slots, this.#options.turns]) {
      const one = await slots.acquire(signal)
      if (!one) {
        release()
        return undefined
      }
      releases.push(one)
    }
    return release
  }

  #slotsOf(identity: string): Semaphore {
    const name = nameOf(identity)
    const known = this.#agentSlots.get(name)
    if (known) return known
    const slots = new Semaphore(this.#seen.agentConfig(name)?.slots ?? Number.POSITIVE_INFINITY)
    this.#agentSlots.set(name, slots)
    return slots
  }

  #forgetEnded(): void {
    for (const [id, driver] of this.#drivers) {
      if (this.#seen.workspaces.get(id)?.ended === undefined) continue
      this.#drivers.delete(id)
      this.#options.release(driver.facts.agent)
      const leaving = this.#leave(id, driver).finally(() => this.#leaving.delete(leaving))
      this.#leaving.add(leaving)
    }
  }

  async #leave(id: WorkspaceId, driver: TurnDriver): Promise<void> {
    try {
      await driver.stop()
      await this.#options.folders.discard(id)
    } catch (cause) {
      this.#options.log('warn', `the folder of ${id} was not removed: ${asParleyError(cause).message}`)
    }
  }

  async #showResult(): Promise<void> {
    const { folders, facts } = this.#options
    const commit = await folders.head()
    const changes = await folders.changes(facts.project.base, commit)
    const files = changes.map(({ path }) => path).slice(0, coordinatorLimits.shownFiles)
    this.#result = { commit, base: facts.project.base, files }
  }

  /** When nothing is left to be done: the folders first, since the run cannot be asked to mend them afterwards. */
  async #close(): Promise<void> {
    const open = [...this.#seen.workspaces.values()].some(
      each => each !== this.#seen.root && each.ended === undefined,
    )
    if (!this.#crew.settled || open) return
    await this.#settleFolders()
    await this.#do(this.#run.close())
  }

  async #settleFolders(): Promise<void> {
    const { folders, log } = this.#options
    await this.#showResult()
    const finished = await folders.finish()
    if (!finished.ok) {
      log('error', `the result of ${this.#run.id} could not be put in its place: ${finished.error.message}`)
      return
    }
    const { branch, folder } = finished.value
    this.#result = {
      ...this.#result!,
      ...(branch !== undefined && { branch }),
      ...(folder !== undefined && { folder }),
    }
  }

  /** The run has ended, by itself or because somebody ended it. */
  async #finish(): Promise<void> {
    this.#timer?.()
    this.#grace?.()
    await Promise.all([...[...this.#drivers.values()].map(driver => driver.stop()), ...this.#leaving])
    for (const { facts } of this.#drivers.values()) this.#options.release(facts.agent)
    this.#drivers.clear()
    let tidy = false
    try {
      if (this.#seen.root?.state === 'failed') await this.#settleFolders()
      await this.#options.folders.clean()
      tidy = true
    } catch (cause) {
      this.#options.log(
        'warn',
        `the folders of ${this.#run.id} were not cleaned up: ${asParleyError(cause).message}`,
      )
    }
    this.#options.onEnd(tidy)
    this.#changed()
  }

  /** A refusal means that the state has moved on, or that a person is asked: the entry that says so brings the next step. */
  async #do(asked: Promise<Result<unknown>>): Promise<boolean> {
    const result = await asked
    if (result.ok) return true
    if (EXPECTED.has(result.error.code)) return false
    throw result.error
  }
}

const EXPECTED = new Set(['invalid_state', 'rejected', 'gated', 'containment'])
