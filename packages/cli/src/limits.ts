// The bounds of the command: what it shows, how often it draws, how long it waits.
export const cliLimits = {
  /** Milliseconds in which work that is asked to finish may do so: a day. */
  graceMs: 24 * 60 * 60_000,
  /** Milliseconds between two redraws: at most ten a second. */
  redrawMs: 100,
  /** Milliseconds between redraws when nothing happens, so that elapsed times move on. */
  tickMs: 1000,
  /** Columns where the terminal does not tell. */
  columns: 80,
  rows: 24,
  /** Longer lines of help are hard to read, however wide the terminal is. */
  helpColumns: 100,
  /** A column that gives way keeps at least this much. */
  narrowest: 8,
  /** Words that are looked through for the end of a command that is not to be broken. */
  unitWords: 64,
  /** Nothing is laid out for less than this. */
  leastColumns: 20,
  /** Runs of one table, unless asked for more. */
  runs: 20,
  /** Knowledge Blocks of one list, unless asked for more; what one call may ask for. */
  blocks: 50,
  mostBlocks: 200,
  /** Entries of one page of a trail query, unless asked for more. */
  entries: 50,
  /** What one call may ask for. */
  mostRuns: 1000,
  mostEntries: 256,
  /** Characters of a reason or an intent that a person types. */
  intentLength: 65_536,
  reasonLength: 2000,
  /** Characters that a prompt takes; the node bounds what each answer may have. */
  typedLength: 16_384,
  /** Milliseconds in which a key is not yet an answer to a question that has just come up. */
  settleMs: 400,
  /** Characters that are remembered of what a peer has said on a terminal. */
  heardLength: 1_048_576,
  /** Characters of what a peer is asked. */
  promptLength: 65_536,
  /** Bytes of a team file that are read; the node refuses less. */
  teamFileBytes: 1_048_576,
  /** How often a passphrase is asked for again. */
  passphraseTries: 3,
  /** Characters of one that is typed. */
  passphraseLength: 1_024,
  /** Milliseconds in which one that was typed is good for the next answer of the same command. */
  passphraseMs: 60_000,
  /** Bytes of the file with the token of a turn, and of one with public keys. */
  tokenBytes: 4_096,
  /** Milliseconds beyond the wait of a question to a person, the usual wait included. */
  askMarginMs: 60_000,
  /** Of `parley mcp`: calls at once, and bytes of one message. */
  mcpCalls: 16,
  mcpMessageBytes: 1_048_576,
  keyFileBytes: 131_072,
  /** How long a stopped node may take to end (its own ten seconds included), and between two looks at it. */
  downMs: 13_000,
  downLookMs: 50,
  /** How often a lost node is reached again before the command gives up. */
  reconnects: 5,
  reconnectMs: 500,
  /** For a program that `doctor` or `init` asks for its version. */
  probeMs: 5000,
  /** Milliseconds for an agent to take over: the one before it may take its time to end. */
  migrateMs: 120_000,
  /** Milliseconds that a peer whose turn is cancelled has to say what it cost. */
  cancelMs: 5000,
  /** Milliseconds that the node has beyond the time that a peer has. */
  callMarginMs: 40_000,
  /** Verification reads everything: it may take long. */
  verifyMs: 600_000,
  /** Lines of what an agent said, where several have something to say. */
  saidLines: 6,
  /** Lines of the one answer of a run. */
  answerLines: 40,
  /** Lines of why a task failed at the end of a run, and in its tree. */
  reasonLines: 16,
  remarkLines: 3,
  /** Lines of what an agent was told in one turn; --json has all of it. */
  toldLines: 12,
  /** How long an agent has for its one word in `doctor --live`. */
  liveMs: 120_000,
  /** Characters of the title of a pull request, and of what it quotes of one agent. */
  titleLength: 100,
  quotedLength: 4_000,
  /** Runs that ended less long ago are not cleaned up unless they are named. */
  cleanAge: '14d',
  /** How long `abort` waits to say what is kept of a run that it has ended. */
  abortMs: 10_000,
  /** Milliseconds that completion waits for a node. */
  completionMs: 1000,
  /** How long `--detach` waits to see how a run begins. */
  begunMs: 5000,
  /** Without a word, while a run is prepared. */
  silentMs: 3000,
  /** Gates named after they were answered together. */
  listedGates: 12,
  /** Files listed at the end of a run before the rest is counted. */
  files: 12,
} as const

/** For operations that read the whole record. */
export const SLOW = { timeout: cliLimits.verifyMs } as const
