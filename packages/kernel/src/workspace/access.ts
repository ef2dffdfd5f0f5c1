// Reading and writing inside workspaces: what an agent may read (W-WS-15), its working memory (W-WS-22), and the
// attempts to change what is frozen (W-WS-17, W-TOPO-VIS-02).
import {
  type CheckpointId,
  type EnvelopeId,
  type GraphId,
  type ObjectId,
  ok,
  type Result,
  type TaskId,
} from '@parley/core'
import { type Batch, clip } from '../batch.ts'
import type { Envelope } from '../envelope/envelope.ts'
import { integrationOf } from '../integration/integration.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import type { MemoryRecord } from '../objects.ts'
import { isText } from '../plain.ts'
import { invalidArgument, limitReached, notFound } from '../refusal.ts'
import { type Run, workspaceOf } from '../run/run.ts'
import { seesTask, tasksOf } from '../task/graph.ts'
import { isAbove, isRoot, sees, type Workspace } from './workspace.ts'

/** What can be read by id. A workspace stands for its register and its working memory too. */
export type Readable =
  | 'workspace'
  | 'checkpoint'
  | 'artifact'
  | 'envelope'
  | 'directive'
  | 'context'
  | 'result'
  | 'task'
  | 'graph'

/** A read outside scope is answered as if the object did not exist, and is on record. */
export function decideRead(batch: Batch, caller: Workspace, kind: Readable, id: string): Result<void> {
  const reads = mayRead(batch.run, caller, kind, id)
  if (reads) return ok(undefined)
  if (reads === false)
    batch.deny(caller, {
      capability: 'access:read',
      action: `read_${kind}`,
      target: clip(id, 64),
      reason: 'permission_denied',
      message: '',
    })
  return notFound(kind, id)
}

/** Undefined where there is no such object. */
function mayRead(run: Run, caller: Workspace, kind: Readable, id: string): boolean | undefined {
  switch (kind) {
    case 'workspace': {
      const target = workspaceOf(run, id)
      return target && sees(caller, target)
    }
    // Components 1 and 3 are the agent's and of those above it, who gave them (W-WS-02).
    case 'directive':
    case 'context': {
      const target = workspaceOf(run, id)
      return target && (target === caller || isAbove(caller, target))
    }
    // It is the state of the workspace that the merge went into, or would go into.
    case 'result': {
      const source = workspaceOf(run, id)
      return source && sees(caller, integrationOf(run, source)?.target ?? source.parent ?? source)
    }
    case 'checkpoint':
    case 'artifact': {
      const checkpoint = run.checkpoints.get((kind === 'artifact' ? run.artifacts.get(id) : id) as CheckpointId)
      const producer = checkpoint && run.workspaces.get(checkpoint.workspace)
      return producer && sees(caller, producer)
    }
    // Payloads are for sender, receiver and coordinator only.
    case 'envelope': {
      const envelope = run.envelopes.get(id as EnvelopeId)
      return envelope && readsEnvelope(caller, envelope)
    }
    case 'task': {
      const task = run.tasks.get(id as TaskId)
      return task && seesTask(run, caller, task)
    }
    // Whoever sees one of its tasks sees that part of it.
    case 'graph': {
      if (!run.graphs.has(id as GraphId)) return undefined
      return isRoot(caller) || tasksOf(run, id as GraphId).some(task => seesTask(run, caller, task))
    }
  }
}

export function readsEnvelope(reader: Workspace, { from, to }: Pick<Envelope, 'from' | 'to'>): boolean {
  return isRoot(reader) || from === reader.id || to === reader.id
}

export interface MemoryWrite {
  readonly workspace?: string | undefined
  readonly key: unknown
  readonly value?: unknown
}

/** W-WS-22: only one's own, only in `active` or `blocked`, only for roles that write. */
export function decideWriteMemory(batch: Batch, caller: Workspace, write: MemoryWrite): Result<void> {
  const role = batch.run.vocabulary.roles.get(caller.role)
  const own = write.workspace === undefined || write.workspace === caller.id
  if (!own || !role?.writesMemory || !STATE_RULES[caller.status].writesMemory) {
    return batch.deny(caller, {
      capability: 'access:write',
      action: 'write_memory',
      target: clip(write.workspace ?? caller.id, 64),
      reason: 'permission_denied',
      message: own
        ? `The ${caller.role} in ${caller.id} (${caller.status}) writes no working memory.`
        : 'An agent writes its own working memory only.',
    })
  }
  const { key, value } = write
  if (!isText(key, kernelLimits.memoryKeyLength))
    return invalidArgument(`A key is a text of 1 to ${kernelLimits.memoryKeyLength} characters.`)
  if (value !== undefined && !caller.memory?.has(key) && (caller.memory?.size ?? 0) >= kernelLimits.memoryKeys)
    return limitReached('keys in one working memory', kernelLimits.memoryKeys)
  const memory: MemoryRecord = { workspace: caller.id, key, ...(value !== undefined && { value }) }
  batch.store('memory', batch.newId<ObjectId>('obj'), memory, { of: 'workspace', workspace: caller.id })
  return ok(undefined)
}

/** Authority and delegation are exactly what creation gave. */
export function decideChangeFrozen(
  batch: Batch,
  caller: Workspace,
  field: 'authority' | 'delegate',
  id: unknown,
): Result<never> {
  const target = workspaceOf(batch.run, String(id))
  if (!target) return notFound('workspace', id)
  return batch.deny(caller, {
    capability: `set:${field}`,
    action: `set_${field}`,
    target: target.id,
    reason: 'frozen',
    code: 'immutable',
    message: `The ${field} of ${target.id} is what its creation gave; it never changes.`,
  })
}

export function decideRevokeVisibility(batch: Batch, caller: Workspace, id: unknown): Result<never> {
  const target = workspaceOf(batch.run, String(id))
  if (!target) return notFound('workspace', id)
  return batch.denyOperation(caller, 'revoke_visibility', {
    target: target.id,
    reason: 'irrevocable',
    code: 'immutable',
    message: 'What was once visible stays visible.',
  })
}

/** W-CP-06. Callers that do not see the checkpoint get `not_found`; the attempt is on record all the same. */
export function decideChangeCheckpoint(batch: Batch, caller: Workspace, id: unknown): Result<never> {
  const checkpoint = batch.run.checkpoints.get(id as CheckpointId)
  const producer = checkpoint && workspaceOf(batch.run, checkpoint.workspace)
  if (!producer) return notFound('checkpoint', id)
  const denied = batch.deny(caller, {
    capability: 'set:checkpoint',
    action: 'change_checkpoint',
    target: checkpoint.id,
    reason: 'frozen',
    code: 'immutable',
    message: `The checkpoint ${checkpoint.id} cannot be changed; create another.`,
  })
  return sees(caller, producer) ? denied : notFound('checkpoint', id)
}
