// Small steps that all acts of people share: the run at work, the workspace that is meant, words for the coordinator.
import { err, ok, ParleyError, type Result, type RunId, type WorkspaceId } from '@parley/core'
import type { UserHandle } from '@parley/kernel'
import { type ControlMessage, controlPayload } from './control.ts'
import type { SeenWorkspace } from './projection.ts'
import type { RunDriver } from './run-driver.ts'

export const refuse = (code: string, message: string, details: object = {}) =>
  err(new ParleyError(code, message, { details: { ...details } }))

export function driving(driver: RunDriver | undefined, run: RunId): Result<RunDriver> {
  return driver ? ok(driver) : refuse('invalid_state', `The run ${run} is not at work.`)
}

/** The workspace that is meant: by its id, or the newest that works on a task. */
export function workspaceAt({ seen }: RunDriver, text: string): Result<SeenWorkspace> {
  const known = seen.workspaces.get(text as WorkspaceId)
  if (known) return ok(known)
  const task = seen.task(text)
  const work = task && seen.workspaces.get(task.attempts.at(-1)!)
  if (work) return ok(work)
  return task
    ? refuse('invalid_state', `Nobody works on ${text} yet.`)
    : refuse('not_found', `There is no task ${text}.`)
}

/** Mail into the root under the person's name: whoever may not send it may not do what it asks for. */
export function tellCoordinator(
  driver: RunDriver | undefined,
  user: UserHandle,
  run: RunId,
  message: ControlMessage,
): Promise<Result<unknown>> {
  const root = driver?.seen.root
  if (!root) return Promise.resolve(refuse('invalid_state', `The run ${run} is not at work.`))
  return user.inject(run, { to: root.id, type: 'directive', payload: controlPayload(message) })
}
