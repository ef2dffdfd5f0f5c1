// The content of a future archive: consecutive records and their list for the manifest. Nothing here touches a disk.
import { canonicalize } from '@parley/core'
import type { StoredEntry } from '../entry.ts'
import { damagedError } from '../errors.ts'
import { pause } from '../log/pause.ts'
import { KIND_ENTRY, readEntry, readObject, spanRecord } from '../log/record.ts'
import { globalEntry, sha256 } from '../run/chain.ts'
import type { Manifest } from './manifest.ts'

export interface Contents {
  readonly bytes: Buffer
  readonly entries: Manifest['entries']
  readonly objects: Manifest['objects']
}

/** Records between two turns of the event loop. */
const SLICE = 128

/** Lists records that lie one behind the other; `ordinals` are those of the objects among them. */
export async function contentsOf(packed: Uint8Array, ordinals: readonly number[] = []): Promise<Contents> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const entries: Manifest['entries'] = []
  const objects: Manifest['objects'] = []
  for (let at = 0; at < bytes.length; ) {
    const span = spanRecord(bytes, at, bytes.length)
    if (!span) throw damagedError(`A record at byte ${at} cannot be read; nothing was archived.`, { at })
    const length = span.end - at
    if (span.kind === KIND_ENTRY) {
      entries.push({ ...listed(readEntry(bytes, span)), at, length })
    } else {
      const { id, seq, blob } = readObject(bytes, span)
      objects.push({ id, seq, ordinal: ordinals[objects.length] ?? 0, at, length, blob: blob ?? null })
    }
    at = span.end
    if ((entries.length + objects.length) % SLICE === 0) await pause()
  }
  return { bytes, entries, objects }
}

function listed(stored: StoredEntry): Omit<Manifest['entries'][number], 'at' | 'length'> {
  const { id, timestamp, workspace, integrity } = globalEntry(stored)
  return {
    seq: stored.seq,
    id,
    timestamp,
    workspace,
    hash: stored.hash,
    local_hash: integrity.local_hash ?? null,
  }
}

/** H(canon([local hashes])), so that anyone can recompute it from the manifest or from the entries. */
export function archiveHashOf(entries: Manifest['entries']): string {
  return sha256(canonicalize(entries.map(({ local_hash, hash }) => local_hash ?? hash)))
}
