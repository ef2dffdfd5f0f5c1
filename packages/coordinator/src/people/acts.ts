// What all acts of people share: the run at work, the workspace that is meant, the words for the coordinator, and who
// may have it act for them.
import {
  type Clock,
  err,
  ok,
  ParleyError,
  type Principal,
  pause,
  type Result,
  type RunId,
  type WorkspaceId,
} from '@parley/core'
import type { Runtime } from '@parley/kernel'
import type { Capability } from '@parley/trail/events'
import type { Log } from '../contract.ts'
import { coordinatorDefaults } from '../limits.ts'
import type { Machine } from '../machine/machine.ts'
import { type ControlMessage, controlPayload } from '../projection/control.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunDriver } from '../run/run-driver.ts'

export interface ActsHost {
  readonly runtime: Runtime
  readonly clock: Clock
  /** Of the runs at work. */
  readonly drivers: ReadonlyMap<RunId, RunDriver>
  readonly machine: Machine
  readonly log: Log
}

/** Who acts. */
export type By = { readonly principal: Principal }

export const refuse = (code: string, message: string, details: object = {}) =>
  err(new ParleyError(code, message, { details: { ...details } }))

export function driving({ drivers }: Pick<ActsHost, 'drivers'>, run: RunId): Result<RunDriver> {
  const driver = drivers.get(run)
  return driver ? ok(driver) : refuse('invalid_state', `The run ${run} is not at work.`)
}

/** The workspace that is meant: by its id, or the newest that works on a task. */
export function workspaceAt({ projection }: RunDriver, text: string): Result<ProjectedWorkspace> {
  const known = projection.workspaces.get(text as WorkspaceId)
  if (known) return ok(known)
  const task = projection.task(text)
  const work = task && projection.workspaces.get(task.attempts.at(-1)!)
  if (work) return ok(work)
  return task
    ? refuse('invalid_state', `Nobody works on ${text} yet.`)
    : refuse('not_found', `There is no task ${text}.`)
}

/** Mail into the root under the person's name: whoever may not send it may not do what it asks for. */
export async function tellCoordinator(
  host: Pick<ActsHost, 'runtime' | 'drivers'>,
  { id }: Principal,
  run: RunId,
  message: ControlMessage,
): Promise<Result<unknown>> {
  const root = host.drivers.get(run)?.projection.root
  if (!root) return refuse('invalid_state', `The run ${run} is not at work.`)
  return host.runtime.user(id).inject(run, { to: root.id, type: 'directive', payload: controlPayload(message) })
}

/** Whoever may not do the like with their own hands may not have it done either. */
export function denied(
  { runtime }: Pick<ActsHost, 'runtime'>,
  { id }: Principal,
  { owner }: ProjectedWorkspace,
  [own, any]: readonly [own: Capability, any: Capability],
) {
  const known = runtime.users.get(id)
  const wanted = owner === id ? [own, any] : [any]
  if (known?.state === 'active' && wanted.some(each => known.capabilities.includes(each))) return undefined
  return refuse('permission_denied', `${id} may not do this: it takes '${wanted.join("' or '")}'.`)
}

/**
 * The kernel would hold the act until the trail is back (W-REC-08): a person is told within seconds that nothing was
 * done.
 */
export async function unwritable(
  { runtime, clock, machine }: ActsHost,
  run: RunId,
): Promise<Result<never> | undefined> {
  const looks = coordinatorDefaults.degradedWait / coordinatorDefaults.degradedLook
  for (let look = 0; runtime.isDegraded(run); look++) {
    if (look >= looks)
      return refuse(
        'trail_unavailable',
        `Nothing was done: the record of ${run} cannot be written. ${machine.held?.message ?? 'Try again.'}`,
      )
    await pause(clock, coordinatorDefaults.degradedLook)
  }
  return undefined
}
