// The trail entry (W-TRAIL-01), as passed in, stored and read. `seq` is not hashed; order, paging and cursors use it.
import type { EntryId, ObjectId, RunId, Timestamp, WorkspaceId } from '@parley/core'
import type { ContentProof } from './content/cipher.ts'
import type { ContentScope } from './content/scope.ts'
import type { EventBody, EventType } from './events/index.ts'
import { eventDefinition } from './events/registry.ts'

export const HASH_ALGORITHM = 'sha-256'

/** An entry before the trail links it. The runtime assigns `id` and `timestamp`; nobody supplies hashes. */
export interface EntryDraft<T extends EventType = EventType> {
  readonly id: EntryId
  readonly timestamp: Timestamp
  readonly workspace: WorkspaceId | null
  readonly actor: string
  readonly event_type: T
  readonly body: EventBody<T>
}

/** An entry that the trail asks the runtime to append; the stamp fills in a body's copy of the timestamp. */
export type ProposedEntry<T extends EventType = EventType> = {
  readonly [E in T]: {
    readonly event_type: E
    readonly workspace: WorkspaceId | null
    readonly actor: string
    readonly body: Omit<EventBody<E>, 'timestamp'>
  }
}[T]

/** Makes a draft of a proposal (AMB-42: a timestamp in the body equals the header's). */
export function stamp(proposal: ProposedEntry, id: EntryId, timestamp: Timestamp): EntryDraft {
  const repeats = 'timestamp' in (eventDefinition(proposal.event_type).body as { properties?: object }).properties!
  const body = repeats ? { ...proposal.body, timestamp } : proposal.body
  return { ...proposal, id, timestamp, body: body as EventBody }
}

/** What entries refer to by id: payloads, task texts, contexts, markers. Never returned by trail queries. */
export interface TrailObject {
  readonly id: ObjectId
  readonly kind: string
  readonly value: unknown
  /** What is wrong with its proof, as it was read by a trail with a secret (W-SEC-16). */
  readonly proof?: Exclude<ContentProof, 'valid'>
  /** Its content is gone: why. The value is then undefined. */
  readonly lost?: string
  /** Whose content it is, where keys are per workspace; by default its run's. Not stored where nothing is sealed. */
  readonly scope?: ContentScope
}

interface EntryIntegrity {
  readonly entry_hash: string
  readonly algorithm: typeof HASH_ALGORITHM
  readonly local_hash?: string
  readonly signature?: string
  readonly signer?: string
}

/** An entry as read through one scope: `prev_hash` and `entry_hash` are those of that scope's chain (AMB-03). */
export interface Entry<T extends EventType = EventType> extends EntryDraft<T> {
  readonly seq: number
  readonly prev_hash: string | null
  readonly integrity: EntryIntegrity
}

/** One linked entry as a store keeps it. `view` is the canonical text of the global view, the preimage of `hash`. */
export interface StoredEntry {
  readonly kind: 'entry'
  readonly run: RunId
  readonly seq: number
  readonly view: string
  readonly hash: string
  readonly signature?: string
  readonly signer?: string
}

/** One object as stored. `data`: canonical JSON, or that sealed (content/cipher.ts); `seq`: the run's next entry. */
export interface StoredObject {
  readonly kind: 'object'
  readonly run: RunId
  readonly seq: number
  readonly id: ObjectId
  readonly objectKind: string
  readonly data: string
  /** SHA-256 of data that is kept beside the log; the store fills in `data` when it is read. */
  readonly blob?: string
  /** Why the data could not be filled in; it is then empty. */
  readonly lost?: string
}

export type StoredRecord = StoredEntry | StoredObject
