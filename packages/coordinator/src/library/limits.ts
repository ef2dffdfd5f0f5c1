// Bounds of the library, by name.
const KiB = 1024
const MiB = 1024 * KiB

export const libraryLimits = {
  /** Bytes of a body in canonical form. */
  bodyBytes: 1.25 * MiB,
  /** Records, and bytes of them, that wait until they are filed; of more, each is refused. */
  waiting: 1_024,
  waitingBytes: 128 * MiB,
  /** The same on their way to disk at once. */
  underWay: 256,
  underWayBytes: 16 * MiB,
  /** Entries that a reader looks at at once, and bodies of them that it holds. */
  pageEntries: 256,
  readAhead: 8,
  /** Records that one follower gets from memory at once. */
  tailPage: 64,
  /** The newest records, and bytes of them, that memory keeps for followers; who is further behind reads the disk. */
  tailRecords: 1_024,
  tailBytes: 4 * MiB,
} as const
