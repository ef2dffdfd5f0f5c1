// Who signed a request, and whether it may still be used (ALX-SIG-02, -03).
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import { limits } from '../limits.ts'
import {
  type NormalizedRequest,
  normalizeRequest,
  type SignedProtocolRequest,
  SignedRequestValidationError,
} from './request.ts'
import { addressOf, type SignedProtocolRequestDomain, signingHash } from './typed-data.ts'

/** Remembers the nonces of one process. A server that restarts needs one that keeps them. */
export class NonceTracker {
  readonly #seen = new Set<string>()

  /** Whether the agent uses this nonce for the first time. What could not be remembered is not accepted. */
  consume(agent: string, nonce: string): boolean {
    const use = `${agent.toLowerCase()}:${nonce}`
    if (this.#seen.has(use) || this.#seen.size >= limits.trackedNonces) return false
    this.#seen.add(use)
    return true
  }
}

/** The checksummed address. Throws INVALID_SIGNATURE for what is no signature, or has the higher `s` of the two. */
export function recoverSignedProtocolRequestSigner(
  request: SignedProtocolRequest,
  signature: string,
  domain: SignedProtocolRequestDomain,
): string {
  const hash = signingHash(request, domain)
  try {
    const bytes = hexToBytes(signature.replace(/^0x/, ''))
    const v = bytes[64]!
    const recovery = v >= 27 ? v - 27 : v
    const recovered = secp256k1.Signature.fromBytes(
      concatBytes(Uint8Array.of(recovery), bytes.subarray(0, 64)),
      'recovered',
    )
    if (bytes.length !== 65 || recovery > 1 || recovered.hasHighS()) throw new Error('not a signature of Ethereum')
    return addressOf(recovered.recoverPublicKey(hash).toBytes(false).subarray(1))
  } catch {
    throw new SignedRequestValidationError('INVALID_SIGNATURE', 'the signature is not one that an agent can have made')
  }
}

export interface Verification {
  readonly request: SignedProtocolRequest
  /** 65 bytes of hex: r, s, v. */
  readonly signature: string
  readonly domain: SignedProtocolRequestDomain
  readonly nonces: Pick<NonceTracker, 'consume'>
  readonly nowMs: number
}

export interface VerifiedRequest {
  readonly ok: true
  readonly signer: string
  readonly request: NormalizedRequest
}

/** Throws a SignedRequestValidationError; the nonce is used up only when everything else holds. */
export function verifySignedProtocolRequest({
  request,
  signature,
  domain,
  nonces,
  nowMs,
}: Verification): VerifiedRequest {
  const normalized = normalizeRequest(request)
  const refused = (code: SignedRequestValidationError['code'], message: string) =>
    new SignedRequestValidationError(code, message)
  if (BigInt(normalized.chainId) !== BigInt(domain.chainId))
    throw refused('CHAIN_MISMATCH', `the request is for chain ${normalized.chainId}, not for ${domain.chainId}`)
  if (Number(normalized.expiry) * 1000 <= nowMs) throw refused('REQUEST_EXPIRED', 'the request has expired')
  const signer = recoverSignedProtocolRequestSigner(normalized, signature, domain)
  if (signer.toLowerCase() !== normalized.agent.toLowerCase())
    throw refused('INVALID_SIGNATURE', `${signer} signed the request, and not ${normalized.agent}`)
  if (!nonces.consume(signer, normalized.nonce))
    throw refused('NONCE_REUSED', `${signer} has used nonce ${normalized.nonce} before`)
  return { ok: true, signer, request: normalized }
}
