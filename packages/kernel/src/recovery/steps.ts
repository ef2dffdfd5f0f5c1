// Recovery as the sheet's five steps (W-REC-11): what replay found becomes a plan, and the plan is carried out command by command
// before anything from outside is taken.

/** One written step; `completed` is the marker with its eight numbers (W-REC-22). */
export type RecoveryStep = { readonly type: 'completed'; readonly counts: RecoveryCounts }

export interface RecoveryCounts {
  readonly downtime: number
  readonly workspaces_recovered: number
  readonly workspaces_failed: number
  readonly envelopes_redelivered: number
  readonly signals_requeued: number
  readonly timers_reconstructed: number
  readonly trail_entries_examined: number
  readonly quarantined_entries: number
}
