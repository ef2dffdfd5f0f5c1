// What calls throw (ALX-SDK-05, -06). An abort throws the reason of the caller's signal, as `fetch` does.
import {
  ERROR_TYPES,
  isSolveResponse,
  type ProtocolError,
  type ProtocolErrorEnvelope,
  type SolveResponse,
} from '@alx/protocol'

export type FailedRun = Extract<SolveResponse, { readonly ok: false }>
type ErrorType = (typeof ERROR_TYPES)[number]

/** The server said no, or the run failed: an answer with `ok: false`. */
export class AlxError extends Error {
  override readonly name = 'AlxError'
  /** Stable. One that this version does not know is passed on as it is; decide by `type` then (ALX-ERR-04). */
  readonly code: string
  /** `internal` for a type that this version does not know. */
  readonly type: ErrorType
  readonly suggestion: string | undefined
  /** The server's hint whether the same request may succeed later. */
  readonly retryable: boolean | undefined
  readonly details: ProtocolError['details']
  readonly correlationId: string
  /** 200 for a run that failed while it was streamed (ALX-HTTP-05). */
  readonly httpStatus: number
  readonly envelope: ProtocolErrorEnvelope | FailedRun
  /** What the server asked for by `retry-after`. */
  readonly retryAfterMs: number | undefined

  constructor(envelope: ProtocolErrorEnvelope | FailedRun, httpStatus: number, retryAfterMs?: number) {
    const { code, type, message, suggestion, retryable, details } = envelope.error
    super(message)
    this.code = code
    this.type = ERROR_TYPES.find(known => known === type) ?? 'internal'
    this.suggestion = suggestion
    this.retryable = retryable
    this.details = details
    this.correlationId = envelope.correlationId
    this.httpStatus = httpStatus
    this.envelope = envelope
    this.retryAfterMs = retryAfterMs
  }

  /** The run that failed; undefined if the request was refused before there was one. */
  get run(): FailedRun | undefined {
    const { envelope } = this
    return isSolveResponse(envelope) && !envelope.ok ? envelope : undefined
  }
}

/** The answer is not one that the protocol allows. `rule` is the broken rule, such as `WG-08`. */
export class AlxProtocolViolation extends Error {
  override readonly name = 'AlxProtocolViolation'
  readonly rule: string

  constructor(rule: string, what: string, request: string) {
    super(`${request} was answered against ${rule} of the ALX Protocol: ${what}. Report this to the server's operator.`)
    this.rule = rule
  }
}

/**
 * - `unreachable`: nothing was answered.
 * - `interrupted`: the connection was lost in the middle of an answer.
 * - `timeout`: no whole answer within `timeoutMs`.
 * - `too_large`: the answer is larger than a bound of the client.
 */
export type TransportFailure = 'unreachable' | 'interrupted' | 'timeout' | 'too_large'

/** There is no whole answer. What was requested may have happened all the same. */
export class AlxTransportError extends Error {
  override readonly name = 'AlxTransportError'
  readonly reason: TransportFailure
  /** Of a solve: repeat the call with it to get the answer of the same run. */
  readonly idempotencyKey: string | undefined

  constructor(reason: TransportFailure, message: string, more: { cause?: unknown; idempotencyKey?: string } = {}) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined)
    this.reason = reason
    this.idempotencyKey = more.idempotencyKey
  }
}
