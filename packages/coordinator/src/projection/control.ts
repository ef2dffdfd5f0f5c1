// What people tell the coordinator of a run: mail into the root under their name (W-HWY-17). JSON of ours is for the
// coordinator itself; the rest is guidance for all agents.
import { compile, type EnvelopeId, type Static, type Timestamp, Type } from '@parley/core'
import type { EnvelopeRecord } from '@parley/kernel'
import { BUDGET_DIMENSIONS } from '@parley/trail/events'
import type { TeamAgent } from '../team/team.ts'

const MessageSchema = Type.Union([
  Type.Object({ parley: Type.Literal('intent'), text: Type.String() }),
  Type.Object({
    parley: Type.Literal('abort'),
    /** Undefined: the whole run. */
    task: Type.Optional(Type.String()),
    reason: Type.String(),
    /** Milliseconds in which the work may come to an end of its own (W-TERM-01). */
    grace: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  Type.Object({
    parley: Type.Literal('migrate'),
    workspace: Type.String(),
    to: Type.String(),
    reason: Type.String(),
    /** Where the team does not have it. */
    agent: Type.Optional(Type.Unsafe<TeamAgent>({ type: 'object' })),
  }),
  Type.Object({
    parley: Type.Literal('salvage'),
    workspace: Type.String(),
    take: Type.Boolean(),
    checkpoint: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  }),
  /** Work that is not merged as it is: its task is done once more, whatever attempts it has left. */
  Type.Object({ parley: Type.Literal('again'), workspace: Type.String() }),
  Type.Object({
    parley: Type.Literal('budget'),
    /** Undefined: the whole run. */
    task: Type.Optional(Type.String()),
    dimension: Type.Enum([...BUDGET_DIMENSIONS]),
    limit: Type.Number({ exclusiveMinimum: 0 }),
  }),
])
const message = compile(MessageSchema)
export type ControlMessage = Static<typeof MessageSchema>

type Said<M> = M extends { parley: infer Kind } ? { readonly kind: Kind } & Readonly<Omit<M, 'parley'>> : never

export type Control = { readonly envelope: EnvelopeId; readonly by: string; readonly at: Timestamp } & (
  | Said<ControlMessage>
  | { readonly kind: 'guidance'; readonly text: string }
)

export function controlPayload(control: ControlMessage): { readonly format: 'json'; readonly content: string } {
  return { format: 'json', content: JSON.stringify(control) }
}

/** Whatever is not one of ours is guidance. */
export function readControl({ id: envelope, payload }: EnvelopeRecord, by: string, at: Timestamp): Control {
  const said = payload.format === 'json' ? parsedJson(payload.content) : undefined
  if (!message.is(said)) return { envelope, by, at, kind: 'guidance', text: payload.content }
  const { parley: kind, ...rest } = said
  return { envelope, by, at, kind, ...rest } as Control
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
