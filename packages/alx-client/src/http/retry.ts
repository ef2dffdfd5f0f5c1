// What is tried again, and after how long (ALX-SDK-08). Without jitter: the same answers give the same pauses.
import type { ErrorCode } from '@alx/protocol'
import { AlxError, AlxTransportError } from '../errors.ts'
import { clientLimits } from '../limits.ts'

const RETRIED: readonly string[] = [
  'RATE_LIMITED',
  'UPSTREAM_UNAVAILABLE',
  'IDEMPOTENCY_IN_PROGRESS',
] satisfies readonly ErrorCode[]

/** The pause before the retry of this number, the first being 1. */
export function pauseMs(retry: number): number {
  return Math.min(clientLimits.firstPauseMs * 2 ** (retry - 1), clientLimits.longestPauseMs)
}

/** How long to wait before a request that may be repeated is; undefined: it must not be. */
export function retryPause(error: unknown, retry: number): number | undefined {
  if (error instanceof AlxTransportError) return error.reason === 'unreachable' ? pauseMs(retry) : undefined
  if (!(error instanceof AlxError) || !RETRIED.includes(error.code)) return undefined
  const { retryAfterMs = pauseMs(retry) } = error
  return retryAfterMs <= clientLimits.retryAfterMs ? retryAfterMs : undefined
}

/** `retry-after`: seconds or a date. */
export function retryAfterOf(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
