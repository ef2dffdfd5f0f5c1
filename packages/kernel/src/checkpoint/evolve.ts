// What checkpoint entries do to the state: the chain grows by one (W-CP-07).
import type { CheckpointId } from '@parley/core'
import { countCheckpoint, countDiscrepancy } from '../budget/charge.ts'
import { claim } from '../objects.ts'
import { type Folds, knownWorkspace, ticksOf } from '../run/run.ts'
import type { CheckpointRecord } from './checkpoint.ts'
import { markReported } from './discrepancy.ts'

export const checkpointFolds: Folds = {
  checkpoint_created(run, body, entry) {
    const record = claim<CheckpointRecord>(run, body.checkpoint_id, 'checkpoint')
    const workspace = knownWorkspace(run, body.workspace)
    const id = body.checkpoint_id as CheckpointId
    run.checkpoints.set(id, {
      id,
      workspace: workspace.id,
      type: body.type,
      status: body.status,
      confidence: body.confidence,
      parent: body.parent as CheckpointId | null,
      filesChanged: record.payload.files_changed,
      artifacts: body.artifact_ids ?? NONE,
      integrity: body.integrity,
    })
    for (const artifact of body.artifact_ids ?? NONE) run.artifacts.set(artifact, id)
    workspace.register ??= []
    workspace.register.push(id)
    if (body.status === 'final') workspace.deliverable = id
    countCheckpoint(run, workspace, record, body)
    markReported(workspace, ticksOf(entry))
  },

  resource_discrepancy: (run, body) => countDiscrepancy(run, knownWorkspace(run, body.workspace), body),
}

const NONE: readonly string[] = []
