// Rows that every piece of mail leaves on the trail, for tests that compare the trail entry by entry.
import { type EnvelopeId, unwrap } from '@parley/core'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import type { Fixture, Row } from './fixture.ts'
import { envelopeType, taxonomyOf } from './taxonomies.ts'

/** Sends, and gives the envelope a name. */
export async function send(
  f: Fixture,
  from: AgentHandle,
  name: string,
  to: string,
  type: string,
  extra: object = {},
): Promise<EnvelopeId> {
  const { envelope } = unwrap(await from.send(f.mail(to, type, extra)))
  f.name(envelope, name)
  return envelope
}

/** What lies unread, by name, in the order in which it is read. */
export async function inboxOf(f: Fixture, name: string): Promise<readonly string[]> {
  return unwrap(await f.agent(name).look()).inbox.map(id => f.nameOf(id))
}

interface Mail {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly type: string
}

export function created(mail: Mail, body: object = {}): Row {
  const { id, from, to, type } = mail
  return [
    'envelope_created',
    from,
    from === 'R' ? 'system' : 'worker',
    {
      envelope_id: id,
      from,
      to,
      type,
      priority: 'normal',
      in_reply_to: null,
      originator: 'system',
      origin: 'agent',
      ...body,
    },
  ]
}

export function delivered({ id, from, to }: Omit<Mail, 'type'>): Row {
  return ['envelope_delivered', to, 'protocol', { envelope_id: id, from, to }]
}

export function redelivered({ id, from, to }: Omit<Mail, 'type'>): Row {
  return ['envelope_redelivered', to, 'protocol', { envelope_id: id, from, to }]
}

/** The receipt: emitted at the receiver, delivered to the sender. */
export function receipt(signal: string, { id, from, to }: Omit<Mail, 'type'>): Row[] {
  return [
    ['signal_emitted', to, 'protocol', { signal_id: signal, from: to, type: 'acknowledged', ref: id }],
    ['signal_delivered', from, 'protocol', { signal_id: signal, from: to, delivered_to: from }],
  ]
}

/** Accepted, placed, acknowledged. */
export function arrived(signal: string, mail: Mail, body: object = {}): Row[] {
  return [created(mail, body), delivered(mail), ...receipt(signal, mail)]
}

export function rejected(
  mail: Omit<Mail, 'type' | 'to'> & { to: string | null; type: string | null },
  reason: string,
): Row {
  const { id, from, to, type } = mail
  return ['envelope_rejected', from, 'protocol', { envelope_id: id, from, to, type, reason }]
}

export function undeliverable({ id, from, to }: Omit<Mail, 'type'>, reason: string, filed: string | null = from): Row {
  return ['envelope_undeliverable', filed, 'protocol', { envelope_id: id, from, to, reason }]
}

/** The run that has a type `note` for mail between workers. */
export const withNotes = { taxonomy: taxonomyOf({ envelope_types: [envelopeType('note', ['worker', 'worker'])] }) }
