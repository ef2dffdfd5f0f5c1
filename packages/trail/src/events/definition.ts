// One row of the event registry (wacp-mechanisms 1.5) and the vocabulary of its columns "filed under" and "actor".
import type { Type } from '@parley/core'
import { closed } from '../shapes.ts'

export type ActorKind = 'system' | 'role' | 'user' | 'protocol' | 'fallback'

/** Where an event is filed: the header's `workspace`. `filedUnder` evaluates it. */
export type Filing<Field extends string = string> =
  /** The workspace that this field of the body names. */
  | { readonly under: 'field'; readonly field: Field }
  | { readonly under: 'root' }
  /** System-level: the header is null. */
  | { readonly under: 'none' }
  /** The requesting workspace, which the body does not name. */
  | { readonly under: 'caller' }
  /** The source; in salvage the target, which is the caller's own workspace where the body does not name it. */
  | { readonly under: 'merge'; readonly source: Field; readonly target?: Field }
  /** The gate's workspace, null for `task_approval`; only `gate_triggered` names it. */
  | { readonly under: 'gate'; readonly field?: Field }
  /** The target of an injection, null if unknown or terminal. */
  | { readonly under: 'injection' }
  /** Null for a user; the caller for an agent, whose body names a workspace only once that is terminal. */
  | { readonly under: 'denial' }

/** Column C: essential, archivable, or essential only where `to_state` is terminal (W-TRAIL-27). */
export type Compaction = 'E' | 'A' | 'E-if-terminal'

/** Column L: the lowest conformance level at which the event can occur. */
export type Level = 1 | 2 | 3

/** The columns of the sheet; the long one, the body, comes last. */
export function event<const T extends string, F extends Type.TProperties>(
  type: T,
  filed: Filing<keyof F & string>,
  actors: readonly ActorKind[],
  compaction: Compaction,
  level: Level,
  fields: F,
) {
  return { type, filed, actors, compaction, level, body: closed(fields) }
}

export const under = <const F extends string>(field: F) => ({ under: 'field', field }) as const
export const root = { under: 'root' } as const
export const none = { under: 'none' } as const
export const caller = { under: 'caller' } as const

export const protocol = ['protocol'] as const
export const role = ['role'] as const
export const user = ['user'] as const
export const fallback = ['fallback'] as const
/** `system` for the coordinator, the role name for another agent, the `user_id` for a human, else `protocol`. */
export const initiator = ['system', 'role', 'user', 'protocol'] as const
export const anyone = [...initiator, 'fallback'] as const
