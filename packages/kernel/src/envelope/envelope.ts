// The envelope (W-ENV-01): what a sender hands in, what the content store keeps, and what the kernel remembers of it.
import { compile, type EnvelopeId, type GateId, type ObjectId, type Static, Type, type WorkspaceId } from '@parley/core'
import { bodyLimits, ENVELOPE_PRIORITIES, type EnvelopePriority, type EventBody, Integrity } from '@parley/trail/events'
import { kernelLimits } from '../limits.ts'

/** W-ENV-04. */
export type EnvelopeState = 'created' | 'validated' | 'delivered' | 'acknowledged' | 'rejected'

export const PayloadSchema = Type.Object(
  {
    format: Type.String({ minLength: 1, maxLength: bodyLimits.nameLength }),
    content: Type.String({ maxLength: kernelLimits.payloadLength }),
    attachments: Type.Optional(Type.Array(Type.Unknown(), { maxItems: kernelLimits.attachments })),
  },
  { additionalProperties: false },
)
export type PayloadDraft = Static<typeof PayloadSchema>

/** A right that travels with an envelope (W-PORT-06). */
const ListedRightSchema = Type.Object(
  { type: Type.Enum(['send', 'send_once']), target: Type.String() },
  { additionalProperties: false },
)
export type ListedRight = Static<typeof ListedRightSchema>

/** What a sender supplies. `from` may be named only as what it is anyway (W-ENV-02). */
const EnvelopeDraftSchema = Type.Object(
  {
    to: Type.String(),
    type: Type.String(),
    payload: PayloadSchema,
    in_reply_to: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    rights: Type.Optional(Type.Array(ListedRightSchema, { maxItems: kernelLimits.envelopeRights })),
    priority: Type.Optional(Type.Enum([...ENVELOPE_PRIORITIES])),
    from: Type.Optional(Type.String()),
    integrity: Type.Optional(Integrity),
  },
  { additionalProperties: false },
)
export type EnvelopeDraft = Static<typeof EnvelopeDraftSchema>
export const envelopeDrafts = compile(EnvelopeDraftSchema, { name: 'envelope' })

export type Payload = Readonly<Required<PayloadDraft>>

export interface EnvelopeRecord {
  readonly id: EnvelopeId
  readonly from: WorkspaceId
  readonly to: WorkspaceId
  readonly type: string
  readonly payload: Payload
  readonly in_reply_to: EnvelopeId | null
  readonly rights: readonly ListedRight[]
  readonly priority: EnvelopePriority
  readonly timestamp: string
  readonly origin: EventBody<'envelope_created'>['origin']
  readonly originator: string
  readonly integrity?: Integrity
}

export interface Envelope
  extends Pick<EnvelopeRecord, 'id' | 'from' | 'to' | 'type' | 'priority' | 'origin' | 'originator'> {
  readonly inReplyTo: EnvelopeId | null
  readonly seq: number
  status: EnvelopeState
  /** The whole record, until the envelope is consumed or can no longer be; after that the content store has it. */
  record: EnvelopeRecord | undefined
  undeliverable: EventBody<'envelope_undeliverable'>['reason'] | undefined
  gate: GateId | undefined
  /** The record as a human changed it at the gate; the original keeps the envelope's own id (W-HWY-08). */
  changed: ObjectId | undefined
  consumed: boolean
  /** It did not match its proof when it was to be consumed: nobody was handed it (AX-53). */
  forged: boolean
  replies: EnvelopeId[] | undefined
}

export function onItsWay(envelope: Envelope): boolean {
  return envelope.status === 'validated' && envelope.undeliverable === undefined
}

export type Inbox = Record<EnvelopePriority, EnvelopeId[]>

const ORDER = ENVELOPE_PRIORITIES.toReversed()

export function emptyInbox(): Inbox {
  return { normal: [], urgent: [], blocking: [] }
}

export function inboxSize(inbox: Inbox | undefined): number {
  return inbox === undefined ? 0 : inbox.normal.length + inbox.urgent.length + inbox.blocking.length
}

export function inboxOrder(inbox: Inbox | undefined): EnvelopeId[] {
  return inbox === undefined ? [] : ORDER.flatMap(priority => inbox[priority])
}

export function inboxNext(inbox: Inbox | undefined): EnvelopeId | undefined {
  for (const priority of ORDER) {
    const next = inbox?.[priority][0]
    if (next !== undefined) return next
  }
  return undefined
}

export function removeFromInbox(inbox: Inbox, envelope: EnvelopeId): void {
  for (const priority of ORDER) {
    const index = inbox[priority].indexOf(envelope)
    if (index >= 0) {
      inbox[priority].splice(index, 1)
      return
    }
  }
}
