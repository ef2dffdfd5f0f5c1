// Who may stand in the header's `actor` (W-TRAIL-02), and which events admit whom (wacp-mechanisms 1.5, "actor").
import type { ActorKind } from './definition.ts'
import { type EventType, eventDefinition } from './registry.ts'

/** Words that no `user_id` may equal. `coordinator` is among them, though the trail writes `system` instead. */
export const RESERVED_ACTORS = ['system', 'protocol', 'fallback', 'coordinator'] as const

/** Whether a text is refused as a `user_id`: a reserved word or the name of a registered role. */
export function isReservedActor(text: string, knownRoles: ReadonlySet<string>): boolean {
  return (RESERVED_ACTORS as readonly string[]).includes(text) || knownRoles.has(text)
}

/** What an actor value stands for; undefined for `coordinator`, which is never written (AMB-02). */
export function actorKind(actor: string, knownRoles: ReadonlySet<string>): ActorKind | undefined {
  switch (actor) {
    case 'system':
    case 'protocol':
    case 'fallback':
      return actor
    case 'coordinator':
      return undefined
    default:
      return knownRoles.has(actor) ? 'role' : 'user'
  }
}

export function actorAdmitted(type: EventType, actor: string, knownRoles: ReadonlySet<string>): boolean {
  const kind = actorKind(actor, knownRoles)
  return kind !== undefined && eventDefinition(type).actors.includes(kind)
}
