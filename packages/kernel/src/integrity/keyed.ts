// Proofs keyed with a secret of the workspace that they come from (W-SEC-07): HMAC-SHA-256, the sheet's own choice,
// over canonical JSON. The secret of a workspace is derived from the profile's and its id, and is stored nowhere.
import { canonicalize, type WorkspaceId } from '@parley/core'
import { HmacKey } from '@parley/trail'
import { kernelLimits } from '../limits.ts'
import { derivation } from './derive.ts'
import type { Proofs } from './proofs.ts'

export const PROOF_ALGORITHM = 'hmac-sha256'

const PURPOSE = 'parley workspace proof '

export function keyedProofs(secret: Uint8Array): Proofs {
  const derive = derivation(secret)
  const keys = new Map<WorkspaceId, HmacKey>()

  function keyOf(workspace: WorkspaceId): HmacKey {
    const known = keys.get(workspace)
    if (known) return known
    const key = new HmacKey(derive(PURPOSE + workspace))
    if (keys.size >= kernelLimits.proofKeys) {
      const [oldest] = keys.keys()
      if (oldest !== undefined) keys.delete(oldest)
    }
    keys.set(workspace, key)
    return key
  }

  return {
    prove(workspace, value) {
      return { proof: keyOf(workspace).sign(canonicalize(value)), algorithm: PROOF_ALGORITHM }
    },
  }
}
