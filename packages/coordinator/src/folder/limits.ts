// Every bound of a run's folders and of the git programs that work on them, by name.

const KiB = 1024
const MiB = 1024 * KiB

export const folderLimits = {
  /** Files and bytes of a project that is no git repository, and of what one capture may change. */
  files: 50_000,
  bytes: 1024 * MiB,
  /** Bytes of one file that a capture takes. */
  fileBytes: 50 * MiB,
  /** Milliseconds of one git program, and of one that writes a whole folder. */
  gitMs: 120_000,
  checkoutMs: 900_000,
  /** Milliseconds between asking a git program to stop and ending it. */
  killGraceMs: 2_000,
  /** Bytes of what a git program prints, and of what it complains. */
  outputBytes: 128 * MiB,
  complaintBytes: 16 * KiB,
  /** Characters of a complaint that an error repeats. */
  complaintLength: 500,
  /** Attempts of a command while somebody else holds its lock; the waits double from the first to the longest. */
  lockAttempts: 9,
  lockFirstMs: 20,
  lockMostMs: 500,
  /** For a git program that a node which died has left at work. */
  orphanMs: 60_000,
  /** Merges that are tried while others come between. */
  integrateAttempts: 32,
  /** Captures that are tried while the folder changes under them. */
  captureAttempts: 3,
  /** Repositories inside each other that are looked into. */
  nestedRepositories: 64,
  /** Names that are tried for a branch. */
  branchNames: 100,
  /** Characters of the run's id in a branch's name. */
  branchIdLength: 8,
  /** Folders and files that a message names. */
  namedFolders: 5,
  namedFiles: 10,
  /** Files that are copied at once, and entries that are noted of what a setup made. */
  copiesAtOnce: 16,
  madeEntries: 50_000,
  /** Levels down to which the largest folders are told apart. */
  folderDepth: 4,
  /** Files looked at before other work gets a turn. */
  filesPerTurn: 1_000,
  /** Entries of folders that are looked at for pipes, sockets and devices, and how many of these are told. */
  lookedAt: 200_000,
  specialFiles: 1_000,
  /** Links that a link is followed through, as many as Linux does. */
  linkHops: 40,
  authorLength: 100,
  messageLength: 65_536,
  pathLength: 4_096,
} as const

/** The first git whose `merge-tree` merges without a working folder. */
export const oldestGit = { major: 2, minor: 38 } as const
