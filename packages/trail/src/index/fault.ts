// What an index refuses or finds wrong, in a form that crosses threads. Not a ParleyError, because the worker would
// have to load all of core, which triples its start; error.ts converts it on the caller's side.
import type { ParleyErrorJson } from '@parley/core'

export class IndexFault extends Error {
  readonly code: string
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, options: { retryable?: boolean; details?: Record<string, unknown> } = {}) {
    super(message)
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }
}

export function invalidQuery(message: string): IndexFault {
  return new IndexFault('invalid_query', `The query ${message}.`)
}

/** A fault stays what it is; anything else that was thrown means that the index does not work, which may pass. */
export function faultJson(thrown: unknown): ParleyErrorJson {
  if (thrown instanceof IndexFault) {
    return {
      code: thrown.code,
      message: thrown.message,
      retryable: thrown.retryable,
      details: thrown.details,
    }
  }
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  return {
    code: 'index_failed',
    message: `The index of the trail failed: ${reason}`,
    retryable: true,
    details: systemOf(thrown),
  }
}

/** What the machine said: a fault of it must be told from one of the index (`machineFaultOf` of core reads it). */
function systemOf(thrown: unknown): Record<string, unknown> {
  const { code, errcode, path } = thrown as Partial<Record<string, unknown>>
  if (typeof code !== 'string') return {}
  return { system: code, ...(errcode !== undefined && { errcode }), ...(path !== undefined && { path }) }
}
