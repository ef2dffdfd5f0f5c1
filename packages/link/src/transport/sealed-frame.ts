// Bulk frames (ALP-TCP-04): a length of four bytes, then ciphertext and tag. Large ones are written in buffers that are
// used again: a new one for each frame costs more than the cipher, mostly in the garbage collector.
import { invariant } from '@parley/core'
import { linkLimits } from '../limits.ts'
import { type CipherState, TAG_BYTES } from '../noise/cipher.ts'
import type { MessageSocket } from './message-socket.ts'

const PREFIX = 4
const OVERHEAD = PREFIX + TAG_BYTES
/** Bytes up to which the platform's own pool is as good. */
const SMALL = 4096

/** Buffers of one size that are not in use: what was in them is on the wire already. */
const free: Buffer[] = []

/**
 * Sends the plaintext in frames of at most so many bytes each, in one write; the result is that of
 * `MessageSocket.send`. The socket is one of the system, which has copied what it has taken.
 */
export async function sendSealed(
  socket: MessageSocket,
  sending: CipherState,
  plaintext: Buffer,
  { most, patienceMs }: { readonly most: number; readonly patienceMs?: number },
): Promise<boolean> {
  const size = plaintext.length + Math.ceil(plaintext.length / most) * OVERHEAD
  const pooled = size > SMALL && size <= linkLimits.pooledBytes
  const buffer = pooled ? (free.pop() ?? Buffer.allocUnsafeSlow(linkLimits.pooledBytes)) : Buffer.allocUnsafe(size)
  let end = 0
  for (let at = 0; at < plaintext.length; at += most)
    end += sealInto(buffer, end, sending, plaintext.subarray(at, at + most))
  invariant(end === size, 'sealed frames take the room that was made for them')
  const sent = await socket.send(buffer.subarray(0, end), patienceMs)
  // One that was not sent may still be in the system's hands.
  if (pooled && sent && free.length < linkLimits.pooledBuffers) free.push(buffer)
  return sent
}

/** Writes one frame and returns its length. */
function sealInto(target: Buffer, at: number, sending: CipherState, plaintext: Buffer): number {
  const length = plaintext.length + TAG_BYTES
  target.writeUInt32BE(length, at)
  sending.encrypt(target.subarray(at + PREFIX, at + PREFIX + length), plaintext)
  return PREFIX + length
}
