// Bounds of `npm run clis`.

export const clisLimits = {
  /** Milliseconds in which one check of one program must be over. */
  checkMs: 240_000,
  /** Milliseconds of `npm install` of one program, and of the script that puts its binary in its place. */
  installMs: 600_000,
  /** Milliseconds within which another agent must have taken over. */
  fallbackMs: 30_000,
  /** Milliseconds in which a model answers that is to be stopped: none answers at once. */
  answerMs: 1000,
  /** Milliseconds between two looks at something that cannot be waited for. */
  lookMs: 100,
  /** Milliseconds in which a node or a process must be gone. */
  goneMs: 20_000,
  /** Milliseconds in which a run must have come as far as a check wants it. */
  waitMs: 60_000,
  /** Characters of what failed in a cell of the table. */
  cellLength: 60,
  /** Checks at work at once. */
  jobs: 2,
} as const
