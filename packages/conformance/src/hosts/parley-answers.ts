// Parley's answers in the words of the kit: refusal codes, and entries.
import type { ParleyError, Result } from '@parley/core'
import type { Notice as ParleyNotice } from '@parley/kernel'
import type { Entry as TrailEntry } from '@parley/trail'
import type { Entry, Notice, Outcome, RefusalCode } from '../host.ts'
import { REFUSAL_CODES } from '../host.ts'

/** Codes of Parley's own that are a finer word for one of the sheets'. */
const FINER: Readonly<Record<string, RefusalCode>> = {
  invalid_query: 'INVALID_ARGUMENT',
  invalid_duration: 'INVALID_ARGUMENT',
  invalid_taxonomy: 'INVALID_ARGUMENT',
  retention_active: 'INVALID_STATE',
  limit_reached: 'INVALID_STATE',
  trail_degraded: 'TRAIL_UNAVAILABLE',
  run_halted: 'HALTED',
  trail_damaged: 'HALTED',
}

export function refusalOf(error: ParleyError): Outcome<never> {
  const { code, message, details } = error
  const known = REFUSAL_CODES.find(each => each === code.toUpperCase()) ?? FINER[code]
  if (known === undefined) throw error
  const reason = typeof details.reason === 'string' ? details.reason : code
  return { ok: false, refused: known, reason, message, about: details }
}

export function outcomeOf<T, V>(result: Result<T>, value: (given: T) => V): Outcome<V> {
  return result.ok ? { ok: true, value: value(result.value) } : refusalOf(result.error)
}

export const done = <V>(value: V): Outcome<V> => ({ ok: true, value })

export function entryOf(entry: TrailEntry): Entry {
  return entry as unknown as Entry
}

export function noticeOf(run: string, notice: ParleyNotice): Notice {
  const { to } = notice
  switch (notice.kind) {
    case 'unresolvable':
      return { to, kind: 'unresolvable', subject: notice.graph }
    case 'user':
      return { to, kind: 'user', subject: notice.user, detail: notice.event, user: notice.user }
    case 'escalation': {
      const user = 'addressee' in notice ? notice.addressee : notice.actor
      return { to, kind: 'escalation', subject: notice.signal, detail: notice.event, user }
    }
    case 'recovered':
      return { to, kind: 'recovered', subject: run }
    case 'undeliverable':
      return { to, kind: 'undeliverable', subject: notice.envelope }
    case 'security':
      return { to, kind: 'security', subject: notice.subject, detail: notice.event }
    case 'gate_opened':
    case 'gate_handed_over':
    case 'gate_ended':
      return { to, kind: 'gate', subject: notice.gate, detail: notice.kind.slice('gate_'.length) }
    default:
      return { to, kind: 'other', subject: '', detail: notice.kind }
  }
}
