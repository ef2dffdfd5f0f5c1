// Proofs keyed with a secret of the workspace that they come from (W-SEC-07): HMAC-SHA-256, the sheet's own choice, over canonical
// JSON. The secret of a workspace is derived from the profile's and its id, and is stored nowhere.
import { createHmac } from 'node:crypto'
import { canonicalize, ParleyError, type WorkspaceId } from '@parley/core'
import { kernelLimits } from '../limits.ts'
import { HmacKey } from './hmac.ts'
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
  // HKDF (RFC 5869) without salt. One block of it is enough for a key, so that deriving is as cheap as proving.
  const extracted = new HmacKey(createHmac('sha256', Buffer.alloc(KEY_BYTES)).update(secret).digest())
  const keys = new Map<WorkspaceId, HmacKey>()

  function keyOf(workspace: WorkspaceId): HmacKey {
    const known = keys.get(workspace)
    if (known) return known
    const key = new HmacKey(Buffer.from(extracted.sign(`${PURPOSE}${workspace}\x01`), 'hex'))
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
