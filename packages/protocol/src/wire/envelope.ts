// What every answer has: the base envelope, the protocol's version and capabilities, errors (sections 2 and 9).
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { absent, marks, someText, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'

const version = Type.String({ pattern: '^[0-9]{1,4}\\.[0-9]{1,4}$' })
const capabilities = Type.Array(Type.String(), { uniqueItems: true })

/** ALX-ENV-02. */
export const protocolInfo = Type.Object({ protocol_version: version, capabilities })
export type ProtocolInfo = Wire<typeof protocolInfo>
export const { parse: parseProtocolInfo, is: isProtocolInfo } = sent(protocolInfo)

/** ALX-ENV-05: what a request says of itself. */
export const protocolOffer = Type.Object({
  protocol_version: version,
  capabilities: Type.Optional(Type.Array(Type.String())),
})
export const offered = { protocol: Type.Optional(protocolOffer) }

/** ALX-ERR-01. */
export const protocolError = Type.Object({
  type: Type.String({ minLength: 1, format: marks.errorType }),
  code: Type.String({ pattern: '^[A-Z][A-Z0-9_]{2,63}$', format: marks.errorCode }),
  message: someText,
  suggestion: Type.Optional(Type.String()),
  retryable: Type.Optional(Type.Boolean()),
  details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), issue: Type.String() }))),
})
export type ProtocolError = Wire<typeof protocolError>
export const { parse: parseProtocolError, is: isProtocolError } = sent(protocolError)

export const correlationId = Type.String({
  minLength: 1,
  maxLength: limits.correlationIdLength,
  format: marks.identifier,
})
const traced = { correlationId, protocol: protocolInfo }
/** ALX-ENV-03: no `error`, not even `null`, in an answer that is `ok`. */
export const succeeded = { ok: Type.Literal(true), ...traced, error: absent }
export const failed = { ok: Type.Literal(false), ...traced, error: protocolError }

/** ALX-ENV-01, open in both modes: the base of every answer, whatever else that one has. */
export const baseEnvelope = Type.Union([
  Type.Object(succeeded, { additionalProperties: true }),
  Type.Object(failed, { additionalProperties: true }),
])
export type BaseEnvelope = Wire<typeof baseEnvelope>
export const { parse: parseBaseEnvelope, is: isBaseEnvelope } = sent(baseEnvelope)

/** ALX-ENV-11: the answer of `GET /v1/protocol`. */
export const protocolEnvelope = Type.Object(succeeded)

/** ALX-ERR-02. `success` is there when a solve was refused before it became a run (ALX-SOLVE-04). */
export const protocolErrorEnvelope = Type.Object({
  ...failed,
  success: Type.Optional(Type.Literal(false)),
  code: Type.Optional(Type.String()),
})
export type ProtocolErrorEnvelope = Wire<typeof protocolErrorEnvelope>
export const { parse: parseProtocolErrorEnvelope, is: isProtocolErrorEnvelope } = sent(protocolErrorEnvelope, {
  emit: ({ code, error }) =>
    code === undefined || code === error.code ? undefined : { path: 'code', issue: 'must equal error.code' },
})
