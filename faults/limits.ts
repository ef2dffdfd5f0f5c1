// Every bound of the driver, by name. Nothing here waits without one.

const KiB = 1024
const MiB = 1024 * KiB

/** Milliseconds. */
export const faultTimes = {
  /** Before a fault, while the work goes on. */
  before: 150,
  /** A fault lasts this long. */
  shortest: 10,
  longest: 350,
  /** The node answers a question after the fault is over. */
  answer: 15_000,
  /** One call: it has an answer by then, whatever happens. */
  call: 30_000,
  /** All runs come to their end once nothing fails any more. */
  settle: 60_000,
  /** A process that was asked to end is gone. */
  end: 15_000,
  /** The verifier reads a whole profile. */
  verify: 120_000,
  /** Between two looks at what is waited for. */
  look: 10,
  /** The wall clock is moved by at most this. */
  step: 3 * 24 * 3_600_000,
} as const

export const faultLimits = {
  /** Faults in one life of a node. */
  faults: 50,
  /** Runs at work at once. */
  runs: 3,
  /** Faults between two full checks. */
  between: 10,
  /** The profile's disk: room for two of the largest segments that a life comes to, and for what runs keep. */
  diskBytes: 384 * MiB,
  diskInodes: 8_000,
  /** Attempts to make the disk as small as what is on it, while somebody writes to it. */
  shrinks: 50,
  /** Bytes that a full disk has left, at most. */
  leftBytes: 64 * KiB,
  /** Lines of the journal that a failure prints. */
  shownLines: 40,
  /** Lines of the journal that are kept. */
  keptLines: 2_000,
  /** Lines of the node's log that a failure prints. */
  shownLog: 15,
  /** Moments that are tried for one fault that something meets. */
  attempts: 4,
} as const
