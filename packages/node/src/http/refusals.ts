// What the surface itself refuses, before or instead of an answer of what is mounted on it: a closed set of codes, each
// with its status. The body is the call protocol's response envelope (CALL-ENV-02), unless a plugin has one of its own.
import type { CallError } from '@parley/call'

const REFUSALS = {
  host_refused: [421, 'This node is not called so. Use one of its own names (http.names in config.yaml).'],
  origin_refused: [403, 'Pages of this origin may not send requests here (http.origins in config.yaml).'],
  rate_limited: [429, 'Too many requests; try again after the wait.'],
  overloaded: [503, 'Too many requests are in progress; try again.'],
  auth_required: [401, 'This needs a token: Authorization: Bearer …'],
  unauthorized: [401, 'The token is not valid.'],
  forbidden: [403, 'The token is not good for this.'],
  bad_request: [400, 'The request cannot be understood.'],
  invalid_json: [400, 'The body is not valid JSON.'],
  too_large: [413, 'The body is larger than is taken.'],
  headers_too_large: [431, 'The headers are larger than is taken.'],
  unsupported_media_type: [415, 'The body must be application/json.'],
  timeout: [408, 'The request did not arrive in time.'],
  not_found: [404, 'There is nothing here.'],
  too_many_streams: [429, 'Too many streams of this user are open; close one first.'],
  stopping: [503, 'The node is stopping.'],
  internal: [500, 'Something went wrong here; the log of the node has it under the correlation id.'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>

export type HttpRefusalCode = keyof typeof REFUSALS

export interface HttpRefusal {
  readonly code: HttpRefusalCode
  readonly status: number
  readonly message: string
  /** Seconds after which it may be tried again. */
  readonly retryAfter?: number | undefined
}

export function refusal(code: HttpRefusalCode, retryAfter?: number): HttpRefusal {
  const [status, message] = REFUSALS[code]
  return { code, status, message, ...(retryAfter !== undefined && { retryAfter }) }
}

const LATER: ReadonlySet<HttpRefusalCode> = new Set(['rate_limited', 'overloaded', 'stopping', 'too_many_streams'])

export function refusalBody({ code, message }: HttpRefusal, requestId: string): object {
  const error = { code, message, retryable: LATER.has(code) }
  return { requestId, result: { ok: false, error } }
}

/** What Fastify refuses by itself, by its codes. */
const OF_FASTIFY: Readonly<Record<string, HttpRefusalCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_BAD_URL: 'bad_request',
}

/** Undefined for a defect. */
export function knownRefusal(error: unknown): HttpRefusalCode | undefined {
  const { code, statusCode } = error as { readonly code?: string; readonly statusCode?: number }
  const known = code === undefined ? undefined : OF_FASTIFY[code]
  if (known !== undefined) return known
  if (error instanceof SyntaxError) return 'invalid_json'
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? 'bad_request' : undefined
}

/** Of errors of calls; of the codes of an operation's own, those that have a status with the same meaning. */
const OF_CALLS: Readonly<Record<string, number>> = {
  NOT_FOUND: 404,
  FORBIDDEN: 403,
  INVALID_INPUT: 400,
  INVALID_OPERATION_TYPE: 400,
  TIMEOUT: 504,
  ABORTED: 503,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  RESOURCE_EXHAUSTED: 429,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  not_found: 404,
  unknown_peer: 404,
  ambiguous: 409,
  invalid_state: 409,
  invalid_argument: 400,
  invalid_query: 400,
  permission_denied: 403,
  too_many_runs: 429,
  limit_reached: 429,
  overloaded: 503,
  machine_fault: 503,
  trail_unavailable: 503,
  unavailable: 503,
}

export function statusOf({ code, retryable }: CallError): number {
  return OF_CALLS[code] ?? (retryable ? 503 : 422)
}

/** Of a defect no more is told than that there is one. */
export function errorBody(error: CallError, requestId: string): object {
  const { code, message, retryable, details } = error
  const told =
    code === 'INTERNAL'
      ? { code, message: REFUSALS.internal[1], retryable }
      : { code, message, retryable, ...(details !== undefined && { details }) }
  return { requestId, result: { ok: false, error: told } }
}
