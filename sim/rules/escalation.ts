// Escalations and injections: what agents ask people, and what people write to agents.
import { isOver, ticksOf } from '../model/records.ts'
import { has, type Invariant } from './rule.ts'

export const escalationRules: readonly Invariant[] = [
  {
    name: 'W-HWY-20 W-SIG-12 an escalation is received once, behind its signal, and waits for the owner',
    on: {
      escalation_received: (run, body, { actor }) => {
        const signal = run.signals.get(body.signal_id)
        // What the coordinator asks has no signal: it emits none.
        if (actor === 'protocol' && (signal?.type !== 'escalation' || signal.from !== body.workspace))
          return `${body.signal_id} of ${body.workspace} is ${signal?.type}`
        if (actor !== 'protocol' && signal) return `${actor} asks with a signal of ${signal.from}`
        if (!run.highway?.escalation.enabled) return 'nobody takes escalations in this run'
        if (run.escalations.has(body.signal_id)) return `${body.signal_id} was received before`
        const { owner } = run.workspace(body.workspace)
        return body.addressee === owner ? undefined : `it goes to ${body.addressee}, the owner is ${owner}`
      },
    },
  },
  {
    name: 'W-HWY-22 an escalation ends once, by a person or by its fallback when its time is over',
    on: {
      escalation_resolved: (run, body) => {
        const escalation = run.escalations.get(body.signal_id)
        if (escalation?.workspace !== body.workspace) return `${body.signal_id} does not wait`
        if (body.response_type === 'abort' && body.actor === 'fallback') {
          const { status } = run.workspace(body.workspace)
          return status === 'active' || status === 'blocked' ? undefined : `it ends ${status} work`
        }
        if (body.response_type !== 'envelope') return undefined
        const envelope = run.envelopes.get(body.response_ref ?? '')
        return envelope?.to === body.workspace ? undefined : `${body.response_ref} is no answer`
      },
      escalation_timeout: (run, body, entry, batch) => {
        const escalation = run.escalations.get(body.signal_id)
        const timeout = run.highway?.escalation.timeout ?? null
        if (!escalation || escalation.answer !== null) return `${body.signal_id} waits for nobody`
        if (timeout === null || ticksOf(entry) < escalation.received + timeout * 1000)
          return `${body.signal_id} runs out before its time`
        const resolved = has(batch, 'escalation_resolved', each => each.signal_id === body.signal_id)
        return resolved ? undefined : `nothing comes of ${body.signal_id}`
      },
    },
    batch: run => {
      for (const { signal, workspace } of run.escalations.values())
        if (isOver(run.workspace(workspace).status)) return `${signal} of ${workspace}, which is over`
      return undefined
    },
  },
  {
    name: 'W-HWY-17 W-HWY-19 what a person writes is on record with the person, and becomes mail or is rejected',
    on: {
      human_injection: (_run, body, { actor }, batch) => {
        if (actor !== body.actor) return `${actor} records it for ${body.actor}`
        const type = body.status === 'delivered' ? 'envelope_created' : 'envelope_rejected'
        const next = batch.entries[batch.at + 1]
        const named = next?.body as { readonly envelope_id?: string; readonly originator?: string }
        if (next?.event_type !== type || named.envelope_id !== body.envelope_id) return `${next?.event_type} follows it`
        return type === 'envelope_rejected' || named.originator === actor ? undefined : 'it names another'
      },
      envelope_created: (_run, body, _entry, batch) => {
        if (body.origin !== 'human') return undefined
        const before = batch.entries[batch.at - 1]?.event_type
        return before === 'human_injection' ? undefined : `${before} stands before it`
      },
    },
  },
]
