// What a caller may say beside path and input, and when a request ends because of it.
import { CallError } from './error.ts'
import { callDefaults, callLimits } from './limits.ts'

export interface CallOptions {
  /** Milliseconds from now; 30 s by default, and never without end. */
  readonly timeout?: number
  /** Milliseconds since the Unix epoch, in place of `timeout`. */
  readonly deadline?: number
  readonly parentRequestId?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly forwardedFor?: unknown
  readonly authToken?: string
  readonly signal?: AbortSignal
  /** The operation is known to stream: the rest is cancelled with its first value. */
  readonly streams?: boolean
  /** The id of the request, if the caller needs to know it in advance. */
  readonly requestId?: string
}

export interface SubscribeOptions extends Omit<CallOptions, 'streams' | 'timeout'> {
  readonly timeout?: number
  /** Milliseconds allowed between two values. */
  readonly idleTimeout?: number
  /** The same, but only from the first value on, and not told to the other side. */
  readonly idleAfterValue?: number
  /** Values that may wait for the consumer; 32 by default. */
  readonly buffer?: number
  /** Whether the operation is known to answer once; the subscription then ends with its first value. */
  readonly single?: boolean
  /** Told when the stream ends without an error: completed, or aborted by either side. */
  readonly onEnd?: (aborted: boolean) => void
}

/** CALL-SUB-03: how many values may wait for their consumer. What is no number counts as not given. */
export function bufferOf(given: number | undefined, otherwise: number): number {
  const wanted = given === undefined || Number.isNaN(given) ? otherwise : given
  return Math.min(Math.max(1, wanted), callLimits.receiveBufferMost)
}

/** CALL-PEND-04: a call always ends. */
export function expiryOf(options: CallOptions, now: number): number | CallError {
  const { deadline, timeout = callDefaults.timeout } = options
  if (deadline !== undefined) {
    if (!Number.isFinite(deadline)) return new CallError('INVALID_INPUT', 'a deadline must be a finite number')
    return deadline <= now ? new CallError('TIMEOUT', 'the deadline has passed already') : deadline
  }
  if (!Number.isFinite(timeout) || timeout <= 0)
    return new CallError('INVALID_INPUT', 'a timeout must be a positive number')
  return Math.ceil(now + timeout)
}

/** A subscription may last for ever. */
export function subscriptionExpiry(
  { deadline, timeout, idleTimeout }: SubscribeOptions,
  now: number,
): number | CallError {
  if (idleTimeout !== undefined && !(Number.isFinite(idleTimeout) && idleTimeout >= 1))
    return new CallError('INVALID_INPUT', 'an idle timeout must be a number from 1 on')
  const due = deadline ?? (timeout === undefined ? Number.POSITIVE_INFINITY : now + timeout)
  if (Number.isNaN(due)) return new CallError('INVALID_INPUT', 'a deadline must be a number')
  return due <= now ? new CallError('TIMEOUT', 'the deadline has passed already') : due
}
