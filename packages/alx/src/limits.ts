// Every bound of the ALX server, by name. What an operator may set is in `AlxSettings`.
export const alxLimits = {
  /** Runs whose events are kept in memory once they are over; the oldest reading leaves first. */
  keptRuns: 1000,
  /** Sessions that the index holds; the one that was changed longest ago leaves first. */
  sessions: 100_000,
  /** Runs that the index holds. */
  runs: 500_000,
  /** Runs that are read at once when a list needs to know how they stand. */
  readsAtOnce: 8,
  /** Newest runs that are read at the start, so that work that a crash cut off goes on. */
  warmedRuns: 200,
  /** Ids on all pages that lists still owe, and milliseconds that one of them waits for the next page. */
  listedIds: 200_000,
  listKeptMs: 3_600_000,
  /** Bytes of an artifact's payload that answers show and runs store. */
  artifactPayloadBytes: 262_144,
  /** Candidates that `selectMeta` shows. */
  shownCandidates: 5,
  /** Earlier runs of a session that a new one is told of, and characters of each result. */
  toldRuns: 3,
  toldResult: 4000,
  /** Characters of the context that a run's agents are told. */
  toldContext: 65_536,
  /** Milliseconds between two frames or comments of a stream, at most (ALX-RUN-06). */
  silenceMs: 15_000,
  /** Bytes that wait for a client that does not read, and milliseconds that they may wait. */
  streamBytes: 262_144,
  stallMs: 30_000,
  /** Streams at once. */
  streams: 10_000,
  /** Tries to pass on a decision of which the coordinator has not heard yet, and the first wait in milliseconds. */
  answerTries: 6,
  answerWaitMs: 20,
  /** Tries to follow a run whose record cannot be read, and milliseconds before the first of them. */
  followTries: 6,
  followWaitMs: 500,
} as const
