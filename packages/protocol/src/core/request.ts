// A request that is signed, in the one form in which it is compared and hashed (ALX-SIG-01, -02).

/** A non-negative integer, in whatever way a caller has it. */
export type Decimal = string | number | bigint

export interface SignedProtocolRequest {
  /** The `kbHash` of the block that is asked about. */
  readonly kbId: string
  readonly query: string
  readonly agent: string
  readonly nonce: Decimal
  /** Unix seconds. */
  readonly expiry: Decimal
  readonly chainId: Decimal
}

export interface NormalizedRequest extends SignedProtocolRequest {
  readonly nonce: string
  readonly expiry: string
  readonly chainId: string
}

export const SIGNED_REQUEST_ERRORS = [
  'MALFORMED_REQUEST',
  'CHAIN_MISMATCH',
  'REQUEST_EXPIRED',
  'INVALID_SIGNATURE',
  'NONCE_REUSED',
] as const
export type SignedRequestErrorCode = (typeof SIGNED_REQUEST_ERRORS)[number]

export class SignedRequestValidationError extends Error {
  override readonly name = 'SignedRequestValidationError'
  readonly code: SignedRequestErrorCode

  constructor(code: SignedRequestErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Throws MALFORMED_REQUEST. */
export function normalizeRequest(request: SignedProtocolRequest): NormalizedRequest {
  const { kbId, query, agent } = request
  if (!isText(kbId) || !/^0x[0-9a-fA-F]{64}$/.test(kbId)) throw malformed('kbId is not 32 bytes of hex')
  if (!isText(query) || !query.isWellFormed()) throw malformed('query is not well-formed text')
  if (!isAddress(agent)) throw malformed('agent is not an address')
  return {
    kbId: kbId.toLowerCase(),
    query,
    agent,
    nonce: String(uint('nonce', request.nonce, 256)),
    expiry: String(uint('expiry', request.expiry, 64)),
    chainId: String(uint('chainId', request.chainId, 256)),
  }
}

/** Throws MALFORMED_REQUEST for what is no integer from 0 to 2^bits − 1. */
export function uint(name: string, given: Decimal, bits: number): bigint {
  const exact = typeof given === 'number' ? Number.isSafeInteger(given) : typeof given === 'bigint' || isDecimal(given)
  const value = exact ? BigInt(given) : -1n
  if (value < 0n || value >> BigInt(bits) > 0n) throw malformed(`${name} is not an integer from 0 to 2^${bits} − 1`)
  return value
}

/** So short that turning it into a number costs nothing: 2^256 has 78 digits. */
function isDecimal(given: unknown): boolean {
  return isText(given) && /^[0-9]{1,78}$/.test(given)
}

export function isAddress(given: unknown): given is string {
  return isText(given) && /^0x[0-9a-fA-F]{40}$/.test(given)
}

function isText(given: unknown): given is string {
  return typeof given === 'string'
}

export function malformed(message: string): SignedRequestValidationError {
  return new SignedRequestValidationError('MALFORMED_REQUEST', message)
}
