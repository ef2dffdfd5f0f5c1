// Every bound of the kernel and its runtime, by name. The bounds of the trail (batches, entries, objects) are the
// trail's own.

export const kernelLimits = {
  /** Workspaces of one run that are not terminal. A forced stop fails all of them in one batch. */
  openWorkspaces: 2048,
  /** Workspaces of one run, terminal ones included. */
  workspaces: 65_536,
  /** Envelopes of one run, rejected ones included. */
  envelopes: 1_048_576,
  /** Envelopes of one run that are accepted and not delivered yet. */
  undelivered: 4096,
  /**
   * Envelopes of one run that are placed and not confirmed by the transport; beyond that the oldest is not carried
   * again.
   */
  unconfirmed: 4096,
  /** Envelopes in one inbox that the agent has not consumed. */
  inbox: 1024,
  /** Port rights that one workspace may hold besides the defaults. */
  heldRights: 4096,
  /** Rights listed in one envelope. */
  envelopeRights: 16,
  attachments: 64,
  /** Characters of a payload in its JSON form. */
  payloadLength: 16 * 1024 * 1024,
  /** Characters of a reason that an agent gives. */
  reasonLength: 4096,
  /** Characters of a reference that an agent names in a signal. */
  refLength: 256,
  /** Signals of one workspace that wait for their receiver. */
  waitingSignals: 4096,
  /** Signals that were delivered to one workspace and are remembered, so that a repetition is recognised. */
  knownSignals: 1024,
  /** Checkpoints of one run. */
  checkpoints: 1_048_576,
  filesChanged: 4096,
  artifacts: 256,
  intentLength: 16_384,
  graphs: 65_536,
  /**
   * Conflicts of one integration that its integrator reports, and as many that the runtime finds; characters of the
   * resources that one names. All are recorded in one batch.
   */
  conflicts: 64,
  conflictResourceLength: 32_768,
  /** Tasks of one graph. */
  graphTasks: 4096,
  /** Tasks that one command adds. */
  submittedTasks: 1024,
  dependencies: 1024,
  /** Attempts of one task (W-TASK-12 suggests 3; the coordinator may override it). */
  attempts: 64,
  /** Gates of one run that wait; one command may open as many again as it adds tasks or aborts members of a group. */
  pendingGates: 4096,
  /**
   * Gates that ended by fallback and are remembered, so that none opens about the same again; beyond that the oldest is
   * forgotten.
   */
  guards: 65_536,
  memoryKeys: 1024,
  memoryKeyLength: 256,
  /** Workspaces that one is given to see, by its creation and by grants. */
  visibility: 4096,
  /** Workspaces that a report about the whole system names. */
  reportedWorkspaces: 4096,
  /** Members of one group, terminal ones included: one entry names them all. */
  groupMembers: 4096,
  /** Visibility targets, mounts and resources that a creation names. */
  creationList: 1024,
  /** Values and members of what a caller hands in. */
  plainValues: 262_144,
  /** Commands of one run that wait, or are held while the trail is not available. */
  queuedCommands: 4096,
  /** Entries of one run that replay may leave out as isolated violations; beyond that the run is halted. */
  quarantined: 1024,
  /** Commands that are decided and appended together. */
  groupCommands: 256,
  /** Records of such a group; the trail's own batch limit is larger. */
  groupRecords: 1024,
  /** Workspaces whose derived key is kept at hand (integrity/keyed.ts). */
  proofKeys: 4096,
  /** Keys of content that one agent holds at once; each is handed over again when it is needed. */
  agentKeys: 1024,
  /** Milliseconds after which an alarm looks at the time again, so that a step of the wall clock is noticed. */
  alarmWait: 60_000,
  /** Finished runs whose state is kept for the next read. */
  cachedRuns: 16,
  /** Runs that are read at once when a runtime is opened. */
  openingRuns: 4,
  /** Users that the house knows; each once, for ever. */
  users: 16_384,
  /** Escalations of one run that wait, whether they have a timeout or not. */
  openEscalations: 4096,
  /** Entries behind the newest kept state after which the next one is kept, as soon as the run rests. */
  stateCacheEntries: 32_768,
  /** Times that many entries after which the run waits while the next one is kept. */
  stateCacheOverdue: 4,
  /** The part of that many entries for which a stop keeps another one; fewer are read again in no time. */
  stateCacheStop: 1 / 16,
  /** Values of a state that are written or read at once before others get their turn. */
  stateCachePiece: 16_384,
  /** Bytes of a state that are proven at once, for the same reason. */
  stateProofPiece: 4 * 1024 * 1024,
  /**
   * Runs whose storage has failed and that are remembered; beyond that the oldest is tried again with the next look.
   */
  storageFaults: 256,
  /** The longest wait before something that failed is tried again, in milliseconds. */
  storageRetry: 6 * 60 * 60_000,
  /**
   * Violations of one run that the life cycle of its storage records, and those of all runs that are remembered as
   * recorded.
   */
  reportedViolations: 16,
  knownViolations: 4096,
  /** Entries of the house run after which it rotates. */
  houseEntries: 1_000_000,
} as const

export const kernelDefaults = {
  /** Percent of a limit at which its warning is written (W-BUDGET-04). */
  budgetWarning: 80,
  /** Percent by which an agent's report of what it used may differ from the meter (W-CP-10). */
  resourceTolerance: 1,
  /** Milliseconds by which two measures of the same time may differ: they never begin and end at the same instant. */
  wallTimeSlack: 50,
  /**
   * Escalations with a timeout that wait for one user who is away; beyond that the oldest runs its fallback (W-HWY-21).
   */
  escalationQueue: 64,
  /** Who owns the house run where the host names nobody. */
  operator: 'operator',
  /** A workspace without a timeout of its own gets this one (W-BUDGET-01), in milliseconds. */
  timeout: 24 * 60 * 60_000,
  /** The base of redelivery (W-ENV-14), in milliseconds. */
  redeliveryBase: 1000,
  /** Waits before a commit is tried again (W-REC-07), in milliseconds. */
  commitRetries: [50, 100, 200],
  /** For so long a run rests before its state is kept, in milliseconds. */
  stateCacheRest: 1000,
  /** Behind the opening of a runtime, before it looks what is left to do about the storage of runs, in milliseconds. */
  storageStart: 5000,
  /** Between two looks, where nothing is due before, in milliseconds. */
  storageLook: 6 * 60 * 60_000,
  /** Wait before what failed is tried again, the first time, in milliseconds. */
  storageRetry: 60_000,
  /** Wait between two tries while the trail is not available, in milliseconds. */
  degradedRetry: 1000,
} as const
