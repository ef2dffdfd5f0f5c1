// Creating a checkpoint: the checks of W-CP-04 in their order, then the record and the automatic signal (W-CP-05, -12).
import { type CheckpointId, compile, limits, ok, type Result } from '@parley/core'
import { bodyLimits, type EventBody } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import { limitReached, refusal } from '../refusal.ts'
import { mayCreate } from '../role/matrix.ts'
import { writeDelivered, writeEmitted } from '../signal/signal.ts'
import { outsideAuthority } from '../workspace/authority.ts'
import type { Workspace } from '../workspace/workspace.ts'
import {
  type Artifact,
  type CheckpointDraft,
  CheckpointDraftSchema,
  type CheckpointRecord,
  proveCheckpoint,
} from './checkpoint.ts'
import { writeDiscrepancies } from './discrepancy.ts'

const validator = compile(CheckpointDraftSchema, { name: 'checkpoint' })

export interface CheckpointCreated {
  readonly checkpoint: CheckpointId
  readonly artifacts: readonly string[]
}

export function decideCheckpoint(batch: Batch, caller: Workspace, submitted: unknown): Result<CheckpointCreated> {
  const claimed = (submitted as { readonly type?: unknown } | undefined)?.type
  const type = typeof claimed === 'string' ? claimed : undefined
  const rejected = (reason: EventBody<'checkpoint_rejected'>['reason'], message: string) => {
    const entry = batch.add('checkpoint_rejected', caller, 'protocol', {
      workspace: caller.id,
      type: type === undefined ? null : clip(type, bodyLimits.nameLength),
      reason,
      timestamp: batch.at,
    })
    return refusal('rejected', message, { reason, entry })
  }
  // 1
  if (!STATE_RULES[caller.status].checkpoints)
    return rejected('workspace_not_active', `${caller.id} is ${caller.status}.`)
  // 2
  const registered = type === undefined ? undefined : batch.run.vocabulary.checkpointTypes.get(type)
  const structure = validator.check(submitted)
  if (!structure.ok) return rejected('invalid_structure', structure.error.message)
  const draft = structure.value
  const given = draft.payload as Readonly<Record<string, unknown>>
  const missing = registered?.requiredFields.find(field => given[field] === undefined)
  if (missing !== undefined)
    return rejected('invalid_structure', `A checkpoint of type '${draft.type}' needs payload.${missing}.`)
  if (draft.payload.artifacts?.some(artifact => 'artifact_id' in artifact))
    return rejected('invalid_structure', 'The runtime alone gives out artifact ids.')
  // 3
  if (!registered) return rejected('invalid_type', `The checkpoint type '${draft.type}' is not registered.`)
  // 4. W-CP-03
  if (!mayCreate(batch.run.vocabulary, caller.role, draft.type))
    return rejected('permission_denied', `The role ${caller.role} creates no '${draft.type}' checkpoints.`)
  // W-WS-17: nor does it change what its workspace has no authority over.
  const outside = outsideAuthority(caller, draft.payload.files_changed ?? [])
  if (outside !== undefined)
    return rejected(
      'permission_denied',
      `${caller.id} has no authority over ${clip(outside, limits.messageValueLength)}: it is not among its resources.`,
    )
  // 5. W-CP-07
  const head = caller.register?.at(-1) ?? null
  if ((draft.parent ?? null) !== head)
    return rejected('invalid_parent', `The chain's head is ${head ?? 'empty'}; a checkpoint names it as its parent.`)
  if (batch.run.checkpoints.size >= kernelLimits.checkpoints)
    return limitReached('checkpoints in one run', kernelLimits.checkpoints)
  return ok(writeCheckpoint(batch, caller, draft, head))
}

/** What a draft that passed becomes. */
export function writeCheckpoint(
  batch: Batch,
  caller: Workspace,
  draft: CheckpointDraft,
  parent: CheckpointId | null,
): CheckpointCreated {
  const id = batch.newId<CheckpointId>('cp')
  const { payload } = draft
  // W-CP-11
  const artifacts: Artifact[] = (payload.artifacts ?? []).map(artifact => ({
    ...artifact,
    artifact_id: batch.newId('art'),
  }))
  const ids = artifacts.map(artifact => artifact.artifact_id)
  const record: CheckpointRecord = {
    id,
    workspace: caller.id,
    type: draft.type,
    payload: {
      ...payload,
      files_changed: payload.files_changed ?? [],
      content: payload.content ?? '',
      artifacts,
    },
    intent: draft.intent,
    parent,
    status: draft.status,
    confidence: draft.confidence,
    ...(draft.resource_usage && { resource_usage: draft.resource_usage }),
    timestamp: batch.at,
  }
  const proof = batch.context.proofs && proveCheckpoint(batch.context.proofs, caller.id, record)
  batch.store('checkpoint', id, record, { of: 'workspace', workspace: caller.id })
  batch.add('checkpoint_created', caller, actorOf(caller), {
    checkpoint_id: id,
    workspace: caller.id,
    type: draft.type,
    status: draft.status,
    confidence: draft.confidence,
    parent,
    timestamp: batch.at,
    ...(draft.resource_usage && { resource_usage: draft.resource_usage }),
    ...(ids.length > 0 && { artifact_ids: ids }),
    ...(proof && { integrity: proof }),
  })
  const signal = writeEmitted(batch, caller, { type: 'checkpoint', ref: id, actor: 'protocol' })
  writeDelivered(batch, signal)
  if (draft.resource_usage) writeDiscrepancies(batch, caller, id, draft.resource_usage)
  return { checkpoint: id, artifacts: ids }
}
