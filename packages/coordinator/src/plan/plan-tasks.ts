// The tasks of one integrator as the trail has them: what is settled, their results, what failed work left, and what
// can be dispatched next. Changes nothing.
import type { TaskId } from '@parley/core'
import type { Integrator } from '@parley/kernel'
import { coordinatorLimits } from '../limits.ts'
import { leftOf, type SalvageStand, standOf, targetOf } from '../merge/salvaging.ts'
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { PlannedTask } from '../team/team.ts'
import { nameOf } from '../turn/identities.ts'
import { failureText } from '../view/failure-text.ts'
import { whyFinal } from './finality.ts'
import type { IntegratorHost } from './integrator.ts'
import { alternatives, standOfStandIn } from './stand-in.ts'
import { agentFor } from './task-agent.ts'

export interface IntegratorOptions {
  readonly handle: Integrator
  readonly plan: readonly PlannedTask[]
  /** Of a delegate: its workspace and the task that it executes. */
  readonly delegate?: { readonly workspace: ProjectedWorkspace; readonly task: TaskId; readonly prompt: string }
}

export class PlanTasks {
  readonly #host: IntegratorHost
  readonly #options: IntegratorOptions

  constructor(host: IntegratorHost, options: IntegratorOptions) {
    this.#host = host
    this.#options = options
  }

  /** The tasks of this plan; of a delegate those that it made itself, not those of an earlier attempt. */
  get all(): readonly ProjectedTask[] {
    const { delegate } = this.#options
    return [...this.#host.projection.tasks.values()].filter(
      ({ parent, seq }) => parent === (delegate?.task ?? null) && seq > (delegate?.workspace.seq ?? 0),
    )
  }

  planned(task: ProjectedTask): PlannedTask {
    return this.#options.plan.find(({ id }) => id === task.name)!
  }

  newest(task: ProjectedTask): ProjectedWorkspace | undefined {
    return this.#host.projection.workspaces.get(task.attempts.at(-1)!)
  }

  get settled(): boolean {
    const { all } = this
    if (all.length === 0 || !all.every(task => this.#isSettled(task))) return false
    return this.left.every(({ stand, work }) =>
      stand === 'merged' ? this.#host.projection.applied.has(work.id) : stand === 'none' || stand === 'discarded',
    )
  }

  #isSettled(task: ProjectedTask): boolean {
    if (task.status === 'integrated') return this.#isApplied(task)
    if (task.status === 'cancelled') return true
    return task.status === 'failed' && this.isFinal(task)
  }

  #isApplied(task: ProjectedTask): boolean {
    return this.#host.projection.applied.has(task.attempts.at(-1)!)
  }

  isFinal(task: ProjectedTask): boolean {
    const { projection, live } = this.#host
    return whyFinal(projection, task, this.planned(task), live) !== undefined
  }

  /** Failed work that left something, and that would be merged into this line. */
  get left(): readonly {
    readonly work: ProjectedWorkspace
    readonly planned: PlannedTask
    readonly stand: SalvageStand
  }[] {
    const { projection } = this.#host
    const { workspace } = this.#options.handle
    return [...projection.tasks.values()].flatMap(task => {
      const work = leftOf(projection, task)
      const planned = projection.plan.get(task.name)
      if (!work || !planned || (work.salvage?.target ?? targetOf(projection, work)) !== workspace) return []
      const own = this.all.includes(task) && task.status === 'failed'
      return [{ work, planned, stand: standOf(projection, work, planned, own && this.isFinal(task)) }]
    })
  }

  /** Of a task that stands in for another one: whether it may begin. */
  standIn(task: ProjectedTask): ReturnType<typeof standOfStandIn> {
    const planned = this.planned(task)
    const subject = this.all.find(({ name }) => name === planned.standsInFor)
    return standOfStandIn(this.#host.projection, planned, subject, each => this.isFinal(each))
  }

  #isMet(task: ProjectedTask): boolean {
    const names = alternatives(this.#options.plan, task.name)
    return this.all.some(({ name, status }) => status === 'integrated' && names.includes(name))
  }

  get failure(): string | undefined {
    const failed = this.all.find(task => !this.#isMet(task))
    if (!failed) return undefined
    const newest = this.newest(failed)
    const { title } = this.planned(failed)
    return `${title}: ${newest ? failureText(newest, this.#host.projection) : 'It was not done.'}`
  }

  /** What its tasks came to, for whoever reads the merged result. */
  get summary(): string {
    const texts = this.all.map(task => `${this.planned(task).title}:\n${this.#textOf(task)}`)
    return texts.join('\n\n').slice(0, coordinatorLimits.textLength)
  }

  /** What one came to, for whoever builds on it. */
  resultOf(task: ProjectedTask): { readonly title: string; readonly text: string } {
    const text = this.#textOf(task).slice(-coordinatorLimits.textLength)
    return { title: this.planned(task).title, text }
  }

  #textOf(task: ProjectedTask): string {
    return this.newest(task)?.checkpoints.findLast(each => each.final)?.text ?? ''
  }

  /** What can be given to an agent now, the most urgent first; as many as the limit allows. */
  get due(): readonly ProjectedTask[] {
    const { projection, facts } = this.#host
    const open = [...projection.workspaces.values()].filter(
      ({ facts: about, state }) => about?.kind === 'work' && (state === 'idle' || state === 'active'),
    )
    let free = facts.team.limits.concurrency - open.length
    const busy = new Map<string, number>()
    const count = (agent: string) => busy.set(agent, (busy.get(agent) ?? 0) + 1)
    for (const { facts: about } of open) count(nameOf(about!.agent))
    const due: ProjectedTask[] = []
    for (const task of this.#ready) {
      const planned = this.planned(task)
      if (planned.agent !== undefined) {
        const agent = agentFor(projection, task, planned)
        // Whoever would only wait for its agent takes no place from others.
        if ((busy.get(agent) ?? 0) >= (projection.agentConfig(agent)?.slots ?? 1)) continue
        if (free-- <= 0) break
        count(agent)
      }
      due.push(task)
    }
    return due
  }

  get #ready(): readonly ProjectedTask[] {
    const order = ['urgent', 'elevated', 'normal']
    const rank = (task: ProjectedTask) => order.indexOf(task.changed.priority ?? this.planned(task).priority)
    return this.all
      .filter(task => task.status === 'pending' && task.dependsOn.every(id => this.#isMerged(id)))
      .filter(task => (this.standIn(task) ?? 'begins') === 'begins')
      .toSorted((one, other) => rank(one) - rank(other))
  }

  #isMerged(id: TaskId): boolean {
    const task = this.#host.projection.tasks.get(id)
    return task?.status === 'integrated' && this.#isApplied(task)
  }
}
