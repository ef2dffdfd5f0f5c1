// Questions about a run's six structures (mechanisms sheet, section 7), for its coordinator and its host. Answers are ids and views of
// committed state; nothing is written, and nobody who is asked about is told.
import { type GraphId, ok, type Result, type TaskId, type Ticks, type WorkspaceId } from '@parley/core'
import { type GroupUsage, usageOf } from '../budget/view.ts'
import { rightsHeldBy, rightsTo } from '../port-right/queries.ts'
import { notFound } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import {
  dependencyOrder,
  sinks,
  sources,
  tasksOf,
  transitiveDependencies,
  transitiveDependents,
} from '../task/graph.ts'
import type { Task } from '../task/task.ts'
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
} from '../workspace/queries.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type RightView, type TaskView, viewRight, viewTask } from './view.ts'

type Ids = readonly WorkspaceId[]
type Reader = <T>(reader: (run: Run) => T) => Promise<T>

export class Topology {
  readonly #read: Reader
  readonly #now: () => Ticks

  constructor(read: Reader, now: () => Ticks) {
    this.#read = read
    this.#now = now
  }

  // Ownership and causation

  /** Every workspace whose owner is this user now. */
  ownedBy(user: string): Promise<Ids> {
    return this.#read(run => idsOf(ownedBy(run, user)))
  }

  /** Every workspace that stems from this user, or from `system`. */
  originatedBy(originator: string): Promise<Ids> {
    return this.#read(run => idsOf(originatedBy(run, originator)))
  }

  /** Where work for a user begins below what the system itself had begun. */
  boundaries(): Promise<Ids> {
    return this.#read(run => idsOf(boundaries(run)))
  }

  /** Those that outlived their parent and were not given another yet. */
  orphans(): Promise<Ids> {
    return this.#read(run => idsOf(orphans(run)))
  }

  /** The members of a group, terminal ones included. */
  group(name: string): Promise<Result<Ids>> {
    return this.#read(run => {
      const members = run.groups.get(name)
      return members ? ok(idsOf(members)) : notFound('group', name)
    })
  }

  /**
   * What the members of a group used in all, by the runtime's own measure (W-WS-19). Reports and warnings on the trail are summed by
   * `aggregate` with `group: 'group'`.
   */
  groupUsage(name: string): Promise<Result<GroupUsage>> {
    return this.#read(run => {
      const members = run.groups.get(name)
      return members ? ok(usageOf(members, this.#now())) : notFound('group', name)
    })
  }

  // Tree

  /** From the parent to the root. */
  upward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (_run, each) => idsOf(ancestorsOf(each)))
  }

  downward(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (_run, each) => idsOf(descendantsOf(each)))
  }

  siblings(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (_run, each) => idsOf(siblingsOf(each)))
  }

  /** What lies below and serves the same originator. */
  causedAlike(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (_run, each) => idsOf(causedAlike(each)))
  }

  // Visibility and channels

  visibleTo(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => idsOf(visibleTo(run, each)))
  }

  viewersOf(workspace: WorkspaceId): Promise<Result<Ids>> {
    return this.#about(workspace, (run, each) => idsOf(viewersOf(run, each)))
  }

  /** Active rights only. */
  rightsHeldBy(workspace: WorkspaceId): Promise<Result<readonly RightView[]>> {
    return this.#about(workspace, (run, each) => rightsHeldBy(run, each).map(viewRight))
  }

  rightsTo(workspace: WorkspaceId): Promise<Result<readonly RightView[]>> {
    return this.#about(workspace, (run, each) => rightsTo(run, each).map(viewRight))
  }

  // Task graph

  /** All that a task rests on, directly or not. */
  dependencies(task: TaskId): Promise<Result<readonly TaskView[]>> {
    return this.#aboutTask(task, transitiveDependencies)
  }

  /** All that rests on a task: what its failure would hold up. */
  dependents(task: TaskId): Promise<Result<readonly TaskView[]>> {
    return this.#aboutTask(task, transitiveDependents)
  }

  /** Tasks that rest on none. */
  sources(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, sources)
  }

  /** Tasks that none rests on. */
  sinks(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, sinks)
  }

  /** All tasks, each behind what it rests on. */
  order(graph: GraphId): Promise<Result<readonly TaskView[]>> {
    return this.#inGraph(graph, tasks => dependencyOrder(tasks) ?? [])
  }

  #about<T>(id: WorkspaceId, answer: (run: Run, workspace: Workspace) => T): Promise<Result<T>> {
    return this.#read(run => {
      const workspace = run.workspaces.get(id)
      return workspace ? ok(answer(run, workspace)) : notFound('workspace', id)
    })
  }

  #aboutTask(
    id: TaskId,
    answer: (run: Run, task: Task) => readonly Task[],
  ): Promise<Result<readonly TaskView[]>> {
    return this.#read(run => {
      const task = run.tasks.get(id)
      return task ? ok(answer(run, task).map(viewTask)) : notFound('task', id)
    })
  }

  #inGraph(
    id: GraphId,
    answer: (tasks: readonly Task[]) => readonly Task[],
  ): Promise<Result<readonly TaskView[]>> {
    return this.#read(run =>
      run.graphs.has(id) ? ok(answer(tasksOf(run, id)).map(viewTask)) : notFound('graph', id),
    )
  }
}

function idsOf(workspaces: readonly Workspace[]): Ids {
  return workspaces.map(each => each.id)
}
