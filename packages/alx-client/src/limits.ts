// Every bound of the client, by name. Bounds of the contract itself are `limits` of @alx/protocol.
export const clientLimits = {
  /** Bytes of a JSON answer. */
  responseBytes: 32 * 1024 * 1024,
  /** Bytes of one line of an event stream, and of all data of one frame: its last frame is a whole answer. */
  lineBytes: 32 * 1024 * 1024,
  frameBytes: 32 * 1024 * 1024,
  /** Events of a stream, and characters of their JSON, that wait for a loop. One further behind reads them again. */
  bufferedEvents: 4096,
  bufferedCharacters: 32 * 1024 * 1024,
  /** Silence after which a stream counts as lost: servers write a comment every 15 s (ALX-RUN-06). */
  silenceMs: 45_000,
  /** A connection that lasted this long was a success, even if it brought no event. */
  settledMs: 10_000,
  /** ALX-SDK-08: the first pause before a retry; each further one is twice as long, up to the longest. */
  firstPauseMs: 250,
  longestPauseMs: 30_000,
  /** The longest `retry-after` that is waited for. A longer one is the caller's decision. */
  retryAfterMs: 60_000,
  /** What may be set. A timer cannot run longer than 2^31 - 1 ms. */
  retries: 100,
  timeoutMs: 2_147_483_647,
  /** Pages of one list. */
  pages: 10_000,
  /** Shorter tokens are not looked for in the server's own words: they would be found in ordinary ones. */
  tokenLength: 8,
} as const
