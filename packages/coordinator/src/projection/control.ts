// What people tell the coordinator of a run: mail into the root, recorded under their name (W-HWY-17). Some of it is
// for the coordinator's own ears: the intent, a higher budget, who takes over, what is saved, the end of the run; the
// rest is guidance for all.
import type { EnvelopeId, Timestamp } from '@parley/core'
import { compile, Type } from '@parley/core'
import type { EnvelopeRecord, PayloadDraft } from '@parley/kernel'
import { BUDGET_DIMENSIONS, type BudgetDimension } from '@parley/trail/events'
import type { TeamAgent } from '../team/team.ts'

export type Control = { readonly envelope: EnvelopeId; readonly by: string; readonly at: Timestamp } & (
  | { readonly kind: 'intent' | 'guidance'; readonly text: string }
  | {
      readonly kind: 'abort'
      /** Undefined: the whole run. */
      readonly task?: string
      readonly reason: string
      /** Milliseconds in which the work may come to an end of its own (W-TERM-01). */
      readonly grace?: number
    }
  | ({ readonly kind: 'migrate' } & Omit<MigrateMessage, 'parley'>)
  | ({ readonly kind: 'salvage' } & Omit<SalvageMessage, 'parley'>)
  | {
      readonly kind: 'budget'
      /** Undefined: that of the whole run. */
      readonly task?: string
      readonly dimension: BudgetDimension
      readonly limit: number
    }
)

const MessageSchema = Type.Union([
  Type.Object({ parley: Type.Literal('intent'), text: Type.String() }),
  Type.Object({
    parley: Type.Literal('abort'),
    task: Type.Optional(Type.String()),
    reason: Type.String(),
    grace: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  Type.Object({
    parley: Type.Literal('migrate'),
    workspace: Type.String(),
    to: Type.String(),
    reason: Type.String(),
    agent: Type.Optional(Type.Unsafe<TeamAgent>({ type: 'object' })),
  }),
  Type.Object({
    parley: Type.Literal('salvage'),
    workspace: Type.String(),
    take: Type.Boolean(),
    checkpoint: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  }),
  Type.Object({
    parley: Type.Literal('budget'),
    task: Type.Optional(Type.String()),
    dimension: Type.Enum([...BUDGET_DIMENSIONS]),
    limit: Type.Number({ exclusiveMinimum: 0 }),
  }),
])
const message = compile(MessageSchema)

/** Another agent is to take over a workspace; `agent` where the team does not have it. */
export interface MigrateMessage {
  readonly parley: 'migrate'
  readonly workspace: string
  readonly to: string
  readonly reason: string
  readonly agent?: TeamAgent
}

/** A person has judged what a failed workspace left. */
export interface SalvageMessage {
  readonly parley: 'salvage'
  readonly workspace: string
  readonly take: boolean
  readonly checkpoint?: string
  readonly reason?: string
}

export type ControlMessage =
  | MigrateMessage
  | SalvageMessage
  | { readonly parley: 'intent'; readonly text: string }
  | { readonly parley: 'abort'; readonly task?: string; readonly reason: string; readonly grace?: number }
  | {
      readonly parley: 'budget'
      readonly task?: string
      readonly dimension: BudgetDimension
      readonly limit: number
    }

export function controlPayload(control: ControlMessage): PayloadDraft {
  return { format: 'json', content: JSON.stringify(control) }
}

/** Whatever is not one of ours is guidance. */
export function readControl({ id: envelope, payload }: EnvelopeRecord, by: string, at: Timestamp): Control {
  const said = payload.format === 'json' ? parsed(payload.content) : undefined
  if (!message.is(said)) return { envelope, by, at, kind: 'guidance', text: payload.content }
  const { parley: kind, ...rest } = said
  return { envelope, by, at, kind, ...rest } as Control
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
