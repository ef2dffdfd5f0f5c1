// The closed sets of ALX Protocol v1, each as a tuple and the union of its members (WG-01, WG-03, WG-04).

/** ALX-RUN-01. */
export const RUN_EVENT_TYPES = [
  'run.started',
  'step.started',
  'step.completed',
  'step.failed',
  'step.skipped',
  'artifact.created',
  'approval.required',
  'run.completed',
  'run.failed',
] as const
export type RunEventType = (typeof RUN_EVENT_TYPES)[number]

/** ALX-TL-01. */
export const SESSION_TIMELINE_EVENT_TYPES = ['execution', 'step', 'fallback', 'error', 'reset', 'fork'] as const
export type SessionTimelineEventType = (typeof SESSION_TIMELINE_EVENT_TYPES)[number]

/** ALX-SESS-02. */
export const SESSION_STATUSES = ['active', 'completed', 'failed', 'paused', 'abandoned'] as const
export type SessionStatus = (typeof SESSION_STATUSES)[number]

/** ALX-SOLVE-06. */
export const EXECUTION_STATUSES = ['planned', 'running', 'awaiting_approval', 'completed', 'failed'] as const

/** Access tiers of a Knowledge Block, in the order of the numbers 0 to 3 that reputation gates (ALX-SETTLE-09). */
export const KB_TIERS = ['open', 'verified', 'premium', 'restricted'] as const

/** ALX-KB-14. */
export const KB_STATUSES = ['active', 'deprecated', 'slashed'] as const

/** ALX-KB-01. */
export const DERIVATION_TYPES = ['compose', 'transform', 'extract', 'summarize'] as const

/** ALX-SETTLE-02. */
export const RELATIONSHIPS = ['derv', 'extd', 'ctrd', 'vald'] as const
