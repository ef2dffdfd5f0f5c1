// What the HTTP surface refuses before ALX sees it, in ALX's envelope (ALX-HTTP-06).
import { type ErrorCode, type ProtocolInfo, protocolErrorOf } from '@alx/protocol'
import type { HttpRefusal, HttpRefusalCode } from '../http/refusals.ts'

const CODES: Readonly<Record<HttpRefusalCode, ErrorCode>> = {
  host_refused: 'INVALID_REQUEST',
  origin_refused: 'UNAUTHORIZED',
  rate_limited: 'RATE_LIMITED',
  overloaded: 'UPSTREAM_UNAVAILABLE',
  auth_required: 'AUTH_REQUIRED',
  unauthorized: 'UNAUTHORIZED',
  forbidden: 'UNAUTHORIZED',
  bad_request: 'INVALID_REQUEST',
  invalid_json: 'INVALID_REQUEST',
  too_large: 'REQUEST_TOO_LARGE',
  headers_too_large: 'INVALID_REQUEST',
  unsupported_media_type: 'UNSUPPORTED_MEDIA_TYPE',
  timeout: 'INVALID_REQUEST',
  not_found: 'NOT_FOUND',
  too_many_streams: 'RATE_LIMITED',
  stopping: 'UPSTREAM_UNAVAILABLE',
  internal: 'INTERNAL_ERROR',
}

/** `solves`: of the solve route, whose refusals say `success: false` too (ALX-SOLVE-04). */
export function alxRefusal(
  { code, message }: Pick<HttpRefusal, 'code' | 'message'>,
  correlationId: string,
  protocol: ProtocolInfo,
  solves: boolean,
): object {
  const error = protocolErrorOf(CODES[code], message)
  return { ...(solves && { success: false }), ok: false, correlationId, protocol, error }
}
