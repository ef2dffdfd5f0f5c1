// A kernel that is broken on purpose: one place in one source file, and which scenarios must notice.
export interface Break {
  /** The rule that no longer holds, for people. */
  readonly rule: string
  /** The end of the file's path. */
  readonly file: string
  readonly find: string
  readonly replace: string
  /** Rows that must fail. */
  readonly fails: readonly string[]
  /** Rows near by that must still pass: the break is this one rule and not the whole host. */
  readonly passes: readonly string[]
}
