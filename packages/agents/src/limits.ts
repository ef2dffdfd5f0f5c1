// Every bound of the adapters, by name. What a configuration may change is in `agentDefaults`.
export const agentLimits = {
  /** Parts of one command line, and characters of each before its placeholders are filled in. */
  commandParts: 256,
  commandPartLength: 8192,
  /** Characters of the name of a function. */
  functionName: 128,
  /** Variables that one configuration may set or pass. */
  variables: 256,
  /** Milliseconds of the longest turn that a configuration may allow. */
  timeoutMs: 7 * 24 * 60 * 60_000,
  /** Bytes of the most output that a configuration may allow. */
  outputBytes: 1024 * 1024 * 1024,
  /** Bytes of a prompt inside an argument. Linux takes 131,072 with the byte that ends it. */
  argumentBytes: 131_071,
  /** Characters of one line of text; the rest of a longer one is dropped. */
  lineLength: 65_536,
  /** Characters of one line of JSON; a longer one is text that was cut. */
  jsonLineLength: 4 * 1024 * 1024,
  /** Characters of a result's text: the last ones are kept, with a line in front that says so. */
  resultLength: 262_000,
  /** Bytes of standard error in the details of a failure: the last ones are kept. */
  stderrBytes: 4096,
  /** Characters of one event's text. */
  eventLength: 4096,
  /** Characters of a tool's summary, of an error that an agent reports, of a reason to wait. */
  summaryLength: 500,
  /** Events for lines of output in one window; the rest is counted. */
  eventsPerWindow: 50,
  /** Messages of one turn whose usage is kept apart; older ones are summed up. */
  usageMessages: 1024,
  /** Tools of one turn that have started and not finished. */
  openTools: 256,
  /** Characters of the name of a program's own conversation. */
  sessionLength: 128,
  /** Looks at the process table after SIGKILL before what is left is given up. */
  killRounds: 100,
  /** Ancestors of a process that are looked at. */
  ancestors: 256,
  /** Milliseconds from now within which a service can work again: what names a later time is not believed. */
  resetMs: 32 * 24 * 60 * 60_000,
  /** Processes that are looked at before other work gets a turn. */
  processesPerSlice: 16,
  /** Characters of a secret value below which it is too common to be hidden in output. */
  secretLength: 8,
  /** Bytes of what `ps` prints. */
  processTableBytes: 64 * 1024 * 1024,
} as const

export const agentDefaults = {
  timeout: '30m',
  maxOutput: '8MiB',
  /** Milliseconds between SIGTERM and SIGKILL. */
  graceMs: 5000,
  /** Milliseconds in which the pipes of a turn whose processes are gone must be drained. */
  drainMs: 2000,
  /** Milliseconds of one window of events. */
  windowMs: 250,
  /** Milliseconds between two looks at processes that were told to end: the first wait and the longest. */
  pollFirstMs: 5,
  pollMostMs: 100,
  /** Milliseconds between two looks at the telemetry of a program, and bytes that are read at once. */
  telemetryMs: 500,
  telemetryBytes: 65_536,
  /** For one `--version` call. */
  versionMs: 5000,
  versionBytes: 65_536,
  /** Milliseconds for one `ps`. */
  processTableMs: 10_000,
} as const
