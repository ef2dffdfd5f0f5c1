// What integration and conflict entries do to the state of source and target.
import { type CheckpointId, invariant, type ObjectId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { claimResult } from '../objects.ts'
import { type Folds, knownWorkspace, type Run, ticksOf } from '../run/run.ts'
import type { Conflict } from './conflict-record.ts'
import { filesOf, type Integration } from './integration.ts'

export const integrationFolds: Folds = {
  integration_started(run, body) {
    const source = knownWorkspace(run, body.source)
    const target = knownWorkspace(run, body.target)
    const begun: Integration = {
      target,
      owner: body.owner,
      strategy: body.strategy,
      checkpoint: body.checkpoint_ref as CheckpointId | null,
      orderIndex: body.order_index,
      orderBasis: body.order_basis,
      resultRef: body.mode === 'salvage' ? undefined : claimResult(run, source.id),
      result: undefined,
      aborted: undefined,
    }
    if (body.mode === 'salvage') {
      const checkpoint = body.checkpoint_ref as CheckpointId
      run.salvages.set(source.id, { ...begun, checkpoint, source, conflicts: [] })
    } else source.integration = begun
    target.begun++
    target.merging = source
    run.approved.delete(source.id)
  },

  integration_completed(run, body, entry) {
    const source = knownWorkspace(run, body.source)
    const target = knownWorkspace(run, body.target)
    const integration = endedOf(run, body)
    const resultRef = body.result_ref as ObjectId | undefined
    integration.result = body.result
    integration.resultRef = resultRef
    const { checkpoint, strategy } = integration
    target.merges ??= []
    target.merges.push({
      source: source.id,
      checkpoint,
      strategy,
      ...(resultRef !== undefined && { result_ref: resultRef }),
      ...(body.mode === 'salvage' && { mode: body.mode }),
    })
    const at = ticksOf(entry)
    for (const path of filesOf(run, checkpoint)) {
      target.files ??= new Map()
      target.files.set(path, { source: source.id, at })
    }
  },

  integration_aborted(run, body) {
    endedOf(run, body).aborted = body.reason
  },

  conflict_detected(run, body) {
    conflictsOf(run, body).push({
      id: body.conflict_id,
      type: body.conflict_type,
      resources: body.resources,
      description: body.description,
      proposals: 0,
      strategy: undefined,
      resolution: undefined,
      outcome: undefined,
    })
  },

  conflict_resolved(run, body) {
    const conflict = conflictsOf(run, body).find(each => each.id === body.conflict_id)
    invariant(conflict, 'a conflict is detected before it is resolved')
    conflict.strategy = body.resolution_strategy
    conflict.resolution = body.resolution
    conflict.outcome = body.outcome
  },
}

function endedOf(run: Run, body: EventBody<'integration_completed' | 'integration_aborted'>): Integration {
  const source = knownWorkspace(run, body.source)
  const target = knownWorkspace(run, body.target)
  const salvage = body.mode === 'salvage'
  const integration = salvage ? run.salvages.get(source.id) : source.integration
  invariant(integration, 'an integration is started before it ends')
  if (!salvage) {
    source.integration = undefined
    source.integrated = integration
  }
  if (target.merging === source) target.merging = undefined
  return integration
}

/** W-INT-20: those of a salvage are in its record, and not with the source. */
function conflictsOf(run: Run, body: EventBody<'conflict_detected' | 'conflict_resolved'>): Conflict[] {
  const source = knownWorkspace(run, body.workspace_id)
  if (body.mode === 'salvage') {
    const salvage = run.salvages.get(source.id)
    invariant(salvage, 'a salvage is started before its conflicts')
    return salvage.conflicts
  }
  source.conflicts ??= []
  return source.conflicts
}
