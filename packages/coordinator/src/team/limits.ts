// Every bound of a team file, and what holds where a file says nothing.

const KiB = 1024
const hour = 60 * 60_000

export const teamLimits = {
  /** Bytes of a team file in UTF-8. */
  fileBytes: 256 * KiB,
  /** Lexical tokens of a file: what the parser's time and memory depend on. */
  fileTokens: 128 * KiB,
  /** Collections inside each other, as the parser counts them; the deepest field needs a dozen. */
  fileDepth: 48,
  /** Values and characters that aliases may add to what the file itself holds. */
  aliasGrowth: 512 * KiB,
  /** Problems that one refusal lists. */
  problems: 20,
  agents: 64,
  /** Tasks of a file, those of nested plans among them. */
  tasks: 512,
  /** Plans inside plans, the outermost included. */
  planDepth: 3,
  breaker: 100,
  nameLength: 64,
  titleLength: 200,
  descriptionLength: 4 * KiB,
  promptLength: 64 * KiB,
  /** Places in one prompt where the intent is filled in. */
  promptIntents: 8,
  commandWords: 256,
  wordLength: 16 * KiB,
  paths: 256,
  /** Variables that a setup gets from whoever starts the run. */
  setupVariables: 256,
  pathLength: KiB,
  concurrency: 64,
  slots: 64,
  attempts: 16,
  /** Milliseconds of the longest run and the longest task: 30 days. Turns have a limit of their own. */
  durationMs: 30 * 24 * hour,
  /** Characters of a line that a message for people shows. */
  shownLine: 120,
} as const

export const teamDefaults = {
  concurrency: 4,
  attempts: 2,
  slots: 4,
  setupTimeout: '15m',
  priority: 'normal',
  approval: 'ask',
  reviewPrompt: 'Is the work right and complete?',
  symlinks: 'inside',
  merge: { strategy: 'layered', conflicts: 'rework' },
  breakers: { no_progress: 3, repetition: 3 },
} as const
