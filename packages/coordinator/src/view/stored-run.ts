// What a run was started with, read from the root's context alone.
import { type ObjectId, parseTimestamp, type RunId, type StoredRun, unwrap, type WorkspaceId } from '@parley/core'
import type { Trail } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { RunFacts } from '../run/facts.ts'

export interface StartedRun {
  readonly stored: StoredRun
  /** Under which idempotency key. */
  readonly key: string | undefined
}

/** Undefined where there is no such run, or a coordinator did not start it. Throws where it cannot be read. */
export async function readStart(trail: Trail, run: RunId): Promise<StartedRun | undefined> {
  const one = trail.run(run)
  const [first] = unwrap(await one.query({ event_type: 'workspace_created', limit: 1 })).entries
  if (!first) return undefined
  const { workspace_id: root, context } = first.body as EventBody<'workspace_created'>
  const object = context === undefined ? undefined : await one.object(context as ObjectId)
  const { plan, principal, origin, stored = {}, key } = (object?.value ?? {}) as Partial<RunFacts>
  if (plan === undefined || principal === undefined || origin === undefined) return undefined
  const started = parseTimestamp(first.timestamp)!
  return { stored: { run, root: root as WorkspaceId, started, principal, origin, context: stored }, key }
}
