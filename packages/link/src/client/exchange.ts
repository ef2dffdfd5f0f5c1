// One request and everything that comes back for it on a connection (ALP-ENV-12, ALP-UNIX-06, -08, ALP-TCP-11): chunks,
// then the answer.
import { type Clock, durationText, err, ok, ParleyError, type Result } from '@parley/core'
import type { Scribe, WireError } from '../envelope/envelope.ts'
import { type ReplayGuard, readResponse } from '../envelope/verify.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import type { Channel } from '../transport/channel.ts'
import { cancelled } from './dial.ts'

/** Why there is no result: the peer said so, signed; or something on the way, which never was on the wire. */
export type LinkFailure =
  | { readonly where: 'remote'; readonly error: WireError }
  | { readonly where: 'local'; readonly error: ParleyError }

export interface CallOptions {
  /** Milliseconds for connecting, and for each answer. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Gets the result of every chunk, in order; the next one is read when it is done. */
  readonly onChunk?: (result: WireValue) => void | Promise<void>
}

export interface Exchange extends CallOptions {
  readonly channel: Channel
  readonly scribe: Scribe
  readonly clock: Clock
  readonly to: string
  readonly method: string
  readonly params: WireObject
}

/** The result of the last envelope. After a local failure the connection is of no more use, and is closed. */
export async function exchange(options: Exchange): Promise<Result<WireValue, LinkFailure>> {
  const { channel, signal } = options
  const abort = () => channel.destroy()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const result = await converse(options)
    if (!result.ok && result.error.where === 'local') channel.destroy()
    return !result.ok && signal?.aborted ? local(cancelled()) : result
  } catch (cause) {
    channel.destroy()
    if (cause instanceof ParleyError) return local(cause)
    throw cause
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

async function converse(options: Exchange): Promise<Result<WireValue, LinkFailure>> {
  const { channel, scribe, clock, to, method, params, onChunk, timeoutMs = linkDefaults.callMs } = options
  const id = scribe.newId()
  const sent = await channel.send(scribe.request(to, id, method, announced(params, channel)), timeoutMs)
  if (!sent) return closed('before the request was sent')
  const expected = { self: scribe.identity.id, dialled: to, id, replay: onceEach() }
  for (;;) {
    const incoming = await channel.receive(timeoutMs)
    if (incoming === 'late')
      return failed('link_timeout', `The peer did not answer within ${durationText(timeoutMs)}.`, { retryable: true })
    if (incoming === 'violated') return failed('link_bad_response', 'The peer sent something that is not an answer.')
    if (typeof incoming === 'string') return closed('without an answer')
    const verdict = readResponse(incoming, { ...expected, now: clock.now() })
    if (!verdict.ok) {
      const { reason } = verdict
      return failed('link_bad_response', `The peer's answer cannot be used (${reason}).`, { details: { reason } })
    }
    if ('error' in verdict.body) return err({ where: 'remote', error: verdict.body.error })
    const { result, stream } = verdict.body
    if (stream !== 'chunk') return ok(result)
    await onChunk?.(result)
  }
}

/** A chunk that comes twice would be text that was said once. */
function onceEach(): ReplayGuard {
  const seen = new Set<string>()
  return (from, nonce) => {
    const pair = `${from} ${nonce}`
    if (seen.has(pair)) return 'replay'
    seen.add(pair)
    // The oldest has a timestamp by then that is not taken any more.
    const [oldest] = seen
    if (seen.size > linkLimits.responseNonces && oldest !== undefined) seen.delete(oldest)
    return undefined
  }
}

/** ALP-UNIX-04: servers keep their lines short towards a client that does not say how long a line it reads. */
function announced(params: WireObject, { carrier }: Channel): WireObject {
  return carrier === 'unix' ? { ...params, max_line: linkLimits.lineBytes } : params
}

function local(error: ParleyError): Result<never, LinkFailure> {
  return err({ where: 'local', error })
}

function failed(...error: ConstructorParameters<typeof ParleyError>): Result<never, LinkFailure> {
  return local(new ParleyError(...error))
}

/** ALP-UNIX-06: this is what being dropped looks like. */
function closed(when: string): Result<never, LinkFailure> {
  return failed(
    'link_empty_response',
    `empty response: the peer closed the connection ${when}. It may not have pinned this profile's key, its clock may differ by more than two minutes, or it was stopped.`,
  )
}
