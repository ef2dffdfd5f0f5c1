// A rule and how to break it: one place in one file, and what stands there instead.
export interface Mutant {
  readonly id: string
  /** The rule that no longer holds. */
  readonly rule: string
  /** The kernel where nothing is said. */
  readonly package?: 'kernel' | 'trail' | 'core' | 'keys' | 'call' | 'link'
  readonly file: string
  readonly find: string
  readonly replace: string
  /** The folder, or the file, whose tests speak of the rule, where that is not the file's own folder. */
  readonly tests?: string
}
