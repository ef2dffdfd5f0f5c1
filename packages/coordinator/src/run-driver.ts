// The coordinating agent of one run. It follows the run's trail and, after everything that happened, does what is next: submit the plan,
// give tasks to agents, judge and integrate what they made, end the run. Nothing is remembered elsewhere, so a restart simply goes on.
import {
  type AgentAdapter,
  asParleyError,
  type CancelTimer,
  type Clock,
  durationMs,
  err,
  ok,
  ParleyError,
  parseTimestamp,
  type Result,
  type TaskId,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { RunHandle } from '@parley/kernel'
import type { QueryPage } from '@parley/trail'
import { evaluate } from './evaluation.ts'
import type { RunFacts, WorkFacts, WorkspaceFacts } from './facts.ts'
import type { RunFolders } from './folder/run-folders.ts'
import { nameOf } from './identities.ts'
import { coordinatorDefaults, coordinatorLimits } from './limits.ts'
import { pause } from './pause.ts'
import { RunProjection, type SeenTask, type SeenWorkspace } from './projection.ts'
import { Semaphore } from './semaphore.ts'
import { doerOf, type PlannedTask } from './team/team.ts'
import { failureText, isFinal, type Live, runView } from './to-view.ts'
import { TurnDriver, type TurnHost } from './turn-driver.ts'
import type { RunView } from './view.ts'

export interface RunDriverOptions {
  readonly run: RunHandle
  /** Durable entries behind a place on the trail. */
  readonly entries: (after: number) => Promise<Result<QueryPage>>
  readonly facts: RunFacts
  readonly folders: RunFolders
  readonly clock: Clock
  readonly adapter: (facts: WorkspaceFacts, task: PlannedTask) => AgentAdapter
  readonly token: TurnHost['token']
  readonly environment: Readonly<Record<string, string>>
  /** Turns at once over all runs. */
  readonly turns: Semaphore
  /** `<agent>#<slot>`, with a slot that no live workspace has. */
  readonly identity: (agent: string) => string
  readonly release: (identity: string) => void
  readonly log: TurnHost['log']
  /** The run is over. `tidy`: nothing of it is left to be cleaned up. */
  readonly onEnd: (tidy: boolean) => void
}

export class RunDriver {
  readonly #options: RunDriverOptions
  readonly #run: RunHandle
  readonly #seen = new RunProjection()
  readonly #drivers = new Map<WorkspaceId, TurnDriver>()
  readonly #listeners = new Set<() => void>()
  readonly #stop = new AbortController()
  readonly #over = new AbortController()
  readonly #host: TurnHost
  readonly #slots: Semaphore
  readonly #agentSlots = new Map<string, Semaphore>()
  /** Why a merge was not possible, until the next attempt has been told. */
  readonly #conflicts = new Map<WorkspaceId, string>()
  #approved: boolean
  #result: RunView['result']
  #timer: CancelTimer | undefined
  #again: CancelTimer | undefined
  #troubles = 0
  #late = false
  #stepping: Promise<void> = Promise.resolve()
  #done: Promise<void> = Promise.resolve()

  constructor(options: RunDriverOptions) {
    this.#options = options
    this.#run = options.run
    this.#approved = options.facts.approval === 'given'
    this.#slots = new Semaphore(options.facts.team.limits.concurrency)
    this.#host = { ...options, slot: (work, signal) => this.#slot(work, signal), changed: this.#changed }
  }

  get view(): RunView {
    return runView(this.#run.id, this.#seen, this.#live)
  }

  readonly #live: Live = {
    activity: workspace => this.#drivers.get(workspace)?.activity,
    turn: workspace => this.#drivers.get(workspace)?.turn,
    result: () => this.#result,
  }

  driver(workspace: WorkspaceId): TurnDriver | undefined {
    return this.#drivers.get(workspace)
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
    await this.#catchUp()
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
    await Promise.all([...this.#drivers.values()].map(driver => driver.stop()))
    await this.#done
    await this.#stepping
    this.#timer?.()
    this.#again?.()
  }

  /** Resolves when the plan is on the trail: from then on it is approved for good. */
  async approve(): Promise<Result<void>> {
    if (this.#approved || this.#seen.over)
      return err(new ParleyError('invalid_state', `The plan of ${this.#run.id} is decided already.`))
    this.#approved = true
    await this.#poke()
    if (this.#seen.tasks.size > 0) return ok(undefined)
    this.#approved = false
    return err(
      new ParleyError('trail_unavailable', 'The approval could not be recorded.', { retryable: true }),
    )
  }

  /** An answer for the agent of a task that waits for one: as mail, which starts its next turn. */
  async reply(task: string, text: string): Promise<Result<void>> {
    if (text.trim() === '') return err(new ParleyError('invalid_argument', 'A reply needs a text.'))
    const workspace = this.#seen.task(task)?.attempts.at(-1)
    if (workspace === undefined) return err(new ParleyError('not_found', `Nobody works on ${task}.`))
    const sent = await this.#run.coordinator.feedback(workspace, { format: 'text', content: text })
    return sent.ok ? ok(undefined) : sent
  }

  /** Every commit is a reason to look what is next. */
  async #follow(): Promise<void> {
    const quiet = AbortSignal.any([this.#stop.signal, this.#over.signal])
    while (!quiet.aborted) {
      try {
        await this.#poke()
        for await (const _page of this.#run.watch({ after: this.#seen.cursor }, quiet)) await this.#poke()
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

  #poke(): Promise<void> {
    this.#stepping = this.#stepping.then(() => this.#tryStep())
    return this.#stepping
  }

  /** The trail or git may be away for a while. A run that cannot go on for longer is ended, so that nobody waits for it for ever. */
  async #tryStep(): Promise<void> {
    if (this.#stop.signal.aborted) return
    try {
      await this.#catchUp()
      // What a step has done is a reason to look again.
      do await this.#step()
      while (await this.#catchUp())
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
    this.#again = this.#options.clock.after(milliseconds, () => void this.#poke(), { background: true })
  }

  /** What is decided next sees everything that was done before. True if there was something new. */
  async #catchUp(): Promise<boolean> {
    const before = this.#seen.cursor
    const load = async (id: Parameters<RunHandle['object']>[0]) => unwrap(await this.#run.object(id))?.value
    for (;;) {
      const page = unwrap(await this.#options.entries(this.#seen.cursor))
      for (const entry of page.entries) await this.#seen.apply(entry, load)
      if (!page.more) return this.#seen.cursor > before
    }
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
    if (root.state === 'idle') {
      unwrap(await this.#run.coordinator.started())
      return
    }
    if (this.#seen.tasks.size === 0) {
      if (this.#approved) await this.#submitPlan()
      return
    }
    this.#drive()
    this.#forgetEnded()
    for (const { id, facts, state } of this.#seen.workspaces.values())
      if (facts && state === 'idle') await this.#do(this.#run.bind(id, 'worker', root.id))
    for (const task of this.#seen.tasks.values()) await this.#advance(task)
    await this.#judgesDone()
    await this.#dispatch()
    await this.#close()
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
        void this.#poke()
      },
      { background: true },
    )
  }

  #planned(task: SeenTask): PlannedTask {
    return this.#options.facts.plan.find(({ id }) => id === task.name)!
  }

  async #submitPlan(): Promise<void> {
    const drafts = this.#options.facts.plan.map(task => ({
      key: task.id,
      name: task.id,
      description: task.prompt,
      depends_on: [...task.needs],
      priority: task.priority,
    }))
    unwrap(await this.#run.coordinator.submitGraph(drafts))
  }

  /** Every workspace at work has somebody who takes its turns. */
  #drive(): void {
    if (this.#stop.signal.aborted) return
    for (const seen of this.#seen.workspaces.values()) {
      if (!seen.facts || seen.ended !== undefined || this.#drivers.has(seen.id)) continue
      const task = this.#options.facts.plan.find(({ id }) => id === seen.facts!.task)
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
    const slots = new Semaphore(this.#options.facts.team.agents[name]?.slots ?? Number.POSITIVE_INFINITY)
    this.#agentSlots.set(name, slots)
    return slots
  }

  #forgetEnded(): void {
    for (const [id, driver] of this.#drivers) {
      if (this.#seen.workspaces.get(id)?.ended === undefined) continue
      this.#drivers.delete(id)
      this.#options.release(driver.facts.agent)
      void driver
        .stop()
        .then(() => this.#options.folders.discard(id))
        .catch(cause =>
          this.#options.log('warn', `the folder of ${id} was not removed: ${asParleyError(cause).message}`),
        )
    }
  }

  /** What follows from where a task stands. */
  async #advance(task: SeenTask): Promise<void> {
    const planned = this.#planned(task)
    const newest = this.#seen.workspaces.get(task.attempts.at(-1)!)
    if (task.status === 'failed') {
      if (isFinal(task, planned, newest)) await this.#cancelDependents(task)
      else await this.#do(this.#run.coordinator.retryTask(task.id))
      return
    }
    if (task.status === 'cancelled') return this.#cancelDependents(task)
    if (task.status !== 'completed' || newest?.state !== 'integrating') return
    const next = evaluate(newest, planned, this.#seen)
    switch (next.do) {
      case 'wait':
        return
      case 'ask':
        return this.#ask(next.judge, newest, planned)
      case 'accept':
        return this.#integrate(newest, planned)
      case 'revise':
      case 'reject':
        await this.#do(this.#run.coordinator.decideIntegration(newest.id, next.do))
    }
  }

  async #ask(kind: 'check' | 'review', work: SeenWorkspace, task: PlannedTask): Promise<void> {
    const commit = work.checkpoints.findLast(each => each.final)?.commit ?? work.facts!.commit
    const agent = kind === 'check' ? `check:${task.id}` : this.#options.identity(task.review!.by)
    const facts: WorkspaceFacts = { kind, task: task.id, commit, agent, of: work.id }
    await this.#create(facts, {
      role: 'worker',
      resources: [],
      directive: { format: 'text', content: kind === 'check' ? task.check!.join(' ') : 'Review this work.' },
    })
  }

  /** Where it is merged twice, the second time changes nothing; so the trail may come after. */
  async #integrate(work: SeenWorkspace, task: PlannedTask): Promise<void> {
    const { coordinator } = this.#run
    const commit = work.checkpoints.findLast(each => each.final)?.commit
    if (commit !== undefined) {
      const merged = await this.#options.folders.integrate(commit, {
        message: `${task.title}\n\nParley-Task: ${task.id}`,
      })
      // The step is tried again; the work is not to blame.
      const answer = unwrap(merged)
      if ('conflicts' in answer) {
        const files = answer.conflicts.join(', ')
        this.#conflicts.set(
          work.id,
          `The work conflicts with what was integrated meanwhile, in: ${files}. Do it again on the present state.`,
        )
        await this.#do(coordinator.decideIntegration(work.id, 'revise'))
        return
      }
      await this.#showResult()
    }
    await this.#do(coordinator.accept(work.id))
  }

  async #showResult(): Promise<void> {
    const { folders, facts } = this.#options
    const commit = await folders.head()
    const changes = await folders.changes(facts.project.base, commit)
    const files = changes.map(({ path }) => path).slice(0, coordinatorLimits.shownFiles)
    this.#result = { commit, base: facts.project.base, files }
  }

  /** A judge has said what it had to say, and has nothing to be merged. */
  async #judgesDone(): Promise<void> {
    for (const { id, facts, state } of this.#seen.workspaces.values())
      if (facts && facts.kind !== 'work' && state === 'integrating')
        await this.#do(this.#run.coordinator.accept(id))
  }

  async #cancelDependents(task: SeenTask): Promise<void> {
    for (const each of this.#seen.tasks.values())
      if (each.dependsOn.includes(task.id) && (each.status === 'pending' || each.status === 'draft')) {
        await this.#do(this.#run.coordinator.cancelTask(each.id))
        await this.#cancelDependents(each)
      }
  }

  /** The most urgent first; as many as the limit allows. */
  async #dispatch(): Promise<void> {
    const { concurrency } = this.#options.facts.team.limits
    const open = [...this.#seen.workspaces.values()].filter(
      ({ facts, state }) => facts?.kind === 'work' && (state === 'idle' || state === 'active'),
    )
    let free = concurrency - open.length
    const order = ['urgent', 'elevated', 'normal']
    const ready = [...this.#seen.tasks.values()]
      .filter(task => task.status === 'pending' && task.dependsOn.every(id => this.#isIntegrated(id)))
      .toSorted(
        (one, other) =>
          order.indexOf(this.#planned(one).priority) - order.indexOf(this.#planned(other).priority),
      )
    const busy = new Map<string, number>()
    const count = (agent: string) => busy.set(agent, (busy.get(agent) ?? 0) + 1)
    for (const { facts } of open) count(nameOf(facts!.agent))
    for (const task of ready) {
      const agent = doerOf(this.#planned(task))
      // Whoever would only wait for its agent takes no place from others.
      if ((busy.get(agent) ?? 0) >= (this.#options.facts.team.agents[agent]?.slots ?? 1)) continue
      if (free-- <= 0) return
      count(agent)
      await this.#give(task)
    }
  }

  #isIntegrated(id: TaskId): boolean {
    return this.#seen.tasks.get(id)?.status === 'integrated'
  }

  async #give(task: SeenTask): Promise<void> {
    const planned = this.#planned(task)
    const attempts = task.attempts.map(id => this.#seen.workspaces.get(id)!)
    const facts: WorkFacts = {
      kind: 'work',
      task: task.name,
      commit: await this.#options.folders.head(),
      agent: this.#options.identity(doerOf(planned)),
      attempt: attempts.length + 1,
      results: task.dependsOn.map(id => this.#resultOf(this.#seen.tasks.get(id)!)),
      feedback: this.#feedback(attempts),
    }
    await this.#create(facts, { role: 'worker', task: task.id, resources: [...(planned.paths ?? ['**'])] })
  }

  /** What the last attempt was told, and why it came to nothing. */
  #feedback(attempts: readonly SeenWorkspace[]): readonly string[] {
    const last = attempts.at(-1)
    if (last?.facts?.kind !== 'work') return []
    return [...last.facts.feedback, this.#conflicts.get(last.id) ?? failureText(last, this.#seen)]
  }

  #resultOf(task: SeenTask): { readonly title: string; readonly text: string } {
    const work = this.#seen.workspaces.get(task.attempts.at(-1)!)
    const text = work?.checkpoints.findLast(each => each.final)?.text ?? ''
    return { title: this.#planned(task).title, text: text.slice(-coordinatorLimits.textLength) }
  }

  async #create(
    facts: WorkspaceFacts,
    draft: Parameters<RunHandle['coordinator']['createWorkspace']>[0],
  ): Promise<void> {
    const context = { ...facts } as Record<string, unknown>
    const created = await this.#run.coordinator.createWorkspace({ ...draft, context })
    if (created.ok) return
    // A workspace that exists all the same keeps its agent's name; the next step brings it to work.
    if (created.error.details.workspace === undefined) this.#options.release(facts.agent)
    await this.#do(Promise.resolve(created))
  }

  /** When nothing is left to be done: the folders first, since the run cannot be asked to mend them afterwards. */
  async #close(): Promise<void> {
    const tasks = [...this.#seen.tasks.values()]
    const settled = tasks.every(
      task =>
        task.status === 'integrated' ||
        task.status === 'cancelled' ||
        (task.status === 'failed' &&
          isFinal(task, this.#planned(task), this.#seen.workspaces.get(task.attempts.at(-1)!))),
    )
    const open = [...this.#seen.workspaces.values()].some(
      each => each !== this.#seen.root && each.ended === undefined,
    )
    if (!settled || open) return
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
    await Promise.all([...this.#drivers.values()].map(driver => driver.stop()))
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

  /** A refusal means that the state has moved on: the entry that says so brings the next step. Anything else is thrown. */
  async #do(asked: Promise<Result<unknown>>): Promise<void> {
    const result = await asked
    if (result.ok || result.error.code === 'invalid_state' || result.error.code === 'rejected') return
    throw result.error
  }
}
