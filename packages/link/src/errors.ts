// The errors of ALP (ALP-ERR): those on the wire, each with its code and data, those that stay local, and the one that
// ends the text of an answer. A message that is itself wrong gets none of them: it is dropped.
import { ParleyError } from '@parley/core'
import type { WireError } from './envelope/envelope.ts'
import { float, integerOf, isWireObject, type WireObject, type WireValue } from './json/value.ts'

/** ALP-ERR-01. Several reasons share a code: test the message. */
export const WIRE_CODES = {
  'capability-denied': -32001,
  'rate-limited': -32005,
  'budget-exceeded': -32005,
  'target-busy': -32007,
  'workgroup-not-member': -32008,
  'workgroup-not-hub': -32008,
  'workgroup-not-joined': -32008,
  'workgroup-not-found': -32009,
  'workgroup-paused': -32010,
  'workgroup-full': -32010,
  'invalid-request': -32600,
  'method-not-found': -32601,
  'invalid-params': -32602,
  'internal-error': -32603,
} as const
export type WireErrorName = keyof typeof WIRE_CODES

export function wireError(message: WireErrorName, data: WireObject | null = null): WireError {
  return { code: WIRE_CODES[message], message, data }
}

export const RATE_WINDOW_SECONDS = 60

/** The errors of dispatch (ALP-SRV-01), with the data that ALP-ERR-01 gives them. */
export const dispatchErrors = {
  /** ALP-SRV-04: for authentic requests only. Nobody is told what is wrong with an envelope. */
  invalidRequest: (detail: string) => wireError('invalid-request', { detail }),
  capabilityDenied: (method: string) => wireError('capability-denied', { method }),
  rateLimited: () => wireError('rate-limited', { window_seconds: RATE_WINDOW_SECONDS }),
  methodNotFound: () => wireError('method-not-found'),
  budgetExceeded: (cap: number, used: number) =>
    wireError('budget-exceeded', { cap_kind: 'usd', cap: float(cap), used: float(used) }),
  targetBusy: (detail: string) => wireError('target-busy', { detail }),
  invalidParams: (detail: string) => wireError('invalid-params', { detail }),
  internal: (detail: string) => wireError('internal-error', { detail }),
} as const

/** ALP-ERR-04: the `error` of a response, with what is missing filled in. */
export function readWireError(value: WireValue | undefined): WireError {
  const error = isWireObject(value) ? value : {}
  const code = integerOf(error.code)
  return {
    code: typeof code === 'number' ? code : WIRE_CODES['internal-error'],
    message: typeof error.message === 'string' ? error.message : 'unknown',
    data: isWireObject(error.data) ? error.data : null,
  }
}

/** ALP-ERR-03: symbols that never cross a wire. */
export const LOCAL_SYMBOLS = [
  'target-offline',
  'task-missing-slug',
  'budget-exceeded',
  'turn-rotation',
  'closure-quorum',
  'stale-round',
  'hub-cannot-skip',
  'hub-cannot-working',
  'unknown-participant',
  'pipeline-task-untargeted',
] as const
export type LocalSymbol = (typeof LOCAL_SYMBOLS)[number]

/** ALP-ERR-03: the symbol is the code of the error and begins its text. */
export function localError(symbol: LocalSymbol, text: string, cause?: unknown): ParleyError {
  return new ParleyError(symbol, `${symbol}: ${text}`, { retryable: symbol === 'target-offline', cause })
}

const SEGMENT_MARK = '[error] '

/** ALP-ASK-04: the last segment of an answer whose turn failed: all that reference peers say. Ours add `failed`. */
export function errorSegment(error: string): string {
  return `${SEGMENT_MARK}${error}`
}

/** The error in the last segment of a text, if there is one. */
export function errorIn(text: string): string | undefined {
  const blank = text.lastIndexOf('\n\n')
  const last = blank < 0 ? text : text.slice(blank + 2)
  return last.startsWith(SEGMENT_MARK) ? last.slice(SEGMENT_MARK.length) : undefined
}
