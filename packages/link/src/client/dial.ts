// Connecting to a peer (ALP-UNIX-06, ALP-TCP-06, -11): one that cannot be reached is offline; one that is reached but
// does not hold the pinned key is a failure of another kind.
import { connect, type Socket } from 'node:net'
import { type Clock, durationText, err, ok, ParleyError, type Result, refuse } from '@parley/core'
import { localError } from '../errors.ts'
import { x25519Image } from '../identity/curve.ts'
import { type LinkIdentity, publicKeyOf } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import type { Session } from '../noise/handshake.ts'
import { type Channel, lineChannel, noiseChannel } from '../transport/channel.ts'
import { initiate, NoiseSocket } from '../transport/handshake-io.ts'
import { unbracketed } from '../transport/listen-noise.ts'
import { MessageSocket } from '../transport/message-socket.ts'
import { Lines } from '../transport/split.ts'
import { within } from '../within.ts'
import type { HostPort, Target } from './target.ts'

export interface DialOptions {
  readonly own: LinkIdentity
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export async function dial({ at, identity, lineBytes }: Target, options: DialOptions): Promise<Result<Channel>> {
  if (!('path' in at)) {
    const dialled = await dialNoise(at, identity, options)
    return dialled.ok ? ok(noiseChannel(dialled.value.noise.messages, dialled.value.session)) : dialled
  }
  const socket = await connected(connect({ path: at.path, allowHalfOpen: true }), at.path, options)
  if (!socket.ok) return socket
  const messages = new MessageSocket(socket.value, new Lines(linkLimits.lineBytes), options.clock)
  // The line feed counts where an early revision counts it.
  return ok(lineChannel(messages, lineBytes ?? linkLimits.cautiousLineBytes - 1))
}

/** The handshake with the holder of the key of `identity`; with a prologue of its own it is another protocol's. */
export async function dialNoise(
  { host, port }: HostPort,
  identity: string,
  options: DialOptions & { readonly prologue?: Buffer },
): Promise<Result<{ readonly noise: NoiseSocket; readonly session: Session }>> {
  const key = publicKeyOf(identity)
  const remote = key && x25519Image(key)
  if (!remote) return refuse('link_bad_identity', `"${identity}" is not the public key of a peer; pin it again.`)
  const name = `${host}:${port}`
  const { clock, own, prologue } = options
  // A peer that is gone without a word is noticed, however long nobody speaks.
  const keepAlive = { keepAlive: true, keepAliveInitialDelay: linkDefaults.keepAliveMs }
  const connecting = connect({ host: unbracketed(host), port, allowHalfOpen: true, noDelay: true, ...keepAlive })
  const socket = await connected(connecting, name, options)
  if (!socket.ok) return socket
  const noise = new NoiseSocket(socket.value, clock)
  const patience = Math.min(options.timeoutMs, linkDefaults.handshakeMs)
  const session = await within(clock, patience, initiate(noise, own.noise, remote, { prologue }))
  if (session && session !== 'late') return ok({ noise, session })
  noise.messages.destroy()
  if (session === 'late') {
    const message = `${name} did not finish the handshake within ${patience} ms.`
    return refuse('link_handshake_timeout', message, { retryable: true })
  }
  return refuse(
    'link_handshake_failed',
    `${name} did not prove to be the pinned peer; compare its fingerprint with its owner's.`,
  )
}

/** ALP-UNIX-06, ALP-TCP-11: any failure to connect is `target-offline`. */
function connected(socket: Socket, name: string, { clock, timeoutMs, signal }: DialOptions): Promise<Result<Socket>> {
  return new Promise(resolve => {
    const finish = (result: Result<Socket>) => {
      cancel()
      signal?.removeEventListener('abort', aborted)
      socket.off('error', failed)
      // From here to its first reader nothing may be missed, or end the process.
      socket.on('error', () => undefined)
      if (!result.ok) socket.destroy()
      resolve(result)
    }
    const offline = (why: string, cause?: Error) => {
      const text = `${name} does not answer (${why}). Is the peer's node running?`
      finish(err(localError('target-offline', text, cause)))
    }
    const failed = (cause: NodeJS.ErrnoException) => offline(cause.code ?? cause.message, cause)
    const aborted = () => finish(err(cancelled()))
    const late = () => offline(`no connection within ${durationText(timeoutMs)}`)
    const cancel = clock.after(timeoutMs, late, { background: true })
    socket.once('error', failed)
    socket.once('connect', () => finish(ok(socket)))
    signal?.addEventListener('abort', aborted, { once: true })
    if (signal?.aborted) aborted()
  })
}

export function cancelled(): ParleyError {
  return new ParleyError('link_cancelled', 'The request was given up.')
}
