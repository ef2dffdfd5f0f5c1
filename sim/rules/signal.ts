// Signals: who may emit, where they go, in which order, how often.
import type { SignalType } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { type Invariant, touched } from './rule.ts'
import { OBSERVERS } from './workspace.ts'

/** W-SIG-01, column "who may emit", as far as agents emit by themselves. */
const WORKER: readonly SignalType[] = ['ready', 'started', 'blocked', 'checkpoint', 'complete', 'failed', 'escalation']
const OBSERVER: readonly SignalType[] = ['ready', 'started', 'complete', 'failed', 'escalation']
const ROOT: readonly SignalType[] = ['ready', 'started', 'failed', 'integrate', 'acknowledged', 'suspend', 'migrate']
/** What operations of a delegate emit for it. */
const OPERATIONS: readonly SignalType[] = ['integrate', 'suspend', 'migrate']

export const signalRules: readonly Invariant[] = [
  {
    name: 'W-SIG-01 W-SIG-05 agents emit what their role may, and nothing while they are paused',
    on: {
      signal_emitted: (run, body, { actor, workspace }) => {
        const from = run.workspaces.get(body.from)
        if (!from) return `${body.from} does not exist`
        if (actor === 'protocol') return undefined
        if (workspace === null) return undefined
        // An abort, or the end of an integration, speaks for the workspace that fails.
        if (body.type === 'failed' && actor !== from.role) return undefined
        const may = from.parent === null ? ROOT : OBSERVERS.has(from.role) ? OBSERVER : WORKER
        const allowed = may.includes(body.type) || (from.delegate && OPERATIONS.includes(body.type))
        if (!allowed) return `${from.role} emitted ${body.type}`
        const paused = from.status === 'suspended' || from.status === 'migrating'
        return paused && body.type !== 'failed' ? `${from.id} emitted ${body.type} while ${from.status}` : undefined
      },
    },
  },
  {
    name: 'W-SIG-03 W-SIG-04 W-SIG-08 W-SIG-10 a signal goes to the parent, a receipt to the sender, a late one nowhere',
    on: {
      signal_delivered: (run, body) => {
        const signal = run.signals.get(body.signal_id)
        if (!signal || signal.from !== body.from) return `${body.signal_id} was not emitted by ${body.from}`
        return signal.to === body.delivered_to
          ? undefined
          : `${signal.type} ${signal.id} goes to ${signal.to}, not to ${body.delivered_to}`
      },
    },
  },
  {
    name: 'W-SIG-06 W-CONC-04 from one workspace to one receiver the order of delivery is that of emission',
    on: {
      signal_delivered: (run, body) => {
        const signal = run.signals.get(body.signal_id)
        if (!signal || signal.deliveries > 0) return undefined
        const [first] = run.waiting.get(`${body.from} ${body.delivered_to}`) ?? []
        return first === body.signal_id ? undefined : `${body.signal_id} overtook ${first}`
      },
    },
  },
  {
    name: 'W-SIG-09 a signal is delivered once unless the transport repeats it',
    on: {
      signal_delivered: (run, body, _entry, batch) =>
        batch.carriesSignals || run.signals.get(body.signal_id)?.deliveries === 0
          ? undefined
          : `${body.signal_id} is delivered again`,
    },
  },
  {
    name: 'W-SIG-06 A-40 a paused receiver gets no signal, a blocked parent none of its children',
    on: {
      signal_delivered: (run, body) => {
        const signal = run.signals.get(body.signal_id)
        // A repetition is on record at once; it is not processed.
        if (!signal || signal.deliveries > 0) return undefined
        return takes(run, body.from, body.delivered_to)
          ? undefined
          : `${body.delivered_to} is ${run.workspace(body.delivered_to).status}`
      },
    },
  },
  {
    name: 'W-SIG-06 where signals do not travel, none waits for a receiver that could take it',
    batch: (run, batch) => {
      if (batch.carriesSignals) return undefined
      const ids = touched(batch)
      for (const [pair, signals] of run.waiting) {
        const [from, to] = pair.split(' ') as [string, string]
        if ((ids.has(from) || ids.has(to)) && takes(run, from, to)) return `${signals[0]} waits for ${to}`
      }
      return undefined
    },
  },
  {
    name: 'W-SIG-07 only mail is acknowledged',
    on: {
      signal_emitted: (run, body, { actor }) =>
        body.type === 'acknowledged' && actor === 'protocol' && !run.envelopes.has(body.ref ?? '')
          ? `${body.ref} is no envelope`
          : undefined,
    },
  },
]

export function takes(run: RunModel, from: string, to: string): boolean {
  const receiver = run.workspaces.get(to)
  if (!receiver || receiver.parent === null) return receiver !== undefined
  if (receiver.status === 'suspended' || receiver.status === 'migrating') return false
  return !(receiver.status === 'blocked' && run.workspaces.get(from)?.parent === to)
}
