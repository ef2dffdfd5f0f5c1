// A run with a diligent coordinator and honest agents, and no human: whoever could be asked stays silent until told
// otherwise. Each round everybody does what is to be done next; what needs a human waits, and only that.
import type { GateId, SignalId, TaskId } from '@parley/core'
import type { AgentHandle, RunHandle } from '@parley/kernel'
import type { RunModel } from './model/model.ts'
import { isOver, type TaskModel, type WorkspaceModel } from './model/records.ts'
import { Dice } from './random.ts'
import { EVERYONE, SECRET } from './world/config.ts'
import { World } from './world/world.ts'

/** What an agent will do, drawn when it is first seen. */
interface Plan {
  work: number
  escalates: boolean
  delegates: number
  readonly fails: boolean
  readonly doomed: boolean
  readonly strategy: 'direct' | 'layered' | 'evaluated'
  readonly resolution: 'coordinator_resolve' | 'escalate' | 'agent_rework'
  helped: number
}

export interface UnattendedOptions {
  readonly highway: unknown
  /** Milliseconds after which a workspace fails; undefined leaves it the default of a day. */
  readonly timeout?: number
}

export class Unattended {
  readonly world: World
  /** From now on somebody answers everything. */
  attended = false
  readonly #dice: Dice
  readonly #options: UnattendedOptions
  readonly #plans = new Map<string, Plan>()
  readonly #silent: boolean
  #rounds = 0
  #run = ''

  constructor(seed: number, options: UnattendedOptions) {
    this.#dice = new Dice(seed ^ 0xa10ad)
    this.#options = options
    this.#silent = this.#dice.chance(0.5)
    const runtime = { redeliveryBase: 1000, commitRetries: [], users: EVERYONE, secret: SECRET }
    this.world = new World(seed, { config: { people: 'anyone', trouble: 0, signals: false, runtime } })
  }

  get run(): RunModel {
    return this.world.watch.model(this.#run)
  }

  get handle(): RunHandle {
    return this.world.runs.get(this.#run)!
  }

  async begin(): Promise<void> {
    const { world } = this
    await world.open()
    const started = await world.runtime.start({ owner: 'ux', highway: this.#options.highway as never })
    if (!started.ok) throw started.error
    this.#run = started.value.id
    world.runs.set(this.#run, started.value)
    await started.value.coordinator.started()
    await started.value.coordinator.submitGraph(this.#graph() as never)
    await world.settle()
  }

  #graph(): unknown[] {
    const dice = this.#dice
    return Array.from({ length: dice.between(1, 4) }, (_, index) => ({
      key: `t${index}`,
      name: `task ${index}`,
      description: 'something to do',
      ...(index > 0 && dice.chance(0.5) && { depends_on: [`t${dice.int(index)}`] }),
    }))
  }

  /** Everybody does what comes next; then some time passes. */
  async round(): Promise<void> {
    const { world, run } = this
    this.#rounds++
    const begun = world.begin()
    const root = world.agents.get(run.root!.id)
    if (root && !run.ended) {
      for (const workspace of [...run.workspaces.values()]) if (workspace !== run.root) this.#act(workspace)
      for (const task of [...run.tasks.values()]) this.#serve(root, task)
      this.#decide(root)
      if (this.attended) this.#answer()
      if (this.#finished) world.launch(() => this.handle.close())
    }
    await world.settle()
    world.end(begun)
    world.life.clock.advance(this.#dice.pick([500, 2000, 5000]))
    await world.settle()
    world.end(world.begin())
  }

  /** Rounds until the run has ended, or nothing has happened for a while; whether it has ended. */
  async until(most: number): Promise<boolean> {
    let quiet = 0
    for (let rounds = 0; rounds < most && quiet < 8; rounds++) {
      if (this.run.ended) return true
      const { seq } = this.run
      await this.round()
      // A warning of silence is no progress, but nothing here asks for one.
      quiet = this.run.seq === seq && this.#options.timeout === undefined ? quiet + 1 : 0
    }
    return this.run.ended
  }

  get #finished(): boolean {
    const { run } = this
    const open = [...run.workspaces.values()].some(each => each !== run.root && !isOver(each.status))
    return !open && [...run.tasks.values()].every(({ status }) => ['integrated', 'cancelled'].includes(status))
  }

  #plan({ id, parent }: WorkspaceModel): Plan {
    let plan = this.#plans.get(id)
    if (!plan) {
      const dice = this.#dice
      const top = this.run.isRoot(parent ?? '')
      plan = {
        work: dice.int(3),
        escalates: dice.chance(0.25),
        delegates: top && dice.chance(0.4) ? dice.between(1, 2) : 0,
        fails: dice.chance(0.1),
        doomed: dice.chance(0.1),
        strategy: dice.pick(['direct', 'layered', 'evaluated'] as const),
        resolution: dice.pick(['coordinator_resolve', 'coordinator_resolve', 'escalate', 'agent_rework'] as const),
        helped: 0,
      }
      this.#plans.set(id, plan)
    }
    return plan
  }

  #act(workspace: WorkspaceModel): void {
    const { world, run } = this
    const agent = world.agents.get(workspace.id)
    const parent = world.agents.get(workspace.parent ?? '')
    if (!agent || !parent) return
    const plan = this.#plan(workspace)
    if (plan.doomed && this.#rounds > 4 && !isOver(workspace.status) && !this.#waits(workspace.id))
      world.launch(() => (world.agents.get(run.root!.id) ?? parent).abort(agent.workspace))
    const waits = this.#waits(workspace.id)
    const [conflict] = workspace.conflicts
    // A directive that was rejected is given again.
    if (workspace.status === 'idle' && workspace.channels.size === 0 && plan.helped++ % 3 === 2)
      world.launch(() => parent.directive(agent.workspace, PART))
    if (workspace.status === 'active') this.#work(workspace, agent, plan)
    if (workspace.status === 'blocked') this.#unblock(workspace, agent, parent, plan)
    if (workspace.status === 'integrating' && !waits)
      world.launch(() => parent.accept(agent.workspace, { strategy: plan.strategy }))
    if (workspace.status === 'conflicted' && conflict !== undefined && !waits)
      world.launch(() => parent.resolveConflict(agent.workspace, conflict, plan.resolution, 'keep both'))
  }

  #work(workspace: WorkspaceModel, agent: AgentHandle, plan: Plan): void {
    const { world, run } = this
    if (workspace.inbox.length > 0) world.launch(() => agent.consume())
    else if (plan.escalates) {
      plan.escalates = false
      world.launch(() => agent.escalate('how shall I do this?'))
      world.launch(() => agent.blocked('waits for an answer'))
    } else if (plan.delegates > 0 && workspace.delegate) {
      plan.delegates--
      const draft = { role: 'worker', resources: ['**'], directive: PART, ...this.#timeout }
      world.launch(() => agent.createWorkspace(draft as never))
    } else if (plan.work-- > 0) world.launch(() => agent.started())
    else if (plan.fails) world.launch(() => agent.failed('it cannot be done'))
    else if (workspace.children.every(id => isOver(run.workspace(id).status))) this.#handIn(workspace, agent)
  }

  #handIn(workspace: WorkspaceModel, agent: AgentHandle): void {
    const { world } = this
    const files = ['a.txt', 'b.txt'].filter(() => this.#dice.chance(0.6))
    const draft = {
      type: 'artifact',
      payload: { content: 'done', files_changed: files },
      intent: 'hand it in',
      parent: workspace.register.at(-1) ?? null,
      status: 'final',
      confidence: 'high',
    }
    world.launch(() => agent.started())
    world.launch(() => agent.checkpoint(draft as never))
    world.launch(() => agent.complete())
  }

  /**
   * An answer, or the fallback's go-ahead, lets it go on; what fell to the coordinator is answered by the coordinator.
   */
  #unblock(workspace: WorkspaceModel, agent: AgentHandle, parent: AgentHandle, plan: Plan): void {
    const { world, run } = this
    if (workspace.inbox.length > 0) {
      world.launch(() => agent.consume())
      world.launch(() => agent.started())
      return
    }
    const asked = [...run.escalations.values()].some(each => each.workspace === workspace.id)
    if (asked || workspace.channels.size > 0 || plan.helped++ % 3 !== 0) return
    world.launch(() => parent.feedback(agent.workspace, { format: 'markdown', content: 'go on' }))
  }

  #serve(root: AgentHandle, task: TaskModel): void {
    const { world, run } = this
    const id = task.id as TaskId
    const before = task.dependsOn.map(each => run.tasks.get(each)?.status ?? '')
    const hopeless = before.includes('cancelled')
    const again = task.status === 'failed' && task.history.length < 2
    if (again) world.launch(() => root.retryTask(id))
    else if (task.status === 'failed' || (hopeless && ['draft', 'pending'].includes(task.status)))
      world.launch(() => root.cancelTask(id))
    const ready = before.every(each => each === 'completed' || each === 'integrated')
    if (task.status !== 'pending' || hopeless || !ready || this.#waitsFor(task.id)) return
    const draft = {
      role: 'worker',
      resources: ['**'],
      task: id,
      directive: PART,
      delegate: this.#dice.chance(0.5),
      ...this.#timeout,
    }
    world.launch(async () => {
      const created = await root.createWorkspace(draft as never)
      // What nobody allows is given up.
      if (!created.ok && created.error.details.reason === 'gate_rejected_by_human') await root.cancelTask(id)
    })
  }

  /** What fell to the coordinator; half of them never decide. */
  #decide(root: AgentHandle): void {
    if (this.#silent) return
    for (const gate of this.run.gates.values()) {
      if (gate.handedOver === null) continue
      const action = this.#dice.chance(0.7) ? 'approve' : 'reject'
      this.world.launch(() => root.answerGate(gate.id as GateId, action))
    }
  }

  /** Somebody is there at last. */
  #answer(): void {
    const { world, run } = this
    const user = world.runtime.user('ux')
    for (const { id } of run.gates.values()) {
      const approves = this.#dice.chance(0.8)
      world.launch(() =>
        approves ? user.approve(run.id as never, id as GateId) : user.reject(run.id as never, id as GateId),
      )
    }
    for (const { signal, answer } of run.escalations.values())
      if (answer === null)
        world.launch(() =>
          user.answerEscalation(run.id as never, signal as SignalId, { type: 'envelope', payload: PART }),
        )
  }

  get #timeout(): object {
    const { timeout } = this.#options
    return timeout === undefined ? {} : { timeout }
  }

  #waits(workspace: string): boolean {
    return [...this.run.gates.values()].some(
      gate => gate.workspace === workspace && gate.type !== 'envelope_delivery' && gate.handedOver === null,
    )
  }

  #waitsFor(task: string): boolean {
    return [...this.run.gates.values()].some(
      gate => gate.type === 'workspace_create' && gate.task === task && gate.handedOver === null,
    )
  }

  /**
   * Why nothing goes on, for everything that is not done: each must wait for a human. The first that does not is named.
   */
  unexplained(): string | undefined {
    const { run } = this
    const gates = [...run.gates.values()]
    const about = (type: string, matches: (gate: (typeof gates)[number]) => boolean) =>
      gates.some(gate => gate.type === type && matches(gate))
    for (const { id, status, dependsOn } of run.tasks.values()) {
      const ready = dependsOn.every(each => ['completed', 'integrated'].includes(run.tasks.get(each)?.status ?? ''))
      if (status === 'draft' && !about('task_approval', gate => gate.task === id)) return `${id} is a draft`
      if (status === 'pending' && ready && !about('workspace_create', gate => gate.task === id))
        return `${id} is ready and nobody works on it`
      if (status === 'failed') return `${id} failed and nobody cares`
    }
    for (const { id, status, channels, parent, children } of run.workspaces.values()) {
      if (parent === null || isOver(status)) continue
      const mail = [...channels.values()].flat()
      const held = mail.some(each => about('envelope_delivery', gate => gate.subject === each))
      const asks = [...run.escalations.values()].some(each => each.workspace === id)
      const below = children.some(each => !isOver(run.workspace(each).status))
      const creates = about('workspace_create', gate => gate.workspace === id)
      const waits =
        (status === 'idle' && held) ||
        (status === 'blocked' && (asks || held)) ||
        (status === 'active' && (below || creates)) ||
        // What the coordinator wants ended it does not merge meanwhile.
        (status === 'integrating' &&
          (['integration', 'workspace_abort'].some(type => about(type, gate => gate.workspace === id)) ||
            queued(run, id))) ||
        (status === 'conflicted' && about('conflict_resolution', gate => gate.workspace === id))
      if (!waits) return `${id} is ${status}`
    }
    return undefined
  }
}

const PART = { format: 'markdown', content: 'a part of the work' }

/** Behind another integration into the same target. */
function queued(run: RunModel, id: string): boolean {
  const { merging } = run.workspace(run.workspace(id).parent ?? '')
  return merging !== null && merging !== id
}
