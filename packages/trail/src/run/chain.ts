// The two hash chains (W-TRAIL-11, 12, 14): canonical views, their hashes, and the anchor of the local in the global
// one. The canonical text is composed by hand, in the order of its keys, so that parts common to both views are encoded
// once.
import { hash } from 'node:crypto'
import { canonicalize, canonicalString } from '@parley/core'
import { type Entry, type EntryDraft, HASH_ALGORITHM, type StoredEntry } from '../entry.ts'

interface Linked {
  /** Canonical text of the global view, the preimage of `hash`. */
  readonly view: string
  readonly hash: string
  /** Absent for system-level entries, which join only the global chain. */
  readonly localHash: string | undefined
}

export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}

/** Links a draft behind the last entry of the run and the last one of its workspace. Throws `not_canonical`. */
export function link(draft: EntryDraft, lastGlobal: string | null, lastLocal: string | null): Linked {
  const shared = `{"actor":${canonicalString(draft.actor)},"body":${canonicalize(draft.body)},"event_type":"${draft.event_type}","id":${JSON.stringify(draft.id)},"integrity":{"algorithm":"${HASH_ALGORITHM}"`
  if (draft.workspace === null) {
    const view = `${shared}},"prev_hash":${quoted(lastGlobal)},"timestamp":"${draft.timestamp}","workspace":null}`
    return { view, hash: sha256(view), localHash: undefined }
  }
  const end = `,"timestamp":"${draft.timestamp}","workspace":${JSON.stringify(draft.workspace)}}`
  const localHash = sha256(`${shared}},"prev_hash":${quoted(lastLocal)}${end}`)
  const view = `${shared},"local_hash":"${localHash}"},"prev_hash":${quoted(lastGlobal)}${end}`
  return { view, hash: sha256(view), localHash }
}

function quoted(previous: string | null): string {
  return previous === null ? 'null' : `"${previous}"`
}

interface ParsedView extends EntryDraft {
  readonly prev_hash: string | null
  readonly integrity: { readonly algorithm: typeof HASH_ALGORITHM; readonly local_hash?: string }
}

export function globalEntry(stored: StoredEntry): Entry {
  const { integrity, ...view } = JSON.parse(stored.view) as ParsedView
  return {
    ...view,
    seq: stored.seq,
    integrity: {
      entry_hash: stored.hash,
      ...integrity,
      ...(stored.signature !== undefined && { signature: stored.signature }),
      ...(stored.signer !== undefined && { signer: stored.signer }),
    },
  }
}

/** The entry as its workspace's local scope shows it; `previous` is the local hash of the entry before it there. */
export function localEntry(entry: Entry, previous: string | null): Entry {
  return {
    ...entry,
    prev_hash: previous,
    integrity: { entry_hash: entry.integrity.local_hash ?? '', algorithm: HASH_ALGORITHM },
  }
}

/** The hash that a local view must have, computed from scratch. */
export function localHashOf(entry: EntryDraft, previous: string | null): string {
  return link(entry, null, previous).localHash ?? ''
}
