// Every bound of the kernel and its runtime, by name; bounds of batches, entries and objects are the trail's.
export const kernelLimits = {
  openWorkspaces: 2048,
  workspaces: 65_536,
  envelopes: 1_048_576,
  undelivered: 4096,
  /** Placed envelopes that the transport has not confirmed; beyond that the oldest is not carried again. */
  unconfirmed: 4096,
  inbox: 1024,
  heldRights: 4096,
  envelopeRights: 16,
  attachments: 64,
  payloadLength: 16 * 1024 * 1024,
  reasonLength: 4096,
  refLength: 256,
  waitingSignals: 4096,
  knownSignals: 1024,
  checkpoints: 1_048_576,
  filesChanged: 4096,
  artifacts: 256,
  intentLength: 16_384,
  graphs: 65_536,
  /** Reported conflicts of one integration, and as many found; characters of resources in one. All fit one batch. */
  conflicts: 64,
  conflictResourceLength: 32_768,
  graphTasks: 4096,
  submittedTasks: 1024,
  dependencies: 1024,
  /** Attempts of one task (W-TASK-12 suggests 3; the coordinator may override it). */
  attempts: 64,
  /** Gates of one run that wait; one command may open as many again as it adds tasks or aborts members of a group. */
  pendingGates: 4096,
  /** Gates ended by fallback that are remembered (W-HWY-11); beyond that the oldest is forgotten. */
  guards: 65_536,
  memoryKeys: 1024,
  memoryKeyLength: 256,
  visibility: 4096,
  reportedWorkspaces: 4096,
  groupMembers: 4096,
  creationList: 1024,
  plainValues: 262_144,
  queuedCommands: 4096,
  quarantined: 1024,
  groupCommands: 256,
  groupRecords: 1024,
  proofKeys: 4096,
  agentKeys: 1024,
  /** Milliseconds after which an alarm looks at the time again, so that a step of the wall clock is noticed. */
  alarmWait: 60_000,
  cachedRuns: 16,
  openingRuns: 4,
  users: 16_384,
  openEscalations: 4096,
  /** Entries behind the newest kept state after which the next one is kept, as soon as the run rests. */
  stateCacheEntries: 32_768,
  /** Times that many entries after which the run waits while the next one is kept. */
  stateCacheOverdue: 4,
  stateCacheStop: 1 / 16,
  stateCachePiece: 16_384,
  stateProofPiece: 4 * 1024 * 1024,
  storageFaults: 256,
  /** How often an entry about storage is appended again because somebody let go of its run meanwhile. */
  releasedAppends: 32,
  /** The longest wait before something that failed is tried again, in milliseconds. */
  storageRetry: 6 * 60 * 60_000,
  reportedViolations: 16,
  knownViolations: 4096,
  houseEntries: 1_000_000,
  /** Entries of a library run before it is succeeded: seven for a record at most, each of which memory remembers. */
  libraryEntries: 250_000,
  /** Positions left out for library runs that a restored trail has lost: as many as a thousand runs fill. */
  lostLibrary: 250_000_000,
} as const

export const kernelDefaults = {
  /** Percent of a limit at which its warning is written (W-BUDGET-04). */
  budgetWarning: 80,
  /** Percent by which an agent's report of what it used may differ from the meter (W-CP-10). */
  resourceTolerance: 1,
  /** Milliseconds by which two measures of the same time may differ: they never begin and end at the same instant. */
  wallTimeSlack: 50,
  /** Escalations with a timeout that wait for one absent user; beyond that the oldest falls back (W-HWY-21). */
  escalationQueue: 64,
  operator: 'operator',
  /** The library's worker is at work as long as its run, in milliseconds: a hundred years. */
  libraryTimeout: 100 * 365 * 24 * 60 * 60_000,
  /** A workspace without a timeout of its own gets this one (W-BUDGET-01), in milliseconds. */
  timeout: 24 * 60 * 60_000,
  /** The base of redelivery (W-ENV-14), in milliseconds. */
  redeliveryBase: 1000,
  /** Waits before a commit is tried again (W-REC-07), in milliseconds. */
  commitRetries: [50, 100, 200],
  stateCacheRest: 1000,
  /** Behind the opening of a runtime, before it looks what is left to do about the storage of runs, in milliseconds. */
  storageStart: 5000,
  storageLook: 6 * 60 * 60_000,
  storageRetry: 60_000,
  degradedRetry: 1000,
} as const
