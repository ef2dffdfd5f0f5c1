// Every bound of the call protocol (call-requirements 0.3), by name.
export const callLimits = {
  /** Bytes of one frame's body; a link may set less. */
  frameBytes: 67_108_864,
  /** Levels of nesting in an envelope. Other implementations stop here too. */
  nesting: 128,
  /** UTF-16 units of a request id. */
  idLength: 128,
  pathLength: 255,
  /** Requests that one link may have sent without an answer. */
  pending: 10_000,
  /** Requests of a peer that one link handles at once. */
  inbound: 1000,
  /** Unfinished handlers of one link, also of requests that have ended: a handler need not heed its signal. */
  running: 4000,
  /** Requests that a head has in flight to one worker, shared fairly; below `inbound`, so its own questions fit. */
  workerRequests: 900,
  /** Settled ids that a link remembers, to recognize a stream that was requested as a call. */
  settled: 1024,
  /** Values of a subscription that wait for their consumer. */
  receiveBuffer: 32,
  receiveBufferMost: 1024,
  /** Bytes queued on a link above which a producer is not asked for its next value. */
  highWater: 1024 * 1024,
  /** Bytes queued on a link above which it is given up: its peer does not read. */
  queuedBytes: 128 * 1024 * 1024,
  /** Connections that a listener has open at once; it may set another number. */
  connections: 10_000,
  /** Connections that wait to be accepted. On a full queue a Unix socket refuses even honest ones. */
  backlog: 4096,
  /** Lines that one link logs about what its peer does wrong. */
  complaints: 100,
  /** Envelopes that a transport delivers before other work gets a turn. */
  envelopesPerTurn: 512,
  /** Envelopes that may arrive before there is a receiver, on a carrier that cannot be paused. */
  earlyEnvelopes: 1024,
  /** Characters of a token that is looked at. */
  tokenLength: 4096,
  /** Keys of one directory. */
  knownKeys: 100_000,
  /** Bytes of the reason in a WebSocket's close frame (RFC 6455, 5.5). */
  closeReasonBytes: 123,
  /** Operations that one node may register at a head. */
  registeredOperations: 10_000,
  /** Workers that are gone and may come back within their grace. */
  lostAliases: 1000,
  /** Operations of one registry. */
  operations: 100_000,
  /** Nested calls. */
  depth: 32,
  /** Errors that a failed validation reports. */
  validationErrors: 20,
  /** Specs of a worker that a head asks for at once, and the time for all of them in milliseconds. */
  schemaFetches: 8,
  schemaFetchMs: 10_000,
  /** Requests of a client that wait for its connection. */
  waiting: 10_000,
  /** How often a query is sent again whose link was lost, where its caller wants that. */
  queryRetries: 3,
  /** Operations of a peer whose type a link remembers. */
  operationTypes: 10_000,
  /** Cursors that a subscription knows again after a reconnect, if they have no order. */
  resumeWindow: 1024,
} as const

export const callDefaults = {
  /** Milliseconds. */
  timeout: 30_000,
  /** How long an untyped subscription may be silent after its first value (CALL-SUB-07). */
  unknownIdle: 30_000,
  sweep: 10_000,
  probe: 2000,
  /** How far a caller's clock may be behind the handler's. */
  clockSkew: 5000,
  keepalive: 30_000,
  keepaliveMissed: 2,
  tokenWindowSeconds: 300,
  /** Milliseconds in which a connection must be made and known, and in which the other side must have closed too. */
  handshake: 10_000,
  closeGrace: 5000,
  /** Milliseconds between checks of how much a browser still has to send: it has no event for that. */
  drainPoll: 10,
  /** How long a client lets one attempt to connect take. */
  dial: 10_000,
  /** The first wait of a client that reconnects, and the longest; the real one is random between 0 and these. */
  reconnectBase: 100,
  reconnectMost: 30_000,
  /** A connection that lasted this long lets the waits begin anew. */
  steady: 5000,
} as const

export const WEBSOCKET_PATH = '/alknet/call'
