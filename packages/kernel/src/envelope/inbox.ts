// The inbox (W-WS-21): all `blocking`, then all `urgent`, then `normal`; first in, first out inside each class.
import type { EnvelopeId } from '@parley/core'
import { ENVELOPE_PRIORITIES, type EnvelopePriority } from '@parley/trail/events'

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
