// Bounds that several packages must agree on. A package's own queues, frames and retries are in its own limits.ts.
export const limits = {
  /** Characters of an id (ASCII). */
  idLength: 64,
  /** Levels of nesting that canonical JSON accepts; also what stops a cycle. */
  canonicalDepth: 64,
  /** Object shapes whose key order is remembered; a power of two. */
  canonicalShapes: 4096,
  /** Bytes up to which an object lies in the log; a larger one is a blob file. */
  objectInlineBytes: 65_536,
  /** Bytes of one trail entry in canonical form. */
  entryBytes: 262_144,
  /** Records in one atomic batch of the log. */
  batchEntries: 16_384,
  /** Pieces of context that a run's turns are told first, and characters of all of them together. */
  runContextParts: 64,
  runContextLength: 262_144,
  /** Bytes in canonical form of what a request stores with its run. */
  runFactsBytes: 2_097_152,
  /** Runs on one page of those that are found. */
  foundRuns: 100,
  /** Errors that one failed validation reports. */
  schemaErrors: 8,
  /** Values and members in a value up to which every error is collected; of a larger one, the first. */
  schemaErrorNodes: 2048,
  /** Characters of a foreign value that an error message repeats. */
  messageValueLength: 80,
  /** Characters of a schema's own words (an enumeration, a pattern) that an error message repeats. */
  messageExpectedLength: 200,
  /** Characters of a JSON path in an error message. */
  messagePathLength: 200,
  /** Bytes of a schema that came from outside, as JSON. */
  foreignSchemaBytes: 65_536,
  /** Levels of nesting of a schema that came from outside. */
  foreignSchemaDepth: 32,
  /** Characters of a regular expression in a schema that came from outside. */
  foreignPatternLength: 256,
  /** Characters of a text that such a regular expression is tried on; a longer one does not match. */
  foreignPatternSubjectLength: 2048,
  /** Ways in which such a regular expression may match a text; where there could be more, the text does not match. */
  foreignPatternWays: 10_000_000,
  /** Milliseconds of the longest timer that the platform offers; longer ones are chained. */
  platformTimerMs: 2_147_483_647,
  /** Characters of one glob, in UTF-16 code units: what a team file allows in characters is never more than this. */
  globLength: 2048,
  /** Stars of one glob; two that stand for any number of folders are counted as two. */
  globStars: 32,
  /** Globs that one with braces stands for. */
  globAlternatives: 256,
  /** Characters of all globs of a list that have a wildcard or braces, with the braces written out. */
  globSize: 16_384,
  /** Characters of a glob that a message shows. */
  globShown: 80,
  /** Characters of names that globs are matched with before other work gets a turn. */
  globCharactersPerTurn: 4096,
  /** Turns under way that the daily ledger keeps, and names that have spent something in a day. */
  reservations: 256,
  ledgerNames: 2048,
  /** US dollars that a sum of the ledger grows to, so that it can be written. */
  ledgerUsd: 1e12,
  /** US dollars that are set aside for a turn if there is a cap and the caller does not ask for less. */
  turnUsd: 1,
  /** Greatest tick: 2^53 - 1 microseconds, in the year 2255. */
  maxTicks: Number.MAX_SAFE_INTEGER,
} as const
