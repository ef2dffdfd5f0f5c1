// How an integration ends well (W-INT-15): the record, the state, the task.
import type { ObjectId } from '@parley/core'
import type { IntegrationStrategy } from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { writeTransition } from '../lifecycle/transition.ts'
import { writeTaskIntegrated } from '../task/follow.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { ResultRecord } from './integration.ts'
import { targetOf } from './source.ts'

export function writeMerged(
  batch: Batch,
  integrator: Workspace,
  source: Workspace,
  after: 'success' | 'conflict_resolved',
  strategy: IntegrationStrategy,
  resultRef: ObjectId | undefined,
): void {
  const actor = actorOf(integrator)
  batch.add('integration_completed', source, actor, {
    source: source.id,
    target: targetOf(batch, source).id,
    mode: 'normal',
    strategy,
    result: after,
    timestamp: batch.at,
    ...(resultRef !== undefined && { result_ref: resultRef }),
  })
  writeTransition(batch, source, {
    to: 'closed',
    trigger: after === 'success' ? 'integration_succeeded' : 'conflict_resolved',
    actor,
    initiator: initiatorOf(integrator),
  })
  writeTaskIntegrated(batch, source)
}

/** AMB-28: what an integrator made of both sides; it is no checkpoint, and content of the target. */
export function storeResult(batch: Batch, source: Workspace, target: Workspace, value: unknown): ObjectId {
  const id = batch.newId<ObjectId>('obj')
  const record: ResultRecord = { workspace: source.id, value }
  batch.store('result', id, record, { of: 'workspace', workspace: target.id })
  return id
}
