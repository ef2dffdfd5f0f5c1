// Every bound of the trail, by name.

const MiB = 1024 * 1024

export const trailLimits = {
  /** Runs whose starts are read at once. */
  starts: 64,
  /** Bytes of one atomic batch: it must fit into one frame. */
  batchBytes: 16 * MiB,
  /** Characters of one object in canonical form; it is one blob and is held in memory while it is written. */
  objectBytes: 64 * MiB,
  /** A group commit is closed at this many records or bytes, so that one never holds up the event loop for long. */
  groupRecords: 512,
  groupBytes: MiB,
  /** Bytes that may wait for the disk before further batches are refused with `trail_busy`. */
  queuedBytes: 64 * MiB,
  /** Entries that may wait to be signed before further batches are refused with `trail_busy`. */
  unsignedEntries: 65_536,
  /** The first segment is small; each next one is twice as large, up to the most. */
  firstSegmentBytes: 4 * MiB,
  segmentBytes: 64 * MiB,
  /** A segment is laid out with at most this part of what the disk has left. */
  layoutPart: 8,
  /** Bytes written at once when a segment is laid out in advance. */
  allocationBytes: MiB,
  /** Bytes read at once when the log is walked. */
  windowBytes: MiB,
  /** Entries of one page of a query or a watch. */
  pageEntries: 1024,
  /** Findings that one verification lists; where a trail is damaged that badly, more would not help. */
  findings: 1000,
  /** Signatures of one run that are checked when it is opened, the newest; they vouch for all before them. */
  openingSignatures: 8192,
  /** Entries that are checked in one go when a run is opened, so that the event loop turns in between. */
  openingEntries: 256,
  /** Entries of one page that a watch hands out. */
  watchEntries: 256,
  /** Entries and objects of a run at work that are kept for whoever follows it, and characters of such an object. */
  followedEntries: 32,
  followedObjects: 8,
  followedObjectLength: 8_192,
  /** Entries of a workspace's archive, records and bytes of a run's: more are split into several archives. */
  archiveEntries: 2048,
  archiveRecords: 2048,
  archiveBytes: 8 * MiB,
  /** Rounds of archiving and recording for one run to leave the log; two, unless something is appended meanwhile. */
  compactionSteps: 8,
  /** Bytes of decompressed archives that are kept for the next read. */
  openArchiveBytes: 64 * MiB,
  /** Bytes that a segment must have before it is finished only to be removed. */
  rolledBytes: 64 * 1024,
  /** Bytes of a state that is kept of one run. */
  stateBytes: 256 * MiB,
  /** Objects whose places are remembered until the index has seen them: this many to twice as many. */
  recentObjects: 8192,
  /** Group buffers kept for the next commits. */
  spareBuffers: 4,
  /** Keys that a trail has had, the one in use included. */
  keys: 1024,
  /** Bytes of one part of an exported run: at least one object, however large, in UTF-8 or sealed. */
  exportPartBytes: 4 * 64 * MiB + MiB,
  /** A part is closed at this many characters, unless one record is longer. */
  exportChunkBytes: 512 * 1024,
  /** Deleted entries that one part bridges. */
  exportBridges: 4096,
  /** Problems of an exported file that are listed. */
  exportProblems: 100,
  /** Keys of content that are kept for the next use; each is derived again when it is needed. */
  contentKeys: 4096,
  /** Bytes of a kept state that are sealed at once, so that the event loop turns in between. */
  sealedChunkBytes: MiB,
} as const
