// Every bound and every default of ALP. What the requirement sheet fixes carries its id; the rest are ours.
export const linkLimits = {
  /** Levels of objects and arrays in one message. */
  nesting: 256,
  /** ALP-ENV-04: decimal digits of an integer, where Python stops too. */
  integerDigits: 4300,
  /** Characters of `alp.nonce`: more than twice what a genuine sender writes. */
  nonceLength: 128,
  /** Characters of `alp.from`, a key with some whitespace (ALP-ID-04), which the memory of replays keeps. */
  identityLength: 128,
  /** ALP-TCP-04: bytes of one encrypted frame, its tag included. */
  frameBytes: 1_048_576,
  /** Bytes of the call protocol in one frame: few, so that most frames arrive whole in one read. */
  streamFrameBytes: 16_384,
  /** Bytes of a buffer for frames that is used again, room for one write of a stream, and how many are kept. */
  pooledBytes: 66_560,
  pooledBuffers: 32,
  /** ALP-TCP-03. */
  handshakeFrameBytes: 65_535,
  /**
   * Strangers at once that may send a frame as large as a peer's, since their envelope is recorded however large it is
   * (ALP-PEND-01). A crowd of strangers has less room each, so that it cannot fill the memory.
   */
  roomyStrangers: 32,
  strangerFrameBytes: 65_536,
  /** Requests of one connection that are answered at once; the next is read when one is done. */
  requestsAtOnce: 16,
  /** ALP-UNIX-04: bytes of one line without its line feed. */
  lineBytes: 1_048_576,
  /** ALP-UNIX-04: bytes of a line, its line feed included, that every revision of a peer takes. */
  cautiousLineBytes: 65_535,
  /** Connections of one listener at once. */
  tcpConnections: 256,
  unixConnections: 64,
  /** ALP-TCP-06: handshakes at once. */
  handshakes: 32,
  /** Connections that the operating system holds until they are accepted. */
  backlog: 128,
  /** ALP-ENV-08: pairs that are remembered: of one pinned sender, of all of them, of strangers together. */
  replayPerSender: 65_536,
  replayPairs: 262_144,
  replayStrangers: 4096,
  /** Messages of one answer that are remembered, so that none is taken twice. */
  responseNonces: 65_536,
  /** ALP-ENV-08: lines from which the journal may be written anew. */
  replayRewriteLines: 2048,
  /** Bytes of a journal that is read: far more than its bounds let it grow to. */
  replayFileBytes: 128 * 1024 * 1024,
  /** Bytes of a key file. */
  keyFileBytes: 4096,
  /** Profiles of this machine that are searched for a key. */
  localProfiles: 1000,
  /** X25519 images of pinned keys that are kept. */
  images: 4096,
  /** Entries of the peer list that count, and bytes of its file. */
  peers: 1000,
  peersFileBytes: 1_048_576,
  /** Characters of a peer's id, of its alias and address, and methods that one peer may be allowed. */
  peerIdLength: 64,
  peerTextLength: 256,
  peerMethods: 64,
  /** In a hand-written list: nodes that aliases may stand for, lexical tokens, and collections inside each other. */
  yamlAliases: 100,
  yamlTokens: 1_048_576,
  yamlDepth: 48,
  /** ALP-PEND-03. */
  pending: 20,
  pendingFileBytes: 65_536,
  /** Characters of an invitation. */
  invitationLength: 512,
  /** ALP-RATE-02: calls of one peer that are remembered. The memory of replays lets through no more of one sender. */
  rateTimes: 65_536,
  /** Bytes of the ledger, and days of its history. */
  ledgerFileBytes: 4_194_304,
  ledgerDays: 30,
  /** ALP-ASK-08: turns of a thread, characters of each text in it, bytes of its file. */
  threadTurns: 20,
  threadText: 65_536,
  threadFileBytes: 16 * 1024 * 1024,
  /** Characters of a thread that one turn is told, the newest. */
  toldText: 65_536,
  /** Bytes of an answer beside its text and its id: the rest of a frame or a line is for the text. */
  answerEnvelopeBytes: 1024,
  /** Characters of one chunk, which fits a line of every revision (ALP-UNIX-04); and of those that wait to be read. */
  chunkText: 8192,
  waitingText: 65_536,
  /** Characters of a peer's words on why its turn failed. */
  failureText: 1000,
  /** Bytes of a socket's path, which the platform bounds (ALP-UNIX-02). */
  socketPathBytes: process.platform === 'linux' ? 107 : 103,
} as const

/** Times are in milliseconds unless their name says otherwise. */
export const linkDefaults = {
  /** ALP-TCP-01. */
  tcpPort: 7423,
  /** Where a peer's call protocol is by default. */
  callPort: 7424,
  /** ALP-ENV-07, ALP-ENV-08. */
  skewSeconds: 120,
  replaySeconds: 300,
  /** ALP-TCP-06: for the three messages of a handshake, on either side. */
  handshakeMs: 10_000,
  /** ALP-TCP-08: in which a stranger must have delivered its envelope. */
  strangerMs: 10_000,
  /** ALP-TCP-07: until a server closes an idle connection, and for which a client uses one again. */
  serverIdleMs: 90_000,
  clientIdleMs: 60_000,
  /** Silence after which the system asks whether the other machine is still there. */
  keepAliveMs: 30_000,
  /** For which a client looks whether an unknown server closes after one exchange. */
  settleMs: 50,
  /** For the one line of a caller on the Unix socket. */
  lineMs: 30_000,
  /** That a reply waits for a peer that does not read. */
  writeMs: 30_000,
  /** That running requests have when a server stops. */
  closeMs: 5000,
  /** ALP-UNIX-06: for connecting and for each answer. */
  callMs: 30_000,
  askMs: 300_000,
  pingMs: 5000,
  /** ALP-RATE-01: calls in a minute. */
  perMinute: 60,
  /** Between two writes of the pending list: a flood of strangers is not passed on to the disk. */
  pendingWriteMs: 5000,
  /** That a change of the peer list waits for another program's; between its looks; the age at which a lock is dead. */
  lockMs: 5000,
  lockPollMs: 25,
  lockStaleMs: 60_000,
  /** After which a turn is interrupted, whatever it does. */
  turnMs: 1_800_000,
  /** ALP-ASK-06: without output after which a caller is told that the turn goes on. */
  progressMs: 15_000,
  /** That a cancelled turn has to say what it cost. */
  cancelMs: 5000,
  /** ALP-ASK-09: how often a busy peer is asked again, and the wait before the first time. */
  busyTries: 3,
  busyWaitMs: 400,
} as const
