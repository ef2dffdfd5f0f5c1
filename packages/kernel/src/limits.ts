// Every bound of the kernel and its runtime, by name. The bounds of the trail (batches, entries, objects) are the trail's own.

export const kernelLimits = {
  /** Workspaces of one run that are not terminal. A forced stop fails all of them in one batch. */
  openWorkspaces: 2048,
  /** Workspaces of one run, terminal ones included. */
  workspaces: 65_536,
  /** Envelopes of one run, rejected ones included. */
  envelopes: 1_048_576,
  /** Envelopes of one run that are accepted and not delivered yet. */
  undelivered: 4096,
  /** Envelopes of one run that are placed and not confirmed by the transport; beyond that the oldest is not carried again. */
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
  /** Tasks of one graph. */
  graphTasks: 4096,
  /** Tasks that one command adds. */
  submittedTasks: 1024,
  dependencies: 1024,
  /** Attempts of one task (W-TASK-12 suggests 3; the coordinator may override it). */
  attempts: 64,
  memoryKeys: 1024,
  memoryKeyLength: 256,
  /** Visibility targets, mounts and resources that a creation names. */
  creationList: 1024,
  /** Values and members of what a caller hands in. */
  plainValues: 262_144,
  /** Commands of one run that wait, or are held while the trail is not available. */
  queuedCommands: 4096,
  /** Commands that are decided and appended together. */
  groupCommands: 256,
  /** Records of such a group; the trail's own batch limit is larger. */
  groupRecords: 1024,
  /** Finished runs whose state is kept for the next read. */
  cachedRuns: 16,
  /** Runs that are read at once when a runtime is opened. */
  openingRuns: 4,
  /** Entries of the house run after which it rotates. */
  houseEntries: 1_000_000,
} as const

export const kernelDefaults = {
  /** A workspace without a timeout of its own gets this one (W-BUDGET-01), in milliseconds. */
  timeout: 24 * 60 * 60_000,
  /** The base of redelivery (W-ENV-14), in milliseconds. */
  redeliveryBase: 1000,
  /** Waits before a commit is tried again (W-REC-07), in milliseconds. */
  commitRetries: [50, 100, 200],
  /** Wait between two tries while the trail is not available, in milliseconds. */
  degradedRetry: 1000,
} as const
