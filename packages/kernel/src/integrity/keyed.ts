// Proofs keyed with a secret of the workspace that they come from (W-SEC-07): HMAC-SHA-256, the sheet's own choice, over canonical
// JSON. The secret of a workspace is derived from the profile's and its id, and is stored nowhere.
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { canonicalize, ParleyError, type WorkspaceId } from '@parley/core'
import { kernelLimits } from '../limits.ts'
import type { Proofs } from './proofs.ts'

export const PROOF_ALGORITHM = 'hmac-sha256'

const KEY_BYTES = 32
/** Keeps these keys apart from whatever else is derived from the same secret. */
const PURPOSE = 'parley workspace proof '

export function keyedProofs(secret: Uint8Array): Proofs {
  if (secret.length < KEY_BYTES) {
    throw new ParleyError(
      'invalid_argument',
      `The secret for proofs has ${secret.length} bytes; it needs at least ${KEY_BYTES}.`,
    )
  }
  const master = createSecretKey(secret)
  /** Deriving takes several times as long as proving; the keys used last stay at hand. */
  const keys = new Map<WorkspaceId, KeyObject>()

  function keyOf(workspace: WorkspaceId): KeyObject {
    const known = keys.get(workspace)
    if (known) return known
    const derived = hkdfSync('sha256', master, '', `${PURPOSE}${workspace}`, KEY_BYTES)
    const key = createSecretKey(new Uint8Array(derived))
    if (keys.size >= kernelLimits.proofKeys) {
      const [oldest] = keys.keys()
      if (oldest !== undefined) keys.delete(oldest)
    }
    keys.set(workspace, key)
    return key
  }

  return {
    prove(workspace, value) {
      const proof = createHmac('sha256', keyOf(workspace)).update(canonicalize(value)).digest('hex')
      return { proof, algorithm: PROOF_ALGORITHM }
    },
  }
}
