// The handshake on a real socket (ALP-TCP-03, -06; ALP-NOISE-04, -08): three frames with a length of two bytes, of
// exactly the sizes that empty payloads have, within one time for all of them. A side that fails gets no further byte.
import type { Duplex } from 'node:stream'
import type { Clock } from '@parley/core'
import type { KeyPair } from '../identity/identity.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { type HandshakeOptions, Initiator, MESSAGE_BYTES, Responder, type Session } from '../noise/handshake.ts'
import { MessageSocket } from './message-socket.ts'
import { Frames } from './split.ts'

const HANDSHAKE_PREFIX = 2
const BULK_PREFIX = 4

/** A socket on which frames are cut as the handshake goes. */
export class NoiseSocket {
  readonly messages: MessageSocket
  readonly #frames = new Frames(HANDSHAKE_PREFIX, linkLimits.handshakeFrameBytes)

  constructor(socket: Duplex, clock: Clock) {
    this.messages = new MessageSocket(socket, this.#frames, clock)
  }

  /** ALP-TCP-04: from now on encrypted frames, of at most so many bytes. */
  bulk(most: number): void {
    this.#frames.change(BULK_PREFIX, most)
  }

  /** A frame of the handshake; undefined unless it is whole and has this size. */
  async take(bytes: number): Promise<Buffer | undefined> {
    const frame = await this.messages.receive()
    return typeof frame !== 'string' && frame.length === bytes ? frame : undefined
  }

  put(message: Buffer): Promise<boolean> {
    const length = Buffer.alloc(HANDSHAKE_PREFIX)
    length.writeUInt16BE(message.length)
    return this.messages.send(Buffer.concat([length, message]), linkDefaults.handshakeMs)
  }
}

/** The dialling side. Undefined is failure; the caller ends the connection, also when its time is over. */
export async function initiate(
  socket: NoiseSocket,
  own: KeyPair,
  responder: Buffer,
  options: HandshakeOptions,
): Promise<Session | undefined> {
  const handshake = new Initiator(own, responder, options)
  const first = handshake.first()
  if (!first || !(await socket.put(first))) return undefined
  const second = await socket.take(MESSAGE_BYTES[1])
  if (!second || !handshake.second(second)) return undefined
  const third = handshake.third()
  if (!third) return undefined
  // Before the answer can come: it is cut in the new way.
  socket.bulk(linkLimits.frameBytes)
  return (await socket.put(third.message)) ? third.session : undefined
}

/** The dialled side, once the first message is there. */
export async function respond(
  socket: NoiseSocket,
  first: Buffer,
  own: KeyPair,
  options: HandshakeOptions,
): Promise<Session | undefined> {
  const handshake = new Responder(own, options)
  if (!handshake.first(first)) return undefined
  const second = handshake.second()
  if (!second || !(await socket.put(second))) return undefined
  const third = await socket.take(MESSAGE_BYTES[2])
  return third && handshake.third(third)?.session
}
