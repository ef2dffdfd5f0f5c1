// Escalations for tests: a run that takes them, agents that raise them, and the rows that they leave on the trail.
import { type SignalId, unwrap } from '@parley/core'
import type { EscalationFallback } from '@parley/trail/events'
import type { EscalationAnswer } from '../highway/answer.ts'
import type { EscalationNotice } from '../runtime/notice.ts'
import type { Fixture, FixtureOptions, Row } from './fixture.ts'
import { withUsers } from './people.ts'

export const MINUTE = 60_000

export interface HighwayOptions extends FixtureOptions {
  readonly timeout?: number | null
  readonly fallback?: EscalationFallback
  readonly enabled?: boolean
}

/** A run whose highway takes escalations and has no gates. */
export function highway(options: HighwayOptions = {}): Promise<Fixture> {
  const { timeout = MINUTE, fallback = 'delegate_to_coordinator', enabled = true, ...rest } = options
  const escalation = { timeout, fallback, enabled }
  return withUsers({ ...rest, run: { highway: { gates: { task_approval: false }, escalation } } })
}

/** Blocks and escalates, as W-HWY-20 has it; the signal of the escalation gets a name. */
export async function escalate(f: Fixture, name: string, signal: string, reason = 'help'): Promise<SignalId> {
  const agent = f.agent(name)
  if (agent.role === 'worker' && (await f.state(name)) === 'active') unwrap(await agent.blocked('stuck'))
  const { signal: id } = unwrap(await agent.escalate(reason))
  f.name(id!, signal)
  return id!
}

export const payload = { format: 'markdown', content: 'do this' }
export const reply: EscalationAnswer = { type: 'envelope', payload }

export function received(workspace: string, signal_id: string, addressee: string, queued = false): Row {
  return ['escalation_received', workspace, 'protocol', { signal_id, workspace, reason: 'help', addressee, queued }]
}

export function resolved(workspace: string, signal_id: string, actor: string, response: object): Row {
  return ['escalation_resolved', workspace, actor, { signal_id, workspace, actor, ...response }]
}

export function unreceived(user: string, target: string, reason: string): Row {
  const capability = 'receive_escalation'
  return [
    'capability_denied',
    null,
    'protocol',
    { user_id: user, capability, action: 'escalation_delivery', target, reason },
  ]
}

/** What the coordinator was told about escalations since it was last asked. */
export function heard(f: Fixture): string[] {
  return f.notices
    .splice(0)
    .filter((notice): notice is EscalationNotice & { to: never } => notice.kind === 'escalation')
    .map(notice => {
      const who = notice.event === 'resolved' ? `${notice.response} by ${notice.actor}` : notice.addressee
      const queued = notice.event === 'received' && notice.queued ? ' queued' : ''
      return `${f.nameOf(notice.signal)} ${notice.event} ${who}${queued}`
    })
}
