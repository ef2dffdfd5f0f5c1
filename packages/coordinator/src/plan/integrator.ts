// One integrator at work: the root with the plan of the run, or a delegate with a plan inside it. Looks where its tasks
// stand (plan-tasks.ts) and takes the next steps: submit, dispatch, have work judged, merge.
import { type EnvelopeId, type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import type { WorkspaceDraft } from '@parley/kernel'
import { isTerminal } from '@parley/trail/events'
import { ask } from '../ask.ts'
import { evaluate } from '../merge/evaluation.ts'
import { applyMerges, isLocked, type Merging, mergeWork, settleConflict } from '../merge/merging.ts'
import { salvageWork } from '../merge/salvaging.ts'
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { TeamFacts, WorkFacts, WorkspaceFacts } from '../run/facts.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import { workspaceBudget } from '../team/budget-fields.ts'
import { allTasks, type PlannedTask } from '../team/team.ts'
import { failureText } from '../view/failure-text.ts'
import { descriptionOf } from './approved-plan.ts'
import { isEnding } from './finality.ts'
import { type IntegratorOptions, PlanTasks } from './plan-tasks.ts'
import { allowance, type LiveTurn } from './spending.ts'
import { agentFor, leftBy } from './task-agent.ts'

export interface IntegratorHost extends RunAtWork {
  readonly live: LiveTurn
  readonly merged: () => Promise<void>
}

export class Integrator {
  readonly tasks: PlanTasks
  readonly #host: IntegratorHost
  readonly #options: IntegratorOptions

  constructor(host: IntegratorHost, options: IntegratorOptions) {
    this.tasks = new PlanTasks(host, options)
    this.#host = host
    this.#options = options
  }

  get #line(): WorkspaceId | undefined {
    return this.#options.delegate?.workspace.id
  }

  async step(): Promise<void> {
    if (this.tasks.all.length === 0) {
      await this.#submit()
      return
    }
    await this.#applyMerges()
    for (const task of this.tasks.all) await this.#advance(task)
    await this.#salvage()
    await this.#helpersDone()
    await this.#helpAsking()
    await this.#dispatch()
  }

  async #salvage(): Promise<void> {
    for (const { work, planned, stand } of this.tasks.left)
      if (stand === 'wanted' || stand === 'open') await salvageWork(this.#merging, work, planned)
  }

  /** The mail with which a person asked for all this. */
  get #cause(): EnvelopeId | undefined {
    return this.#host.projection.controls.find(({ kind }) => kind === 'intent')?.envelope
  }

  async #submit(): Promise<void> {
    const { plan, delegate, handle } = this.#options
    const { run, projection } = this.#host
    const drafts = plan.map(task => ({
      key: task.id,
      name: task.id,
      description: descriptionOf(task),
      depends_on: [...task.needs],
      priority: task.priority,
      ...(delegate && { parent_task: delegate.task }),
    }))
    if (!delegate) await ask(run.coordinator.submitGraph(drafts, this.#cause))
    else if (projection.graph !== undefined) await ask(handle.addTasks(projection.graph, drafts))
  }

  /** What the trail has decided, the folders follow. */
  async #applyMerges(): Promise<void> {
    const { projection, folders, run, merged } = this.#host
    const integrated = this.tasks.all.flatMap(task => {
      const work = task.status === 'integrated' ? this.tasks.newest(task) : undefined
      return work ? [{ work, task: this.tasks.planned(task) }] : []
    })
    const works = [...integrated, ...this.tasks.left.map(({ work, planned }) => ({ work, task: planned }))]
    const load = async (result: ObjectId) => {
      const object = unwrap(await run.object(result))
      return (object?.value as { readonly value?: unknown } | undefined)?.value
    }
    if (await applyMerges({ folders, projection, line: this.#line }, works, load)) await merged()
  }

  get #merging(): Merging {
    const { folders, projection } = this.#host
    return {
      handle: this.#options.handle,
      folders,
      projection,
      line: this.#line,
      merge: (work, draft) => this.#createMerger(work, draft),
    }
  }

  async #advance(task: ProjectedTask): Promise<void> {
    const { projection } = this.#host
    const { handle } = this.#options
    const planned = this.tasks.planned(task)
    const newest = this.tasks.newest(task)
    if (task.status === 'failed') {
      await this.#cancelParts(task)
      if (this.tasks.isFinal(task)) await this.#cancelDependents(task)
      else await ask(handle.retryTask(task.id))
      return
    }
    if (task.status === 'cancelled') return this.#cancelDependents(task)
    if ((task.status === 'pending' || task.status === 'draft') && this.tasks.standIn(task) === 'never') {
      await ask(handle.cancelTask(task.id))
      return
    }
    if (newest?.state === 'idle' && this.#turnedAway(newest)) {
      await ask(handle.cancelTask(task.id))
      return
    }
    if (newest?.state === 'conflicted') return settleConflict(this.#merging, newest, planned)
    if (task.status !== 'completed' || newest?.state !== 'integrating') return
    const next = evaluate(newest, planned, projection)
    if (next.do !== 'ask' && (await isLocked(handle, newest.id))) return
    switch (next.do) {
      case 'wait':
        return
      case 'ask':
        return this.#createJudge(next.judge, newest, planned)
      case 'accept':
        return mergeWork(this.#merging, newest, planned)
      case 'revise':
      case 'reject':
        await ask(handle.decideIntegration(newest.id, next.do))
    }
  }

  /** Its directive was not let through: it would wait for ever. */
  #turnedAway({ id }: ProjectedWorkspace): boolean {
    return this.#host.projection.highway.ended('envelope_delivery', id)?.action === 'reject' && !this.#isSpared(id)
  }

  /** A person wanted it to go on: asking again would be asked again for ever. */
  #isSpared(id: WorkspaceId): boolean {
    return this.#host.projection.highway.ended('workspace_abort', id)?.action === 'reject'
  }

  async #createJudge(kind: 'check' | 'review', work: ProjectedWorkspace, task: PlannedTask): Promise<void> {
    const commit = work.checkpoints.findLast(each => each.final)?.commit ?? work.facts!.commit
    const agent = kind === 'check' ? `check:${task.id}` : this.#host.identity(task.review!.by)
    const facts = { kind, task: task.id, commit, agent, of: work.id }
    await this.#createHelper(work, task, facts, kind === 'check' ? task.check!.join(' ') : 'Review this work.')
  }

  async #createMerger(
    work: ProjectedWorkspace,
    draft: { readonly commit: string; readonly conflicts: readonly string[] },
  ): Promise<void> {
    const planned = this.#host.projection.plan.get(work.facts!.task)!
    const by = work.salvage?.open && planned.salvage?.way === 'agent' ? planned.salvage.by : planned.merge.by!
    const { commit, conflicts } = draft
    const about = { kind: 'merge', task: planned.id, of: work.id, commit, conflicts } as const
    const facts = { ...about, agent: this.#host.identity(by) }
    await this.#createHelper(work, planned, facts, 'Make one of both versions.')
  }

  /** A workspace about the work of another; it uses up the same budget. */
  async #createHelper(work: ProjectedWorkspace, planned: PlannedTask, facts: WorkspaceFacts, content: string) {
    const { projection, live, release } = this.#host
    const asked = projection.highway.waitsToCreate(context => context.of === work.id && context.kind === facts.kind)
    const task = this.tasks.all.find(({ name }) => name === planned.id)
    const { limits, spent } = allowance(projection, planned, task, live)
    if (asked || spent) {
      release(facts.agent)
      // Judging costs as well: what cannot be judged is not merged.
      if (spent && !asked && work.salvage?.open) await ask(this.#options.handle.discardSalvage(work.id))
      else if (spent && !asked && !(await isLocked(this.#options.handle, work.id)))
        await ask(this.#options.handle.decideIntegration(work.id, 'reject'))
      return
    }
    await this.#create(facts, {
      role: 'worker',
      resources: facts.kind === 'merge' ? await this.#mergeable() : [],
      directive: { format: 'text', content },
      ...budgetOf(limits),
    })
  }

  /** The author of a merge may have to touch whatever either version touched: all that the integrator itself may. */
  async #mergeable(): Promise<string[]> {
    const { handle } = this.#options
    if (handle === this.#host.run.coordinator) return ['**']
    return [...unwrap(await handle.look()).authority.resources]
  }

  /** A judge or an integrator has said what it had to say, and has nothing of its own to be merged. */
  async #helpersDone(): Promise<void> {
    const { projection } = this.#host
    const { handle } = this.#options
    for (const workspace of projection.workspaces.values()) {
      const { id, facts, state, parent } = workspace
      if (parent !== handle.workspace || !facts || !('of' in facts)) continue
      if (state === 'idle' && this.#turnedAway(workspace)) await ask(handle.abort(id))
      if (state !== 'integrating') continue
      const work = projection.workspaces.get(facts.of as WorkspaceId)
      if (facts.kind === 'merge' && work && (!isTerminal(work.state) || work.salvage?.open)) continue
      if (!(await isLocked(handle, id))) await ask(handle.accept(id, { ungatedIfEmpty: true }))
    }
  }

  /** Questions that nobody could answer. */
  async #helpAsking(): Promise<void> {
    const { projection, facts } = this.#host
    const { handle } = this.#options
    for (const { id, parent, state } of projection.workspaces.values()) {
      if (parent !== handle.workspace || state !== 'blocked') continue
      const { times, open } = projection.highway.delegated(id)
      if (!open) continue
      const most = facts.team.limits.breakers.noProgress || Number.POSITIVE_INFINITY
      if (times > most && !this.#isSpared(id)) await ask(handle.abort(id))
      else await ask(handle.feedback(id, { format: 'text', content: NOBODY }))
    }
  }

  async #cancelDependents(task: ProjectedTask): Promise<void> {
    for (const each of this.tasks.all)
      if (each.dependsOn.includes(task.id) && (each.status === 'pending' || each.status === 'draft')) {
        await ask(this.#options.handle.cancelTask(each.id))
        await this.#cancelDependents(each)
      }
  }

  /** Parts that a delegate left undone when it failed; the next attempt makes its own. */
  async #cancelParts(task: ProjectedTask): Promise<void> {
    for (const each of this.#host.projection.tasks.values())
      if (each.parent === task.id && (each.status === 'draft' || each.status === 'pending' || each.status === 'failed'))
        await ask(this.#options.handle.cancelTask(each.id))
  }

  async #dispatch(): Promise<void> {
    if (!isEnding(this.#host.projection)) {
      for (const task of this.tasks.due) await this.#give(task)
      return
    }
    for (const { id, status } of this.tasks.all)
      if (status === 'pending' || status === 'draft') await ask(this.#options.handle.cancelTask(id))
  }

  async #give(task: ProjectedTask): Promise<void> {
    const { projection, folders, live, identity } = this.#host
    const { handle, delegate } = this.#options
    const planned = this.tasks.planned(task)
    if (projection.highway.waits('workspace_create', task.id)) return
    // Asking again would be asked again for ever.
    const refused = projection.highway.ended('workspace_create', task.id)
    const { limits, spent } = allowance(projection, planned, task, live)
    if (spent || refused?.action === 'reject') {
      await ask(handle.cancelTask(task.id))
      return
    }
    const attempts = task.attempts.map(id => projection.workspaces.get(id)!)
    const commit = await folders.head(this.#line)
    // Nothing else was merged meanwhile: what an attempt had kept that was cut off can be gone on with.
    const left = leftBy(attempts.at(-1))
    const facts: WorkFacts | TeamFacts = {
      ...(planned.plan
        ? { kind: 'team', agent: `team:${task.name}` }
        : {
            kind: 'work',
            agent: identity(agentFor(projection, task, planned)),
            ...(left?.base === commit && { start: left.commit }),
          }),
      task: task.name,
      commit,
      attempt: attempts.length + 1,
      results: [
        ...(delegate?.prompt ? [{ title: 'What this is part of', text: delegate.prompt }] : []),
        ...task.dependsOn.map(id => this.tasks.resultOf(projection.tasks.get(id)!)),
      ],
      feedback: this.#feedback(attempts),
    }
    await this.#create(facts, {
      role: 'worker',
      task: task.id,
      resources: resourcesOf(planned),
      ...revisionOf(attempts.at(-1)),
      ...(planned.plan && { delegate: true }),
      ...budgetOf(limits),
    })
  }

  /** What the last attempt was told, and why it came to nothing. */
  #feedback(attempts: readonly ProjectedWorkspace[]): readonly string[] {
    const last = attempts.at(-1)
    if (!last?.facts || !('feedback' in last.facts)) return []
    return [...last.facts.feedback, failureText(last, this.#host.projection)]
  }

  async #create(facts: WorkspaceFacts, draft: WorkspaceDraft): Promise<void> {
    const { run, release } = this.#host
    const { handle } = this.#options
    const cause = this.#cause
    const causes = handle === run.coordinator && cause && { caused_by: cause }
    const created = await handle.createWorkspace({ ...draft, context: { ...facts }, ...causes })
    if (created.ok) return
    // A workspace that exists all the same keeps its agent's name; the next step brings it to work.
    const waits = created.error.code === 'gated'
    if (created.error.details.workspace === undefined && !waits) release(facts.agent)
    await ask(Promise.resolve(created))
  }
}

const NOBODY =
  'Nobody could answer your question. Decide it yourself as well as you can, go on, and say in your result what you assumed.'

/** §7.4: the directive refers to the failed attempt, whose trail says why; the context has the reasons. */
function revisionOf(last: ProjectedWorkspace | undefined): Pick<WorkspaceDraft, 'directive'> {
  if (!last) return {}
  return { directive: { format: 'markdown', content: '', attachments: [{ kind: 'workspace_ref', id: last.id }] } }
}

function budgetOf(limits: Parameters<typeof workspaceBudget>[0]): Pick<WorkspaceDraft, 'budget'> {
  const budget = workspaceBudget(limits)
  return budget ? { budget } : {}
}

/** A delegate may hand on only what it has itself. */
function resourcesOf(task: PlannedTask): string[] {
  return [...new Set([...allTasks([task])].flatMap(({ paths }) => paths ?? ['**']))]
}
