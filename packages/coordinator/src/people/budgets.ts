// Lists the budgets of a run, and raises those of one at work. Mail into the root tells the coordinator of a new limit
// for later attempts; the kernel raises that of work in progress.
import { ok, type Result, type RunId, refuse, type WorkspaceId } from '@parley/core'
import { kernelDefaults, limitOf, type UserHandle } from '@parley/kernel'
import { BUDGET_DIMENSIONS, type BudgetDimension } from '@parley/trail/events'
import { given } from '../given.ts'
import { type LiveTurn, runLimits, taskLimits, type Used, usedBy, workspacesOf } from '../plan/spending.ts'
import type { RunDriver } from '../run/run-driver.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { type Limits, workspaceBudget } from '../team/budget-fields.ts'
import type { BudgetView } from '../view/people-view.ts'
import type { RunViews } from '../view/run-views.ts'
import { Acts, type By } from './acts.ts'

interface BudgetRaise {
  /** The run without it. */
  readonly task?: string | undefined
  readonly dimension: string
  readonly limit: number
}

export class Budgets extends Acts {
  readonly #views: Pick<RunViews, 'readable'>

  constructor(host: RunsHost, views: Pick<RunViews, 'readable'>) {
    super(host)
    this.#views = views
  }

  async list(run: RunId): Promise<Result<readonly BudgetView[]>> {
    const driver = this.host.drivers.get(run)
    const read = driver ? ok(driver.projection) : await this.#views.readable(run)
    if (!read.ok) return read
    const projection = read.value
    // With what turns at work have used so far.
    const live: LiveTurn = ({ id }) => driver?.driver(id)?.turn
    const views = limitViews('run', runLimits(projection), usedBy(projection.workspaces.values(), live))
    for (const planned of projection.plan.values()) {
      const task = projection.task(planned.id)
      const used = usedBy(task ? workspacesOf(projection, task) : [], live)
      views.push(...limitViews(planned.id, taskLimits(projection, planned), used, task?.attempts.at(-1)))
    }
    return ok(views)
  }

  async raise(run: RunId, { principal, ...raise }: BudgetRaise & By): Promise<Result<void>> {
    const driver = this.driving(run)
    if (!driver.ok) return driver
    const { projection } = driver.value
    const { task, limit } = raise
    const dimension = BUDGET_DIMENSIONS.find(each => each === raise.dimension)
    if (!dimension)
      return refuse(
        'invalid_argument',
        `'${raise.dimension}' is no dimension of a budget; use ${BUDGET_DIMENSIONS.join(', ')}.`,
      )
    const planned = task === undefined ? undefined : projection.plan.get(task)
    if (task !== undefined && !planned) return refuse('not_found', `There is no task ${task} in ${run}.`)
    const limits = planned ? taskLimits(projection, planned) : runLimits(projection)
    const old = limits[dimension]
    if (old === undefined)
      return refuse('invalid_argument', `${task ?? 'The run'} has no ${dimension}, so there is nothing to raise.`)
    if (!(limit > old)) return refuse('invalid_argument', `The ${dimension} is ${old} already; name a higher one.`)
    const user = this.host.runtime.user(principal.id)
    const raised = await this.#raiseAtWork(user, run, driver.value, task, dimension, limit - old)
    if (!raised.ok) return raised
    const told = await this.tell(principal, run, { parley: 'budget', dimension, limit, ...given({ task }) })
    await driver.value.poke()
    return told.ok ? ok(undefined) : told
  }

  /** Work that goes on has its limit in the kernel; later attempts get theirs from the task. */
  async #raiseAtWork(
    user: UserHandle,
    run: RunId,
    { projection }: RunDriver,
    task: string | undefined,
    dimension: BudgetDimension,
    more: number,
  ): Promise<Result<void>> {
    const id = task === undefined ? undefined : projection.task(task)?.attempts.at(-1)
    const work = id && projection.workspaces.get(id)
    if (!work || !['idle', 'active', 'blocked'].includes(work.state)) return ok(undefined)
    const { runtime } = this.host
    const own = await runtime.read(run, state => limitOf(state.workspaces.get(work.id)?.budget, dimension))
    if (own === undefined) return ok(undefined)
    return user.raiseBudget(run, work.id, workspaceBudget({ [dimension]: own + more })!)
  }
}

function limitViews(task: string, limits: Limits, used: Used, workspace?: WorkspaceId): BudgetView[] {
  return Object.entries(limits).map(([name, limit]) => {
    const dimension = name as BudgetDimension
    const amount = dimension in used ? used[dimension as keyof Used] : 0
    return {
      task,
      ...(workspace !== undefined && { workspace }),
      dimension,
      limit,
      used: amount,
      warned: amount >= (kernelDefaults.budgetWarning / 100) * limit,
    }
  })
}
