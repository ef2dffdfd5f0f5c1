// The public names of @parley/alx-client. Types of messages are those of @alx/protocol.
export {
  type AlxClient,
  type ClientOptions,
  createAlxClient,
  type SessionQuery,
  type TimelineQuery,
} from './client.ts'
export {
  AlxError,
  AlxProtocolViolation,
  AlxTransportError,
  type FailedRun,
  type TransportFailure,
} from './errors.ts'
export type { CallOptions } from './http/request.ts'
export { clientLimits } from './limits.ts'
export type { OnUnknownEvent, UnknownEvent } from './stream/position.ts'
export type { SolveStream } from './stream/solve-stream.ts'
export type { Timing } from './timing.ts'
