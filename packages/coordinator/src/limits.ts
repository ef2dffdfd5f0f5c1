// Every bound of the coordinator, by name.
export const coordinatorLimits = {
  /** Characters of an intent. */
  intentLength: 65_536,
  /** Runs at work at once; those that wait for a person do not count. */
  activeRuns: 256,
  /** Runs that are not over, those that wait for a person included. */
  openRuns: 2_048,
  /** Characters of an idempotency key. */
  keyLength: 256,
  /** Characters of an agent's answer that are kept. */
  answerLength: 262_144,
  /** Characters of the code of a failure that is known before its run begins. */
  endCodeLength: 64,
  /** Characters of what one turn is told that are kept, and of what all turns of a run were told in one answer. */
  promptLength: 65_536,
  promptsLength: 16_777_216,
  /** Characters of a result or a feedback that is handed on to other agents. */
  textLength: 16_384,
  /** Characters of what agents say that wait for one watcher; the oldest of more are left out. */
  heardLength: 65_536,
  /** Bytes that a setup may print, characters of its end that a failure repeats, and runs whose logs of it are kept. */
  setupOutputBytes: 67_108_864,
  setupTailLength: 1_200,
  setupLogRuns: 32,
  /** Lines of what a check or a setup printed last that say why it failed. */
  outputLines: 12,
  /** Lines from the first one that looks like an error, and from the one that says its cause. */
  errorLines: 4,
  /** Things that agents do that wait for one watcher; the oldest of more are left out. */
  heardItems: 1_000,
  /** Characters of a reason on the trail. */
  reasonLength: 2_000,
  /** Characters of what somebody else asks, in the question whether it may be answered. */
  askedLength: 400,
  /** Characters of the line that shows what an agent is doing. */
  activityLength: 200,
  /** Bytes of a diff that a reviewer is shown. */
  diffBytes: 131_072,
  /** Attempts to record something in a house that is being succeeded. */
  houseAttempts: 3,
  /** Characters of the first line of a commit. */
  subjectLength: 72,
  /** Bytes of the patch that a person is shown. */
  patchBytes: 8_388_608,
  /** Names of files in a view. */
  shownFiles: 1_000,
  /** Ids that the refusal of an ambiguous one names. */
  candidates: 20,
  /** Uncommitted files of the project that a warning names. */
  namedChanges: 3,
  /** Links that a question names. */
  namedLinks: 5,
  /** Names by which links let other programs reach one file. */
  namesOfFile: 256,
  /** Characters of a proposal how to settle a conflict. */
  resolutionLength: 4_096,
  /** Bytes of each file that does not fit together, in such a proposal. */
  excerptBytes: 600,
  /** Integrators that may fail before work is turned down for want of a result. */
  mergeAttempts: 2,
  /** Runs above a run that agents started. */
  startedDepth: 1,
  /** Runs that the agents of one run start within an hour. */
  startedRuns: 8,
  /** Starts of the same intent within an hour. */
  sameRuns: 12,
  /** Starts that are remembered. */
  notedStarts: 4_096,
  /** Guidance of people that every turn is told. */
  guidance: 16,
  /** Refused files of one turn, of each kind, that get an entry of their own on the trail; one more counts the rest. */
  recordedRefusals: 100,
  /** Finished runs whose projection is kept in memory. */
  cachedRuns: 64,
  /** Starts of runs that are kept in memory, and bytes of the context of each; a larger one is read when asked for. */
  keptStarts: 4_096,
  keptContextBytes: 8_192,
  /** Idempotency keys in use lately whose runs are kept in memory. */
  keptKeys: 4_096,
  /** Runs whose starts are looked through at once. */
  scannedStarts: 256,
  /** Runs that ended as they began whose records stay in memory until somebody asks for their end. */
  keptWritten: 256,
  /** Runs that were ended of which it is kept what their cut-off turns had used. */
  keptCutOffs: 1_024,
  /** Runs that are over of which it is kept what each agent used on a day. */
  keptUsages: 1_024,
  /** Runs that `runs` lists at most. */
  listedRuns: 1_000,
} as const

export const coordinatorDefaults = {
  /** Runs of one principal at work at once. */
  runs: 64,
  /** Turns at once over all runs. */
  turns: 8,
  /** Milliseconds that a start waits for what an earlier node was doing in checkouts of users. */
  recoveryMs: 2_000,
  /** Milliseconds after which a step that failed is tried again; a run that fails once more is ended. */
  stepRetries: [250, 1_000, 4_000, 15_000, 60_000],
  /** Milliseconds after which a setup that failed is run once more: a registry may be away for a moment. */
  setupRetry: 1_000,
  /** Milliseconds that what a person asks for waits for a trail that cannot be written, and between two looks at it. */
  degradedWait: 1_500,
  degradedLook: 50,
  /** Milliseconds between two views that a follower gets. */
  viewInterval: 100,
  /** Milliseconds that the service of an agent may refuse to work before its fallback takes over. */
  patienceMs: 12_000,
  /** Milliseconds in which turns that a person ends may end and record what they used, before their work is ended. */
  leaveMs: 8_000,
  /** Milliseconds between two reports of what a turn has used. */
  meterInterval: 1_000,
  /** Milliseconds after which what waits is looked at again, whatever was heard. */
  gateInterval: 1_000,
  /** Runs that `runs` lists without being asked for more. */
  listedRuns: 50,
} as const
