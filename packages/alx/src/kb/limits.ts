// Every bound of the registry of Knowledge Blocks, by name. Those of the wire are in @alx/protocol.
const KiB = 1024
const MiB = 1024 * KiB

export const kbLimits = {
  /** Characters of canonical text whose envelopes stay in memory; others are read from the library again. */
  cachedCharacters: 32 * MiB,
  /** Calls about one block, or one query, that wait for each other before further ones are turned away. */
  waitingForOne: 1000,
  /** What a lineage is walked to. Beyond it the answer would be a part that looks like the whole. */
  lineageNodes: 5000,
  lineageEdges: 20_000,
  /** Decimal digits of a number on the wire: `uintString`. */
  digits: 78,
  /** Blocks on one page of a list. */
  pageSize: 200,
  /** Blocks in one exported file, and characters of it. */
  exportedBlocks: 1000,
  exportedCharacters: 32 * MiB,
  /** Blocks with the same intent that are remembered: the newest. */
  sameIntent: 64,
  /** Characters of a payload as text, and of its words in the index. */
  renderedLength: 64 * KiB,
  indexedLength: 32 * KiB,
  /** Words of somebody who deprecates, slashes or trusts a block. */
  reasonLength: 2000,
  /** Milliseconds until a library that could not be read is read again. */
  retryMs: 1000,
  /** Steps of a procedure, and characters of a step's texts. */
  procedureSteps: 256,
  stepNameLength: 128,
  stepTitleLength: 256,
  stepPromptLength: 64 * KiB,
  /** Characters of an answer that a synthesis keeps, and of its question. */
  answerLength: 256 * KiB,
  questionLength: 4 * KiB,
  /** Characters of a signed request, as it comes in its header. */
  signedRequestLength: 16 * KiB,
  /** Seconds for which a signed request may be good: as long, its nonce must be remembered. */
  signedRequestSeconds: 86_400,
  /** Nonces that are remembered at a time. A request whose nonce could not be remembered is refused. */
  nonces: 100_000,
  /** Lines of their file before it is written anew without those that have expired. */
  nonceLines: 400_000,
} as const
