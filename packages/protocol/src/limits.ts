// Every bound of the contract, by name. Settings of a server, such as how long it keeps events, are not here.
export const limits = {
  /** ALX-HTTP-02: bytes of a request's body. */
  bodyBytes: 1_048_576,
  /** ALX-SOLVE-01: bytes of `context`, as JSON. */
  contextBytes: 262_144,
  /** ALX-ENV-01. */
  correlationIdLength: 128,
  /** ALX-SOLVE-01, ALX-HTTP-04. */
  userIdLength: 128,
  verbLength: 128,
  targetLength: 256,
  domainLength: 128,
  stepNameLength: 256,
  /** ALX-SOLVE-14, ALX-SOLVE-17: what a person adds. */
  noteLength: 2000,
  /** ALX-KB-09. */
  kbIdLength: 128,
  /** ALX-SETTLE-03. */
  sources: 256,
  attributionLinks: 8,
  /** ALX-SESS-09. */
  pageSize: 200,
  defaultPageSize: 50,
  /** Basis points in a whole (ALX-SETTLE-01). */
  bps: 10_000,
  /** ALX-SETTLE-04. */
  defaultFeeBps: 200,
  /** ALX-SETTLE-09. */
  score: 1000,
  /** Levels of nesting of a value that has a canonical text, so that no input can exhaust the stack. */
  nesting: 64,
  /** Nonces that one `NonceTracker` remembers. */
  trackedNonces: 100_000,
} as const
