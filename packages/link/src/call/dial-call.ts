// The dialling side of `parley-call/1`: a transport of the call protocol to the holder of a pinned key.
import { DuplexTransport, type Transport } from '@parley/call'
import { ok, type Principal, type Result } from '@parley/core'
import { type DialOptions, dialNoise } from '../client/dial.ts'
import type { HostPort, Target } from '../client/target.ts'
import { CALL_KIND, CALL_PROLOGUE } from './listen-call.ts'
import { NoiseStream } from './noise-stream.ts'

export type CallTarget = Target & { readonly at: HostPort }

/**
 * Refusals as of `dialNoise`: `target-offline`, `link_handshake_failed`, `link_handshake_timeout`, `link_cancelled`,
 * `link_bad_identity`. It does not show whether the other side has pinned us: if not, the transport closes at once.
 * `principal`: who the other side is to our operations, if we offer any.
 */
export async function dialCall(
  target: CallTarget,
  options: DialOptions & { readonly principal?: Principal },
): Promise<Result<Transport>> {
  const { clock, principal: identity } = options
  const dialled = await dialNoise(target.at, target.identity, { ...options, prologue: CALL_PROLOGUE })
  if (!dialled.ok) return dialled
  const { noise, session } = dialled.value
  return ok(new DuplexTransport(new NoiseStream(noise, session), { kind: CALL_KIND, clock, identity }))
}
