// Every bound of the trail, by name.

const MiB = 1024 * 1024

export const trailLimits = {
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
  /** Bytes written at once when a segment is laid out in advance. */
  allocationBytes: MiB,
  /** Bytes read at once when the log is walked. */
  windowBytes: MiB,
  /** Entries of one page of a query or a watch. */
  pageEntries: 1024,
  /** Findings that one verification lists; where a trail is damaged that badly, more would not help. */
  findings: 1000,
  /** Entries of one page that a watch hands out. */
  watchEntries: 256,
  /** Entries of one archive; a workspace with more gets several. */
  archiveEntries: 16_384,
  /** Decompressed archives that are kept for the next read. */
  openArchives: 4,
  /** Bytes of a state that is kept of one run. */
  stateBytes: 256 * MiB,
  /** Objects whose places are remembered, so that they can be read back before the index has seen them: this many to twice as many. */
  recentObjects: 8192,
  /** Group buffers kept for the next commits. */
  spareBuffers: 4,
} as const
