// What an operator may set (`alx.*` in config.yaml), with the values that the sheet names.
export interface AlxSettings {
  /** ALX-SOLVE-10. */
  readonly minConfidence: number
  /** ALX-RUN-07: milliseconds after the terminal event. */
  readonly eventRetentionMs: number
  /** ALX-SESS-03. */
  readonly abandonAfterMs: number
  /** Working time of a run whose team has no limit. */
  readonly runLimitMs: number
  /** Whether answers repeat members for convenience (ALX-SOLVE-16). */
  readonly aliases: boolean
}

export const DEFAULT_SETTINGS: AlxSettings = {
  minConfidence: 0.35,
  eventRetentionMs: 300_000,
  abandonAfterMs: 86_400_000,
  runLimitMs: 120_000,
  aliases: true,
}
