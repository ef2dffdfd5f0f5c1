// What makes two solve calls the same request for an idempotency key (ALX-SOLVE-15).
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { canonicalizeWithNull } from './canonical.ts'
import { hex } from './hash.ts'
import type { SolveCallInput } from './wire/solve-call.ts'

/**
 * Of a call as `parseSolveCallInput` gives it. `options` that hold nothing but the key count as none, so that the key
 * may come in a header as well.
 */
export function requestFingerprint({ protocol: _version, options = {}, ...call }: SolveCallInput): string {
  const { idempotencyKey: _key, ...others } = options
  const meant = Object.keys(others).length === 0 ? call : { ...call, options: others }
  return hex(sha256(utf8ToBytes(canonicalizeWithNull(meant))))
}
