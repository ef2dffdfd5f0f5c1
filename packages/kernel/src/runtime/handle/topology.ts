// Questions about a run's six structures (mechanisms sheet, section 7). An agent gets what it sees (§3.4): anything
// else is answered as if it did not exist, on record, and lists leave it out.
import { type GraphId, ok, type Result, type TaskId, type Ticks, type WorkspaceId } from '@parley/core'
import { type GroupUsage, usageOf } from '../../budget/view.ts'
import { rightsHeldBy, rightsTo } from '../../port-right/port-right.ts'
import { notFound } from '../../refusal.ts'
import { knownWorkspace, type Run } from '../../run/run.ts'
import {
  dependencyOrder,
  sinks,
  sources,
  tasksOf,
  transitiveDependencies,
  transitiveDependents,
} from '../../task/graph.ts'
import { seesTask } from '../../task/permission.ts'
import type { Task } from '../../task/task.ts'
import type { Readable } from '../../workspace/access.ts'
import {
  ancestorsOf,
  boundaries,
  causedAlike,
  descendantsOf,
  originatedBy,
  orphans,
  ownedBy,
  siblingsOf,
  viewersOf,
  visibleTo,
} from '../../workspace/queries.ts'
import { sees, type Workspace } from '../../workspace/workspace.ts'
import { type RightView, type TaskView, viewRight, viewTask } from './view.ts'

type Ids = readonly WorkspaceId[]

export interface Asker {
  read<T>(reader: (run: Run) => T): Promise<T>
  now(): Ticks
  readonly sight?: {
    readonly workspace: WorkspaceId
    mayRead(kind: Readable, id: string): Promise<Result<void>>
  }
}

export class Topology {
  readonly #asker: Asker

  constructor(asker: Asker) {
    this.#asker = asker
  }

  // Ownership and causation

  ownedBy(user: string): Promise<Ids> {
    return this.#list(run => ownedBy(run, user))
  }

  originatedBy(originator: string): Promise<Ids> {
    return this.#list(run => originatedBy(run, originator))
  }

  /** Where work for a user begins below what the system or another user began. */
  boundaries(): Promise<Ids> {
    return this.#list(boundaries)
  }

  orphans(): Promise<Ids> {
    return this.#list(orphans)
  }

  group(name: string): Promise<Result<Ids>> {
    return this.#members(name, idsOf)
  }

  /** Measured by the runtime (W-WS-19); `aggregate` with `group: 'group'` sums what is on the trail. */
  groupUsage(name: string): Promise<Result<GroupUsage>> {
    return this.#members(name, members => usageOf(members, this.#asker.now()))
  }

  // Tree

  upward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, ancestorsOf(each)))
  }

  downward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, descendantsOf(each)))
  }

  siblings(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, siblingsOf(each)))
  }

  /** What lies below and serves the same originator. */
  causedAlike(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, causedAlike(each)))
  }

  // Visibility and channels

  visibleTo(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, visibleTo(run, each)))
  }

  viewersOf(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => this.#ids(run, viewersOf(run, each)))
  }

  rightsHeldBy(workspace: WorkspaceId): Promise<Result<readonly RightView[]>> {
    return this.#about(workspace, (run, each) => rightsHeldBy(run, each).map(viewRight))
  }

  rightsTo(workspace: WorkspaceId): Promise<Result<readonly RightView[]>> {
    return this.#about(workspace, (run, each) => {
      const held = rightsTo(run, each).filter(({ holder }) => this.#sees(run, holder))
      return held.map(viewRight)
    })
  }

  // Task graph

  dependencies(task: TaskId): Promise<Result<readonly TaskView[]>> {
    return this.#aboutTask(task, transitiveDependencies)
  }

  dependents(task: TaskId): Promise<Result<readonly TaskView[]>> {
    return this.#aboutTask(task, transitiveDependents)
  }

  sources(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, sources)
  }

  sinks(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, sinks)
  }

  order(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, tasks => dependencyOrder(tasks) ?? [])
  }

  async #about<T>(id: WorkspaceId, answer: (run: Run, workspace: Workspace) => T): Promise<Result<T>> {
    return this.#ask('workspace', id, run => {
      const workspace = run.workspaces.get(id)
      return workspace ? ok(answer(run, workspace)) : notFound('workspace', id)
    })
  }

  async #aboutTask(
    id: TaskId,
    answer: (run: Run, task: Task) => readonly Task[],
  ): Promise<Result<readonly TaskView[]>> {
    return this.#ask('task', id, run => {
      const task = run.tasks.get(id)
      return task ? ok(this.#tasks(run, answer(run, task))) : notFound('task', id)
    })
  }

  async #inGraph(
    id: GraphId,
    answer: (tasks: readonly Task[]) => readonly Task[],
  ): Promise<Result<readonly TaskView[]>> {
    return this.#ask('graph', id, run =>
      run.graphs.has(id) ? ok(this.#tasks(run, answer(tasksOf(run, id)))) : notFound('graph', id),
    )
  }

  #members<T>(name: string, answer: (members: readonly Workspace[]) => T): Promise<Result<T>> {
    return this.#asker.read(run => {
      const members = this.#seen(run, run.groups.get(name) ?? [])
      return members.length > 0 ? ok(answer(members)) : notFound('group', name)
    })
  }

  #list(answer: (run: Run) => readonly Workspace[]): Promise<Ids> {
    return this.#asker.read(run => this.#ids(run, answer(run)))
  }

  async #ask<T>(kind: Readable, id: string, answer: (run: Run) => Result<T>): Promise<Result<T>> {
    const allowed = await this.#asker.sight?.mayRead(kind, id)
    return allowed && !allowed.ok ? allowed : this.#asker.read(answer)
  }

  #ids(run: Run, workspaces: readonly Workspace[]): Ids {
    return idsOf(this.#seen(run, workspaces))
  }

  #seen(run: Run, workspaces: readonly Workspace[]): readonly Workspace[] {
    return workspaces.filter(each => this.#sees(run, each))
  }

  #sees(run: Run, workspace: Workspace): boolean {
    const { sight } = this.#asker
    return sight === undefined || sees(knownWorkspace(run, sight.workspace), workspace)
  }

  #tasks(run: Run, tasks: readonly Task[]): readonly TaskView[] {
    const { sight } = this.#asker
    const viewer = sight && knownWorkspace(run, sight.workspace)
    const seen = viewer ? tasks.filter(each => seesTask(run, viewer, each)) : tasks
    return seen.map(viewTask)
  }
}

function idsOf(workspaces: readonly Workspace[]): Ids {
  return workspaces.map(each => each.id)
}
