// What `parley doctor` asks of a machine.

const MiB = 1024 * 1024

export const doctorLimits = {
  node: 24,
  /** From here on git merges without a checkout. */
  git: [2, 38],
  openFiles: 1024,
  watches: 128,
  /** Bytes on the disk: less is a warning, and less than the least a problem. */
  diskEnough: 1024 * MiB,
  diskLeast: 100 * MiB,
  /** Fewer free inodes, or less than this part of a small disk's, is a problem. */
  inodesLeast: 256,
  inodesPart: 1 / 8,
  /** Milliseconds by which files may be ahead of the clock. */
  ahead: 24 * 60 * 60 * 1000,
  /** A clock outside of this is wrong: nothing of Parley is older. */
  earliest: Date.UTC(2026, 0, 1),
  latest: Date.UTC(2100, 0, 1),
} as const
