// Bounds of what is done about faults of the machine, by name.

const KiB = 1024
const MiB = 1024 * KiB

export const machineLimits = {
  /** Bytes that are free on a disk that is not full, and bytes of a probe write. */
  roomBytes: MiB,
  probeBytes: 64 * KiB,
  /** Inodes free on a disk that is not full; on a small one this part of all. A disk may not count them at all. */
  roomInodes: 128,
  roomInodesPart: 1 / 16,
  /** Files that a probe opens at once. */
  probeFiles: 32,
  /** Folders that are looked at during one fault. */
  places: 16,
  /** Faults in a row, with a sound machine between them, until the same work's fault counts as its own failure. */
  faultsInARow: 8,
  /** Doublings of the wait between two probes. */
  growth: 16,
} as const

/** Milliseconds. */
export const machineTimes = {
  /** The first wait until it is looked again; each next one is twice as long, up to the longest. */
  firstProbe: 500,
  probe: 5_000,
  /** How long nothing may fail before a fault is over: longer than a run waits before it writes to its trail again. */
  quiet: 1_200,
  /** A fault that comes back within this time goes on with the waits of the last one. */
  forgotten: 60_000,
  /** A program that is started to see whether one can be. */
  program: 10_000,
} as const

/** Milliseconds before a step of the node's own is tried again that failed for no reason that a look finds. */
export const unexplainedRetries = [250, 1_000] as const
