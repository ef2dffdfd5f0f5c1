// Envelopes and port rights: acceptance, order, delivery once, receipts, what can no longer arrive, consumption.
import type { EntryDraft } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { isOver } from '../model/records.ts'
import { has, type Invariant, touched } from './rule.ts'
import { OBSERVERS } from './workspace.ts'

/** W-LIFE-04, first row. */
const TAKES_MAIL = ['idle', 'active', 'blocked', 'suspended', 'migrating']
const PLACES_MAIL = ['idle', 'active', 'blocked']

/** W-TERM-02, W-HWY-22: what the runtime composes to end a work in grace, or because nobody answered. */
function needsNone(run: RunModel, { to, type }: EventBody<'envelope_created'>, { actor }: EntryDraft): boolean {
  if (actor === 'fallback') return true
  return type === 'feedback' && run.workspaces.get(to)?.grace?.envelope === null
}

export const mailRules: readonly Invariant[] = [
  {
    name: 'W-ENV-05 accepted mail has a sender that may speak and a receiver that takes mail',
    on: {
      envelope_created: (run, body) => {
        const from = run.workspaces.get(body.from)
        const to = run.workspaces.get(body.to)
        if (!from || !to) return `${body.from} to ${body.to}`
        if (body.origin === 'human')
          return from.parent !== null
            ? `${from.id} lends its name to a person`
            : TAKES_MAIL.includes(to.status)
              ? undefined
              : `the receiver is ${to.status}`
        if (from === to) return `${from.id} writes to itself`
        const speaks = from.status === 'active' || (from.status === 'blocked' && from.parent !== null)
        if (!speaks) return `the sender is ${from.status}`
        return TAKES_MAIL.includes(to.status) ? undefined : `the receiver is ${to.status}`
      },
    },
  },
  {
    name: 'W-PORT-04 accepted mail has a right behind it',
    on: {
      envelope_created: (run, body, entry) =>
        body.origin === 'human' ||
        needsNone(run, body, entry) ||
        run.activeRights(body.from, body.to).some(right => right.type !== 'receive')
          ? undefined
          : `${body.from} holds none to ${body.to}`,
    },
  },
  {
    name: 'W-PORT-07 a send_once is used up by the one envelope that needed it',
    on: {
      envelope_created: (run, body, entry, batch) => {
        if (body.origin === 'human' || needsNone(run, body, entry)) return undefined
        const reusable = run.activeRights(body.from, body.to).some(right => right.type === 'send')
        const used = has(batch, 'port_right_consumed', each => each.via_envelope === body.envelope_id)
        return used === !reusable ? undefined : `${body.envelope_id}: used ${used}, held a send right ${reusable}`
      },
      port_right_consumed: (run, body) => {
        const right = run.rights.get(body.right_id)
        if (!right || !run.isActive(right)) return `${body.right_id} is not active`
        const fits = right.type === 'send_once' && right.holder === body.holder && right.target === body.target
        return fits ? undefined : `${body.right_id} is a ${right.type} of ${right.holder} to ${right.target}`
      },
    },
  },
  {
    name: 'W-ENV-08 W-ENV-16 only what was accepted is delivered, and once',
    on: {
      envelope_delivered: (run, body) => {
        const envelope = run.envelopes.get(body.envelope_id)
        if (!envelope) return `${body.envelope_id} was never accepted`
        if (envelope.status !== 'validated') return `${body.envelope_id} is ${envelope.status}`
        return envelope.undeliverable === null ? undefined : `${body.envelope_id} was given up`
      },
      envelope_redelivered: (run, body) => {
        const status = run.envelopes.get(body.envelope_id)?.status
        return status === 'delivered' || status === 'acknowledged' ? undefined : `${body.envelope_id} is ${status}`
      },
    },
  },
  {
    name: 'W-ENV-10 inside a channel the order of delivery is the order of creation',
    on: {
      envelope_delivered: (run, body) => {
        const head = run.workspaces.get(body.to)?.channels.get(body.from)?.[0]
        return head === body.envelope_id ? undefined : `${body.envelope_id} overtook ${head}`
      },
    },
  },
  {
    name: 'W-ENV-11 W-LIFE-04 mail is placed only in idle, active or blocked',
    on: {
      envelope_delivered: (run, body) => {
        const status = run.workspaces.get(body.to)?.status ?? 'nowhere'
        return PLACES_MAIL.includes(status) ? undefined : `${body.to} is ${status}`
      },
    },
  },
  {
    name: 'W-ENV-13 blocking mail that was not consumed keeps out what is not blocking',
    on: {
      envelope_delivered: (run, body) => {
        if (run.envelopes.get(body.envelope_id)?.priority === 'blocking') return undefined
        const blocking = run.workspaces.get(body.to)?.inbox.find(id => run.envelopes.get(id)?.priority === 'blocking')
        return blocking && `${body.envelope_id} passed ${blocking}`
      },
    },
  },
  {
    name: 'W-ENV-09 every delivered envelope is acknowledged exactly once',
    on: {
      signal_emitted: (run, body, { actor }, batch) => {
        if (body.type !== 'acknowledged' || actor !== 'protocol') return undefined
        const envelope = run.envelopes.get(body.ref ?? '')
        if (envelope?.status !== 'delivered' || envelope.to !== body.from)
          return `${body.from} acknowledges ${body.ref}, which is ${envelope?.status}`
        const others = batch.entries.filter(
          each => each.event_type === 'signal_emitted' && (each.body as typeof body).ref === body.ref,
        )
        return others.length === 1 ? undefined : `${body.ref} is acknowledged ${others.length} times`
      },
    },
    batch: (run, batch) => {
      for (const { event_type, body } of batch.entries) {
        if (event_type !== 'envelope_delivered') continue
        const id = (body as { envelope_id: string }).envelope_id
        const status = run.envelopes.get(id)?.status
        if (status !== 'acknowledged') return `${id} is ${status} after its delivery`
      }
      return undefined
    },
  },
  {
    name: 'W-ENV-04 W-ENV-15 an envelope is given up once, while it is on its way, and the sender is told',
    on: {
      envelope_undeliverable: (run, body, _entry, batch) => {
        const envelope = run.envelopes.get(body.envelope_id)
        if (envelope?.status !== 'validated' || envelope.undeliverable !== null)
          return `${body.envelope_id} is ${envelope?.status}, ${envelope?.undeliverable}`
        if (body.reason !== 'delivery_exhausted') return undefined
        const told = has(
          batch,
          'signal_emitted',
          each => each.type === 'failed' && each.ref === body.envelope_id && each.from === body.to,
        )
        return told ? undefined : `nobody is told of ${body.envelope_id}`
      },
    },
  },
  {
    name: 'W-ENV-14 mail is given up after four attempts, not before',
    on: {
      envelope_undeliverable: (_run, body, _entry, batch) => {
        const attempts = batch.carried.get(body.envelope_id) ?? 0
        return body.reason !== 'delivery_exhausted' || attempts >= 4
          ? undefined
          : `${body.envelope_id} after ${attempts}`
      },
    },
  },
  {
    name: 'W-ENV-18 nothing waits for a workspace that takes no more mail',
    batch: (run, batch) => {
      for (const id of touched(batch)) {
        const problem = stranded(run, id)
        if (problem !== undefined) return problem
      }
      return undefined
    },
    state: run => {
      for (const id of run.workspaces.keys()) {
        const problem = stranded(run, id)
        if (problem !== undefined) return problem
      }
      return undefined
    },
  },
  {
    name: 'W-WS-21 A-20 mail is handed out once, in the order of the inbox, in active or blocked',
    object: (run, object) => {
      if (object.kind !== 'consumed') return undefined
      const { workspace: id, envelope } = object.value as { workspace: string; envelope: string }
      const workspace = run.workspaces.get(id)
      if (!workspace || !(workspace.status === 'active' || workspace.status === 'blocked'))
        return `${id} reads mail in ${workspace?.status}`
      const [next] = run.inboxOrder(workspace)
      return next === envelope ? undefined : `${id} was handed ${envelope}, next was ${next}`
    },
  },
  {
    name: 'W-PORT-01 W-PORT-02 a right to send goes elsewhere, a right to receive is one and to itself',
    on: {
      port_right_created: (run, body) => {
        if (!run.workspaces.has(body.target)) return `${body.target} does not exist`
        if (isOver(run.workspaces.get(body.holder)?.status ?? 'failed')) return `${body.holder} takes no right any more`
        if (isOver(run.workspace(body.target).status)) return `a right to ${body.target}, which is over`
        if (body.right_type !== 'receive') return body.holder === body.target ? 'a right to send to itself' : undefined
        if (body.holder !== body.target) return `${body.holder} reads the inbox of ${body.target}`
        const second = [...run.rights.values()].find(right => right.type === 'receive' && right.holder === body.holder)
        return second && `${body.holder} has ${second.id} already`
      },
    },
  },
  {
    name: 'W-PORT-03 a child and its parent get the rights that the matrix allows, and nobody else does',
    on: {
      workspace_created: (run, body, _entry, batch) => {
        if (body.parent === null) return undefined
        const rights = batch.entries
          .filter(entry => entry.event_type === 'port_right_created')
          .map(entry => entry.body as { right_type: string; holder: string; target: string })
          .map(right => `${right.right_type} ${right.holder} ${right.target}`)
        const own = `receive ${body.workspace_id} ${body.workspace_id}`
        const sends = [`send ${body.parent} ${body.workspace_id}`, `send ${body.workspace_id} ${body.parent}`]
        const expected = OBSERVERS.has(body.role) ? [own] : [own, ...sends]
        return rights.join() === expected.join() ? undefined : `${run.id}: ${rights.join()}`
      },
    },
  },
  {
    name: 'W-PORT-05 W-PORT-06 a right moves from the one who has it, with the envelope that lists it',
    on: {
      port_right_transferred: (run, body) => {
        const right = run.rights.get(body.right_id)
        const envelope = run.envelopes.get(body.via_envelope)
        if (!right || !run.isActive(right)) return `${body.right_id} is not active`
        if (right.type === 'receive') return 'a right to receive moved'
        if (right.holder !== body.from_holder) return `${body.right_id} is held by ${right.holder}`
        const listed = envelope?.rights.some(each => each.type === right.type && each.target === right.target)
        const fits = listed && envelope?.from === body.from_holder && envelope.to === body.to_holder
        return fits ? undefined : `${body.via_envelope} does not carry ${body.right_id}`
      },
      port_right_revoked: (run, body) => {
        const right = run.rights.get(body.right_id)
        if (!right || !run.isActive(right)) return `${body.right_id} is not active`
        return right.type === 'receive' ? 'a right to receive was revoked' : undefined
      },
    },
  },
]

function stranded(run: RunModel, id: string): string | undefined {
  const workspace = run.workspaces.get(id)
  if (!workspace || workspace.channels.size === 0 || TAKES_MAIL.includes(workspace.status)) return undefined
  return `${[...workspace.channels.values()].flat().join(', ')} for ${id}, which is ${workspace.status}`
}
