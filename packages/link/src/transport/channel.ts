// One envelope after another, both ways, over either carrier: lines on a Unix socket (ALP-UNIX-03), encrypted frames on
// TCP (ALP-TCP-04, -05).
import { ParleyError } from '@parley/core'
import { linkLimits } from '../limits.ts'
import { TAG_BYTES } from '../noise/cipher.ts'
import type { Session } from '../noise/handshake.ts'
import type { Incoming, MessageSocket } from './message-socket.ts'
import { sendSealed } from './sealed-frame.ts'

export const CARRIERS = ['unix', 'tcp'] as const
export type Carrier = (typeof CARRIERS)[number]

export interface Channel extends Pick<MessageSocket, 'closed' | 'ended' | 'end' | 'destroy'> {
  readonly carrier: Carrier
  /** The most bytes that one envelope may have. */
  readonly most: number
  /** The next envelope's bytes within the time; a frame that does not authenticate is `violated`. */
  receive(milliseconds: number): Promise<Incoming | 'late'>
  /** False if the connection is over or its reader takes nothing. Throws `link_too_large` above `most`. */
  send(envelope: Buffer, patienceMs: number): Promise<boolean>
}

const LINE_FEED = Buffer.from('\n')

export function lineChannel(socket: MessageSocket, most: number = linkLimits.lineBytes): Channel {
  return {
    ...ends(socket),
    carrier: 'unix',
    most,
    receive: milliseconds => socket.receiveWithin(milliseconds),
    send(envelope, patienceMs) {
      requireFits(envelope, most)
      return socket.send(Buffer.concat([envelope, LINE_FEED]), patienceMs)
    },
  }
}

export function noiseChannel(socket: MessageSocket, { sending, receiving }: Session): Channel {
  const most = linkLimits.frameBytes - TAG_BYTES
  return {
    ...ends(socket),
    carrier: 'tcp',
    most,
    async receive(milliseconds) {
      const incoming = await socket.receiveWithin(milliseconds)
      return typeof incoming === 'string' ? incoming : (receiving.decryptInPlace(incoming) ?? 'violated')
    },
    send(envelope, patienceMs) {
      requireFits(envelope, most)
      return sendSealed(socket, sending, envelope, { most, patienceMs })
    },
  }
}

function ends(socket: MessageSocket): Pick<Channel, 'closed' | 'ended' | 'end' | 'destroy'> {
  const { closed, ended } = socket
  return { closed, ended, end: patienceMs => socket.end(patienceMs), destroy: () => socket.destroy() }
}

function requireFits(envelope: Buffer, most: number): void {
  if (envelope.length <= most) return
  throw new ParleyError(
    'link_too_large',
    `A message of ${envelope.length} bytes passes the limit of ${most}; send less at once.`,
  )
}
