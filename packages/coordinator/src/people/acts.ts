// What all acts of people share: finding the run and workspace, telling the coordinator, checking the right to act.
import { ok, type Principal, pause, type Result, type RunId, refuse, type WorkspaceId } from '@parley/core'
import type { Capability } from '@parley/trail/events'
import { coordinatorDefaults } from '../limits.ts'
import { type ControlMessage, controlPayload } from '../projection/control.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunDriver } from '../run/run-driver.ts'
import type { RunsHost } from '../run/runs-host.ts'

export type By = { readonly principal: Principal }

/** The workspace that is meant: by its id, or the newest that works on a task. */
export function workspaceAt({ projection }: RunDriver, text: string): Result<ProjectedWorkspace> {
  const known = projection.workspaces.get(text as WorkspaceId)
  if (known) return ok(known)
  const task = projection.taskMeant(text)
  const work = task && projection.workspaces.get(task.attempts.at(-1)!)
  if (work) return ok(work)
  return task
    ? refuse('invalid_state', `Nobody works on ${text} yet.`)
    : refuse('not_found', `There is no task ${text}.`)
}

export class Acts {
  protected readonly host: RunsHost

  constructor(host: RunsHost) {
    this.host = host
  }

  protected driving(run: RunId): Result<RunDriver> {
    const driver = this.host.drivers.get(run)
    return driver ? ok(driver) : refuse('invalid_state', `The run ${run} is not at work.`)
  }

  protected rootOf(run: RunId, { projection }: RunDriver): Result<ProjectedWorkspace> {
    if (projection.root) return ok(projection.root)
    return refuse('trail_unavailable', `The run ${run} cannot be read at the moment; try again.`, { retryable: true })
  }

  /** Mail into the root under the person's name: a person who may not send it may not do what it asks for. */
  protected async tell({ id }: Principal, run: RunId, message: ControlMessage): Promise<Result<unknown>> {
    const driver = this.driving(run)
    const root = driver.ok ? this.rootOf(run, driver.value) : driver
    if (!root.ok) return root
    const payload = controlPayload(message)
    return this.host.runtime.user(id).inject(run, { to: root.value.id, type: 'directive', payload })
  }

  /** A person who may not do this themselves may not have it done either. */
  protected denied(
    { id }: Principal,
    { owner }: ProjectedWorkspace,
    [own, any]: readonly [own: Capability, any: Capability],
  ) {
    const known = this.host.runtime.users.get(id)
    const wanted = owner === id ? [own, any] : [any]
    if (known?.state === 'active' && wanted.some(each => known.capabilities.includes(each))) return undefined
    return refuse('permission_denied', `${id} may not do this: it takes '${wanted.join("' or '")}'.`)
  }

  /** The kernel would hold the act until the trail is back (W-REC-08): a person learns soon that nothing was done. */
  protected async unwritable(run: RunId): Promise<Result<never> | undefined> {
    const { runtime, clock, machine } = this.host
    const looks = coordinatorDefaults.degradedWait / coordinatorDefaults.degradedLook
    for (let look = 0; runtime.isDegraded(run); look++) {
      if (look >= looks) {
        const why = machine.held?.message ?? 'Try again.'
        return refuse('trail_unavailable', `Nothing was done: the record of ${run} cannot be written. ${why}`)
      }
      await pause(clock, coordinatorDefaults.degradedLook)
    }
    return undefined
  }
}
