// Proofs of envelopes and checkpoints (W-SEC-07, -09): keyed with a secret of the workspace that they come from.
import type { WorkspaceId } from '@parley/core'

export interface Proof {
  readonly proof: string
  readonly algorithm: string
}

/** Deterministic: the same workspace and value always have the same proof. */
export interface Proofs {
  prove(workspace: WorkspaceId, value: unknown): Proof
}
