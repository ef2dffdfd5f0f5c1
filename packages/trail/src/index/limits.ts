// Every bound of the index, by name.

const KiB = 1024
const MiB = 1024 * KiB

export const indexLimits = {
  /** Records that are taken in at once; queries are served between two slices. */
  sliceRecords: 4000,
  /** Slices, and milliseconds, after which what was taken in is committed. */
  keptSlices: 32,
  commitMs: 200,
  /** Answers after which an index in memory, which has no timer, commits. */
  answersPerCommit: 16,
  /** Bytes of one read when neighbouring records are read together, and of a gap that is read along. */
  readBytes: MiB,
  gapBytes: 4 * KiB,
  /** What a page carries at most, whatever limit was asked for. One record always fits. */
  pageBytes: 8 * MiB,
  pageRecords: 65_536,
  /** Rows and bytes that a search through bodies takes in at once, before others get their turn. */
  scanRows: 2048,
  scanBytes: 2 * MiB,
  /** Rows that a cursor of a merge fetches first; each next time twice as many, up to `scanRows`. */
  cursorRows: 8,
  /** Rows counted to find out which of two ways to the entries is the shorter one. */
  probeRows: 1024,
  /** Workspaces, actors, types or body conditions in one filter. */
  filterItems: 16_384,
  pathSteps: 64,
  groups: 100_000,
  /** Damaged places that are remembered singly. */
  damagePlaces: 1000,
  partialNotes: 16,
  /** Names whose numbers are kept in memory before the memory is emptied. */
  names: 65_536,
  statements: 64,
  /** Segments kept open for reading. */
  openFiles: 64,
  /** Bytes of one archive, uncompressed, and of those kept in memory. */
  archiveBytes: 256 * MiB,
  archiveCacheBytes: 64 * MiB,
  /** Bytes of the page cache of SQLite, and pages of its write-ahead log before they are moved into the file. */
  cacheBytes: 64 * MiB,
  walPages: 4000,
  /** Queries that wait for an answer before further ones are refused with `index_busy`. */
  waitingQueries: 10_000,
  /** Milliseconds during which news of the log are gathered into one message. */
  advanceMs: 50,
  /** Times that a worker makes a damaged index again before it gives up. */
  rebuilds: 3,
  /** Failures of the index file one after the other after which the file is taken for hopeless. */
  failures: 3,
} as const
