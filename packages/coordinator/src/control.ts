// What people tell the coordinator of a run: mail into the root, recorded under their name (W-HWY-17). Some of it is for the
// coordinator's own ears: the intent, a higher budget, the end of the run; the rest is guidance for all who work.
import type { EnvelopeId } from '@parley/core'
import { compile, Type } from '@parley/core'
import type { EnvelopeRecord, PayloadDraft } from '@parley/kernel'
import { BUDGET_DIMENSIONS, type BudgetDimension } from '@parley/trail/events'

export type Control = { readonly envelope: EnvelopeId; readonly by: string } & (
  | { readonly kind: 'intent' | 'guidance'; readonly text: string }
  | {
      readonly kind: 'abort'
      /** Undefined: the whole run. */
      readonly task?: string
      readonly reason: string
    }
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
  }),
  Type.Object({
    parley: Type.Literal('budget'),
    task: Type.Optional(Type.String()),
    dimension: Type.Enum([...BUDGET_DIMENSIONS]),
    limit: Type.Number({ exclusiveMinimum: 0 }),
  }),
])
const message = compile(MessageSchema)

export type ControlMessage =
  | { readonly parley: 'intent'; readonly text: string }
  | { readonly parley: 'abort'; readonly task?: string; readonly reason: string }
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
export function readControl({ id: envelope, payload }: EnvelopeRecord, by: string): Control {
  const said = payload.format === 'json' ? parsed(payload.content) : undefined
  if (!message.is(said)) return { envelope, by, kind: 'guidance', text: payload.content }
  const { parley: kind, ...rest } = said
  return { envelope, by, kind, ...rest } as Control
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
