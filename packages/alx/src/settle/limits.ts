// Every bound of settlements and feedback, by name.
export const settleLimits = {
  /** Calls about one query, or one execution, that wait for each other. */
  waitingForOne: 1000,
  /** What one user's ratings of a block count for at most, in either direction. */
  votesOfOne: 3,
} as const
