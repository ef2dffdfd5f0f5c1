// What a body must satisfy beyond its single fields: the few rules of the registry that tie one field to another.
import type { EventBody, EventType } from './registry.ts'

/** Undefined, or the field and what is expected of it. */
type Rule<T extends EventType> = (body: EventBody<T>) => string | undefined

export const RULES: { readonly [T in EventType]?: Rule<T> } = {
  workspace_created: genesisFields,
  workspace_state_changed: failureReason,
  workspace_rejected: capacityDetails,
}

/** The fields that only the first entry of a run has (W-TRAIL-13). */
export const GENESIS_FIELDS = [
  'hash_algorithm',
  'taxonomy_id',
  'taxonomy_version',
  'protocol_version',
  'deployment_model',
] as const
type WorkspaceCreated = EventBody<'workspace_created'>
/** W-TRAIL-13 */
function genesisFields(body: WorkspaceCreated): string | undefined {
  const isRoot = body.parent === null
  for (const field of GENESIS_FIELDS) {
    if ((body[field] !== undefined) === isRoot) continue
    return isRoot ? `${field}: expected on the root's entry` : `${field}: expected on the root's entry only`
  }
  if ((body.content_proof === undefined) !== (body.content_objects === undefined))
    return 'content_objects: expected together with content_proof'
  if (isRoot || body.content_proof === undefined) return undefined
  return "content_proof: expected on the root's entry only"
}

/** W-LIFE-05, AMB-43 */
function failureReason(body: EventBody<'workspace_state_changed'>): string | undefined {
  if (body.to_state !== 'failed' || body.reason !== undefined) return undefined
  return 'reason: expected when to_state is failed'
}

/** W-WS-05 */
function capacityDetails(body: EventBody<'workspace_rejected'>): string | undefined {
  if (body.reason === 'capacity_exhausted' || Object.keys(body.capacity_details).length === 0) return undefined
  return 'capacity_details: expected to be empty unless reason is capacity_exhausted'
}
