// The rows of an index, as sqlite/sqlite-rows.ts keeps them; what they mean is said in apply.ts and answer/engine.ts.
import { crc32 } from 'node:zlib'
import type { ObjectId, RunId } from '@parley/core'
import type { Position } from '../store/store.ts'

/** Where a record lies: a segment above 0, an archive below 0. */
export interface Place {
  readonly file: number
  readonly at: number
  readonly length: number
}

export interface EntryPlace extends Place {
  readonly seq: number
  readonly workspace: string | null
}

export interface EntryRow extends EntryPlace {
  readonly actor: string
  readonly type: string
  readonly ticks: number
}

export interface ObjectRow extends Place {
  readonly id: ObjectId
  /** Sequence number of the next entry of the run. */
  readonly seq: number
  /** Counts the objects of a run in log order. */
  readonly ordinal: number
  /** CRC-32 of the record: an object has no hash of its own. */
  readonly crc: number
}

/** What is known of a run as a whole. Whoever asked for it may change it, and saves it within the same transaction. */
export interface RunRow {
  readonly run: RunId
  readonly key: number
  /** Newest entry; -1 when only objects are there. */
  head: number
  hash: string
  updated: number
  /** Oldest entry, and the oldest one that is filed under a workspace: the root. */
  first: number
  created: number
  rootSeq: number
  root: string
  entries: number
  objects: number
  ended: boolean
  /** How many entries are gone for good. */
  forgotten: number
  /** Timestamps never go back as `seq` grows, so that a range of time is a range of `seq`. */
  ordered: boolean
  /** Place of the newest entry that came from a segment; 0 when none did. */
  lastFile: number
  lastAt: number
}

/** Up to where the log is in the rows. */
export interface Applied {
  readonly segment: number
  readonly end: number
  readonly frame: Position
  /** The last frame: where it starts and the CRC-32 of its header, to recognise it again. Segment 0: none is known. */
  readonly lastSegment: number
  readonly lastAt: number
  readonly lastMark: number
}

/** Recognises a frame by its header, which holds its number, its length and the checksum of its content. */
export function frameMark(header: Buffer): number {
  return crc32(header)
}

export type ArchiveState = 'held' | 'gone'

/** A place that could not be read. `run` is empty when nobody can say whose records it held. */
export interface DamageRow {
  readonly run: RunId | ''
  readonly file: number
  readonly at: number
  readonly message: string
  /** The entries that are missing, where these are known; they may turn up in an archive. */
  readonly first: number
  readonly last: number
}

export type ScanPath =
  | { readonly by: 'run' }
  | { readonly by: 'workspace'; readonly workspace: string | null }
  | { readonly by: 'type'; readonly type: string }

/** One range of one run's entries along one index, with what else must hold of each. */
export interface Scan {
  readonly path: ScanPath
  /** Both exclusive. */
  readonly after: number
  readonly before: number
  /** Ticks, both inclusive. */
  readonly from?: number
  readonly to?: number
  readonly workspaces?: readonly (string | null)[]
  readonly actors?: readonly string[]
  readonly types?: readonly string[]
}

export type HeaderKey = 'workspace' | 'actor' | 'event_type'

export interface Tally {
  readonly key: string | null
  readonly count: number
}
