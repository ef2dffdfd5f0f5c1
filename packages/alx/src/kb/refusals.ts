// Refusals of the registry and of settlements, as values of the protocol. What the library refuses is translated: its
// own words may name files, so they stay inside.
import { protocolErrorOf, type Result } from '@alx/protocol'
import type { ParleyError } from '@parley/core'

export type Refusal = Extract<Result<never>, { ok: false }>

export function refused(...error: Parameters<typeof protocolErrorOf>): Refusal {
  return { ok: false, error: protocolErrorOf(...error) }
}

/** Throws what is a defect. */
export function libraryRefusal(error: ParleyError): Refusal {
  if (error.retryable) return unavailable()
  if (error.code === 'permission_denied') return refused('UNAUTHORIZED', 'this user may not write to the library')
  if (error.code === 'invalid_argument')
    return refused('INVALID_REQUEST', 'the library cannot keep this: it is too large, or not plain JSON')
  throw error
}

export function unavailable(): Refusal {
  return refused('UPSTREAM_UNAVAILABLE', 'the library cannot be read or written at the moment', {
    suggestion: 'Ask again: the same request has its effect once.',
  })
}

export function kbNotFound(kbHash: string): Refusal {
  return refused('KB_NOT_FOUND', `no Knowledge Block ${kbHash} is known`)
}

export function invalidRequest(path: string, issue: string): Refusal {
  return refused('INVALID_REQUEST', `${path} ${issue}`, { details: [{ path, issue }] })
}
