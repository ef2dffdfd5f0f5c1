// Which workspace an entry belongs to (wacp-primitives 0.4; column "filed under" of wacp-mechanisms 1.5).
import { assertNever, type WorkspaceId } from '@parley/core'
import { type EventBody, type EventType, eventDefinition } from './registry.ts'

type Body = Readonly<Record<string, unknown>>

/**
 * The header's `workspace`; `'caller'` where only the appender knows it. States are not considered: once the workspace
 * is terminal the header is null instead (W-TRAIL-08).
 */
export function filedUnder<T extends EventType>(
  type: T,
  body: EventBody<T>,
  root: WorkspaceId,
): WorkspaceId | null | 'caller' {
  const { filed } = eventDefinition(type)
  switch (filed.under) {
    case 'field':
      return named(body, filed.field)
    case 'root':
      return root
    case 'none':
      return null
    case 'caller':
      return 'caller'
    case 'merge':
      if ((body as Body).mode !== 'salvage') return named(body, filed.source)
      return filed.target === undefined ? 'caller' : named(body, filed.target)
    case 'gate':
      if ((body as Body).gate_type === 'task_approval') return null
      return filed.field === undefined ? 'caller' : named(body, filed.field)
    case 'injection':
      return injected(body as EventBody<'human_injection'>)
    case 'denial':
      return denied(body as EventBody<'capability_denied'>)
    default:
      return assertNever(filed)
  }
}

function named(body: object, field: string): WorkspaceId | null {
  return (body as Body)[field] as WorkspaceId | null
}

/** A malformed injection is refused before its target is looked up, so only the appender knows the target. */
function injected(body: EventBody<'human_injection'>): WorkspaceId | null | 'caller' {
  if (body.status === 'delivered' || body.reason === 'workspace_sealed') return named(body, 'to')
  if (body.to === null || body.reason === 'workspace_terminal' || body.reason === 'target_not_found') return null
  return 'caller'
}

function denied(body: EventBody<'capability_denied'>): null | 'caller' {
  return body.user_id !== null || body.workspace !== undefined ? null : 'caller'
}
