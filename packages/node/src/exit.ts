// The exit codes of a node's process: what it ended with, for the process that started it.

/** After sysexits.h, where there is one that fits. */
export const NODE_EXIT = {
  clean: 0,
  failed: 1,
  /** A defect: an uncaught error, or a stop that hung. */
  defect: 70,
  profileUnusable: 73,
  /** No room, no inodes, a read-only disk: the same start succeeds when that is over. */
  machineFault: 74,
  /** Somebody else has the profile; ask that one. */
  profileInUse: 75,
  invalidConfig: 78,
} as const

export type NodeExit = keyof typeof NODE_EXIT
