// Every bound of the node, by name, and what holds where nobody says otherwise.

const KiB = 1024
const MiB = 1024 * KiB
const second = 1000
const minute = 60 * second

export const nodeLimits = {
  /** Milliseconds in which work that is asked to finish may do so: a day. */
  graceMs: 24 * 60 * 60_000,
  /** The highest place on a trail that can be asked for. */
  seq: Number.MAX_SAFE_INTEGER,
  /** Bytes of config.yaml. */
  configBytes: 256 * KiB,
  /** Lexical tokens, collections inside each other, and what aliases may add, as in a team file. */
  configTokens: 128 * KiB,
  configDepth: 48,
  configAliasGrowth: 512 * KiB,
  /** Problems that one refusal of a configuration lists. */
  configProblems: 20,
  /** Agents of one configuration. */
  configAgents: 64,
  /** Turns at once over all runs. */
  turns: 256,
  /** Runs of one principal at once; as many as there may be in all. */
  runs: 256,
  /** Characters of a host's name. */
  hostLength: 253,
  /** Characters of a public bio; far fewer bytes of it travel. */
  bioLength: 1_000,
  /** Runs that one request cleans up by their names. */
  cleanedRuns: 1_000,
  /** US dollars of the largest daily budget. */
  dailyUsd: 1_000_000,
  /** Agents of which it is remembered whether they tell what their turns cost. */
  knownAgents: 1_024,
  /** Runs for peers of which it is remembered that nobody knows what they cost. */
  unknownCosts: 1_024,
  /** Names that a list of today's spending shows, the dearest first. */
  spenders: 1_000,
  /** Milliseconds of the longest idle timeout: 30 days. */
  idleTimeoutMs: 30 * 24 * 60 * minute,
  /** Milliseconds between the end of a run and its compaction, at most: 30 days. */
  compactMs: 30 * 24 * 60 * minute,
  /** Milliseconds of the longest retention that can be asked for: a hundred years. */
  retentionMs: 36_500 * 24 * 60 * minute,
  /** What is kept for less than this is more likely a slip. */
  coldLeastMs: 24 * 60 * minute,
  /** Bytes of a socket's path, its terminating zero included: what every supported system can bind. */
  socketPathBytes: 104,
  secretBytes: 32,
  /** Files and folders of a profile whose modes are looked at when its node starts. */
  modes: 20_000,
  /** Characters of a passphrase that answers need. */
  passphraseLeast: 8,
  passphraseMost: 1_024,
  /** Characters of its hash in config.yaml. */
  passphraseHash: 256,
  /** Wrong passphrases within `nodeTimes.passphraseWindow` after which no more are tried. */
  passphraseAttempts: 5,
  /**
   * Bytes that a profile keeps free for itself on a disk of at least so many parts of it, and the least that is of any
   * use.
   */
  reserveBytes: 4 * MiB,
  reservePart: 16,
  reserveLeast: 256 * KiB,
  /** Bytes that stay free beside it when it is laid out again, and bytes of one write. */
  reserveLeaves: MiB,
  reservePiece: 256 * KiB,
  /** A log file that is larger is put aside. */
  logBytes: 10 * MiB,
  /** Log files that were put aside and are kept. */
  logFiles: 3,
  /** Characters of one log line; what is longer is cut. */
  logLine: 64 * KiB,
  /** Connections at once. */
  connections: 1024,
  /** Characters of a team file that comes with a request; the team's own limit is lower and gives a better message. */
  teamText: MiB,
  intentLength: 65_536,
  reasonLength: 2_000,
  /** Seconds that an agent may wait for an answer within its turn. */
  askWaitS: 600,
  /** Findings of one verdict. */
  findings: 64,
  /** Characters of a reply to an agent's question. */
  replyLength: 16_384,
  pathLength: 4_096,
  /** Agents that are known to be away, for each set of settings and credentials. */
  awayAgents: 256,
  /** Variables of a caller's environment that come with a run. */
  environmentVariables: 512,
  /** Characters of all of them, names included. */
  environmentLength: 256 * KiB,
  /** Entries of one page of the trail. */
  pageEntries: 256,
  /** Bytes of one piece of an exported file. */
  pieceBytes: 192 * KiB,
  /** Public keys that one import, or a configuration, names. */
  trustedKeys: 64,
  /** Findings that the answer of one verification has, beside the first of each run, and places that cannot be read. */
  reportFindings: 5_000,
  reportPlaces: 1_000,
  /** Heads that one verification is given. */
  expectedHeads: 10_000,
  /** Characters of a peer's refusal that are shown, and of what it adds as data. */
  peerMessageLength: 500,
  peerDataLength: 16 * KiB,
  /** Characters of an invitation or a key that somebody pastes. */
  invitationLength: 1_024,
  /** Characters from which on the beginning of a key is taken for it. */
  keyBeginning: 4,
  /** Milliseconds for one message of a peer, at most: a day. */
  peerTimeoutMs: 24 * 60 * minute,
  /** US dollars and tokens that one ask may offer. */
  askUsd: 1_000_000,
  askTokens: 1_000_000_000,
  /** Lines of the log that an error shows. */
  shownLogLines: 8,
  /** Bytes read from the end of a log to find them. */
  shownLogBytes: 16 * KiB,
  /** Frames of a stack that the log shows of a blocked event loop. */
  shownFrames: 16,
  /** Heap of the thread that watches the event loop, in MiB. */
  watchMemoryMiB: 32,
} as const

/** Milliseconds. */
export const nodeTimes = {
  /** A stop that takes longer says what hangs and ends anyway. */
  stop: 10 * second,
  /** A node that was started on demand answers within this time. */
  start: 15 * second,
  /** A start that is held up by the machine while it records itself is refused after this. */
  recorded: 5 * second,
  /** Between two attempts to reach a node that is starting. */
  retry: 25,
  /** Between two attempts to start one, where the first found the profile in use. */
  respawn: 500,
  /** For so long a wrong passphrase counts against the next one. */
  passphraseWindow: 5 * minute,
  /** A node that proves itself with a key that is being replaced is asked again for so long. */
  rotation: 2 * second,
  /** One question to a node whether it is there. */
  hello: 10 * second,
  /** A stranger who calls again is logged again after this time. */
  strangersAgain: 60 * minute,
  /** The longest time between two looks whether a node is idle. */
  idleLook: 30 * second,
  /** Between two looks whether there is something to show on the desktop. */
  notifyLook: 2 * second,
  /** How long a turn waits for money that is set aside for others, and between two looks. */
  ledgerWait: 30 * minute,
  ledgerLook: 500,
  /** Between two signs of life of the event loop. */
  beat: 250,
  /**
   * How late such a sign may be before the loop counts as blocked, and how late before it is looked into what it does.
   */
  block: 250,
  longBlock: 1_000,
  /** How long it is looked at, and how long that may take in all. */
  sample: 200,
  sampleWithin: 5 * second,
  /** Short blocks within this time after one that the log has told of are only counted. */
  blockAgain: 10 * second,
} as const

export const nodeDefaults = {
  profile: 'default',
  turns: 8,
  runs: 64,
  logLevel: 'info',
  idleTimeoutMs: 10 * minute,
  compactMs: minute,
  warmMs: 30 * 24 * 60 * minute,
  /** Programs give a tool a minute. */
  askWaitS: 45,
} as const
