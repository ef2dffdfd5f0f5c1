// Proofs keyed with a workspace's secret (W-SEC-07): HMAC-SHA-256 over canonical JSON. Secrets are derived from the
// profile's by HKDF (RFC 5869, one block, no salt) and stored nowhere.
import { createHmac } from 'node:crypto'
import { canonicalize, ParleyError, type WorkspaceId } from '@parley/core'
import { HmacKey } from '@parley/trail'
import { kernelLimits } from '../limits.ts'
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

export const KEY_BYTES = 32

type Derive = (purpose: string) => Buffer

export function derivation(secret: Uint8Array): Derive {
  if (secret.length < KEY_BYTES) {
    throw new ParleyError(
      'invalid_argument',
      `The secret for proofs has ${secret.length} bytes; it needs at least ${KEY_BYTES}.`,
    )
  }
  const extracted = new HmacKey(createHmac('sha256', Buffer.alloc(KEY_BYTES)).update(secret).digest())
  return purpose => Buffer.from(extracted.sign(`${purpose}\x01`), 'hex')
}
