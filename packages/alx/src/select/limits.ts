// Every bound of search and selection, by name.
const KiB = 1024
const MiB = 1024 * KiB

export const selectLimits = {
  /** Characters of a text that is searched for, words of it that count, and characters of one. */
  queryLength: 1024,
  queryWords: 16,
  wordLength: 64,
  /** Blocks that a search brings back for a closer look. */
  hits: 32,
  /** Candidates of a selection. */
  candidates: 8,
  /** Trusted procedures that are looked at: the newest. */
  trusted: 256,
  /** Blocks that agents are told about, and characters of one and of all. */
  relatedBlocks: 5,
  relatedLength: 4 * KiB,
  relatedTotal: 16 * KiB,
  /** The part of the words that a block must have to be told about. */
  relatedCoverage: 0.3,
  /** Records, and characters of them, that are taken into the index in one go. */
  fedRecords: 4096,
  fedCharacters: 4 * MiB,
  /** Searches that wait for an answer before further ones are turned away. */
  waitingSearches: 1000,
  /** Times that a broken index is made again before searching is given up until the next start. */
  rebuilds: 3,
  /** Milliseconds until a library that could not be read is read again. */
  retryMs: 1000,
  /** Bytes of SQLite's page cache, and pages of its write-ahead log before they are moved into the file. */
  cacheBytes: 16 * MiB,
  walPages: 4000,
} as const
