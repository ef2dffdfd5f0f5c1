// Questions about a run's six structures (mechanisms sheet, section 7). An agent gets what it sees (§3.4): anything
// else is answered as if it did not exist, on record, and lists leave it out.
import { type GraphId, ok, type Result, type TaskId, type Ticks, type WorkspaceId } from '@parley/core'
import { type GroupUsage, usageOf } from '../../budget/remaining.ts'
import { rightsHeldBy, rightsTo } from '../../port-right/port-right.ts'
import { notFound } from '../../refusal.ts'
import { knownWorkspace, type Run } from '../../run/run.ts'
import {
  dependencyOrder,
  seesTask,
  sinks,
  sources,
  tasksOf,
  transitiveDependencies,
  transitiveDependents,
} from '../../task/graph.ts'
import type { Task } from '../../task/task.ts'
import type { Readable } from '../../workspace/access.ts'
import { ancestorsOf, childrenOf, isRoot, sees, subtree, type Workspace } from '../../workspace/workspace.ts'
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

  /** W-TOPO-OWN-02: the domain of a user; the `owner` field alone decides. */
  ownedBy(user: string): Promise<Ids> {
    return this.#where(each => each.owner === user)
  }

  /** W-TOPO-CAUS-05: everything that stems from this user, or from `system`. */
  originatedBy(originator: string): Promise<Ids> {
    return this.#where(each => each.originator === originator)
  }

  /** W-TOPO-CAUS-04: where work for a user begins below another originator's. */
  boundaries(): Promise<Ids> {
    return this.#where(each => each.boundary)
  }

  orphans(): Promise<Ids> {
    return this.#where(each => each.orphan)
  }

  group(name: string): Promise<Result<Ids>> {
    return this.#members(name, idsOf)
  }

  /** Measured by the runtime (W-WS-19); `aggregate` with `group: 'group'` sums what is on the trail. */
  groupUsage(name: string): Promise<Result<GroupUsage>> {
    return this.#members(name, members => usageOf(members, this.#asker.now()))
  }

  // Tree

  /** W-TOPO-TREE-03: from the parent to the root. */
  upward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, ancestorsOf)
  }

  /** Parents first, siblings in order of creation. */
  downward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, descendantsOf)
  }

  siblings(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, each =>
      (each.parent ? childrenOf(each.parent) : []).filter(other => other !== each),
    )
  }

  causedAlike(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, each => descendantsOf(each).filter(below => below.originator === each.originator))
  }

  // Visibility and channels

  /** W-TOPO-VIS-06: whom a workspace sees; itself is among them. */
  visibleTo(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, (viewer, run) => {
      const below = new Set(isRoot(viewer) ? run.workspaces.values() : subtree(viewer))
      return [...run.workspaces.values()].filter(each => below.has(each) || viewer.visibility?.has(each.id))
    })
  }

  /** W-TOPO-VIS-06: who sees a workspace; itself and the root are among them. The workspace is not told. */
  viewersOf(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#related(workspace, (seen, run) => [...run.workspaces.values()].filter(each => sees(each, seen)))
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

  #where(wanted: (workspace: Workspace) => boolean): Promise<Ids> {
    return this.#asker.read(run => this.#ids(run, [...run.workspaces.values()].filter(wanted)))
  }

  #related(id: WorkspaceId, of: (workspace: Workspace, run: Run) => readonly Workspace[]): Promise<Result<Ids>> {
    return this.#about(id, (run, each) => this.#ids(run, of(each, run)))
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

function descendantsOf(workspace: Workspace): readonly Workspace[] {
  return [...subtree(workspace)].filter(each => each !== workspace)
}
