// Sealing of what is kept beside the trail (states of runs): a stream of chunks by XChaCha20-Poly1305, so that a large
// state neither holds up the event loop nor can be cut or put together anew. Bound to its run.
//
//   8 bytes id of the secret · 24 bytes header · chunks of at most `trailLimits.sealedChunkBytes` and a tag each,
//   the last one marked
import type { RunId } from '@parley/core'
import { sodium } from '@parley/keys/sodium'
import { trailLimits } from '../limits.ts'
import { pause } from '../log/pause.ts'
import type { ContentKeys } from './keys.ts'

const HEADER = sodium.crypto_secretstream_xchacha20poly1305_HEADERBYTES
const TAG = sodium.crypto_secretstream_xchacha20poly1305_ABYTES
const MORE = sodium.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE
const LAST = sodium.crypto_secretstream_xchacha20poly1305_TAG_FINAL
const CHUNK = trailLimits.sealedChunkBytes

export async function sealState(keys: ContentKeys, run: RunId, content: Uint8Array): Promise<Buffer[]> {
  const state = Buffer.alloc(sodium.crypto_secretstream_xchacha20poly1305_STATEBYTES)
  const header = Buffer.alloc(HEADER)
  sodium.crypto_secretstream_xchacha20poly1305_init_push(state, header, keys.ofState(run))
  const parts = [Buffer.from(keys.id, 'hex'), header]
  const bound = Buffer.from(run, 'latin1')
  for (let at = 0; ; at += CHUNK) {
    const plain = Buffer.from(content.buffer, content.byteOffset + at, Math.min(CHUNK, content.length - at))
    const last = at + CHUNK >= content.length
    const sealed = Buffer.allocUnsafe(plain.length + TAG)
    sodium.crypto_secretstream_xchacha20poly1305_push(state, sealed, plain, bound, last ? LAST : MORE)
    parts.push(sealed)
    if (last) return parts
    await pause()
  }
}

/** Undefined for what was not sealed with this secret for this run, or is not whole. */
export async function openState(keys: ContentKeys, run: RunId, content: Uint8Array): Promise<Uint8Array | undefined> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  const id = Buffer.from(keys.id, 'hex')
  const start = id.length + HEADER
  if (bytes.length < start + TAG || !bytes.subarray(0, id.length).equals(id)) return undefined
  const state = Buffer.alloc(sodium.crypto_secretstream_xchacha20poly1305_STATEBYTES)
  const header = bytes.subarray(id.length, start)
  sodium.crypto_secretstream_xchacha20poly1305_init_pull(state, header, keys.ofState(run))
  const plain = Buffer.allocUnsafe(bytes.length - start - Math.ceil((bytes.length - start) / (CHUNK + TAG)) * TAG)
  const tag = Buffer.alloc(sodium.crypto_secretstream_xchacha20poly1305_TAGBYTES)
  const bound = Buffer.from(run, 'latin1')
  let filled = 0
  for (let at = start; at < bytes.length; at += CHUNK + TAG) {
    const sealed = bytes.subarray(at, at + CHUNK + TAG)
    if (sealed.length < TAG) return undefined
    const target = plain.subarray(filled, filled + sealed.length - TAG)
    try {
      sodium.crypto_secretstream_xchacha20poly1305_pull(state, target, tag, sealed, bound)
    } catch {
      return undefined
    }
    filled += target.length
    const last = at + CHUNK + TAG >= bytes.length
    if ((tag[0] === LAST) !== last) return undefined
    if (!last) await pause()
  }
  return plain
}
