// Signed requests over HTTP (section 12, capability `signed-requests`). The sheet says what is signed; how it travels
// is ours: the header `x-alx-signed-request` carries base64url, without padding, of the JSON object `{request:
// SignedProtocolRequest, signature: "0x…", domain: SignedProtocolRequestDomain}` with numbers as decimal strings.
// It may come with reads of a block, its lineage and settlements, beside the bearer token, which it does not replace.
// - `domain` must be the one that the server is configured with, member for member.
// - `request.kbId` must be the `kbHash` that the route or the body names. For a settlement, `request.query` must be its
//   `queryId`: so a signature is good for one settlement and no other. For a read it is free.
// - `request.expiry` may be at most a day ahead, since its nonce must be remembered for as long.
import type { Result } from '@alx/protocol'
import {
  buildSignedProtocolRequestDomain,
  type SignedProtocolRequest,
  type SignedProtocolRequestDomain,
  type SignedRequestErrorCode,
  SignedRequestValidationError,
  verifySignedProtocolRequest,
} from '@alx/protocol/core'
import { type Clock, compile, Type, ticksPerMillisecond } from '@parley/core'
import { kbLimits } from './limits.ts'
import type { Nonces } from './nonces.ts'
import { type Refusal, refused, unavailable } from './refusals.ts'

export const SIGNED_REQUEST_HEADER = 'x-alx-signed-request'

const decimal = Type.String({ pattern: '^[0-9]{1,78}$' })
const presented = compile(
  Type.Object({
    request: Type.Object({
      kbId: Type.String(),
      query: Type.String(),
      agent: Type.String(),
      nonce: decimal,
      expiry: decimal,
      chainId: decimal,
    }),
    signature: Type.String(),
    domain: Type.Object({
      name: Type.String(),
      version: Type.String(),
      chainId: decimal,
      verifyingContract: Type.String(),
    }),
  }),
)

/** What the request that carries the signature is about. */
export interface SignedMatter {
  readonly kbHash: string
  /** Of a settlement. */
  readonly queryId?: string
}

export interface Signer {
  /** Checksummed address. */
  readonly agent: string
  readonly query: string
}

export interface SignedRequestsOptions {
  readonly chainId: string | number
  /** All zeros where no contract verifies these signatures as well (ALX-SIG-03). */
  readonly verifyingContract: string
  readonly nonces: Nonces
  readonly clock: Clock
}

export class SignedRequests {
  readonly #domain: SignedProtocolRequestDomain
  readonly #nonces: Nonces
  readonly #clock: Clock

  constructor({ chainId, verifyingContract, nonces, clock }: SignedRequestsOptions) {
    this.#domain = buildSignedProtocolRequestDomain({ chainId, verifyingContract })
    this.#nonces = nonces
    this.#clock = clock
  }

  /**
   * Who signed. A refusal is UNAUTHORIZED, to be answered with 401, and `error.details[0].issue` is the reason
   * (ALX-SIG-04); or UPSTREAM_UNAVAILABLE, where the nonce could not be kept, which is used up all the same.
   */
  async verify(header: string, matter: SignedMatter): Promise<Result<Signer>> {
    const given = parse(header)
    if (!given) return failed('MALFORMED_REQUEST', `${SIGNED_REQUEST_HEADER} does not hold a signed request`)
    const { request, signature } = given
    const mismatch = this.#mismatch(given, matter)
    if (mismatch) return mismatch
    const expiry = Number(request.expiry)
    const nowMs = this.#clock.now() / ticksPerMillisecond
    if (expiry > nowMs / 1000 + kbLimits.signedRequestSeconds)
      return failed('MALFORMED_REQUEST', `expiry is more than ${kbLimits.signedRequestSeconds} seconds ahead`)
    const nonces = { consume: (agent: string, nonce: string) => this.#nonces.take(agent, nonce, expiry) }
    try {
      const verified = verifySignedProtocolRequest({ request, signature, domain: this.#domain, nonces, nowMs })
      await this.#nonces.remember(verified.signer, verified.request.nonce, expiry)
      return { ok: true, value: { agent: verified.signer, query: request.query } }
    } catch (thrown) {
      if (thrown instanceof SignedRequestValidationError) return failed(thrown.code, thrown.message)
      if (thrown instanceof Error && 'syscall' in thrown) return unavailable()
      throw thrown
    }
  }

  /** What is wrong before the order of ALX-SIG-02 begins; none of it costs the nonce. */
  #mismatch({ request, domain }: NonNullable<ReturnType<typeof parse>>, matter: SignedMatter): Refusal | undefined {
    const own = this.#domain
    if (BigInt(domain.chainId) !== BigInt(own.chainId))
      return failed('CHAIN_MISMATCH', `the request was signed for chain ${domain.chainId}, not for ${own.chainId}`)
    const isOwn =
      domain.name === own.name &&
      domain.version === own.version &&
      domain.verifyingContract.toLowerCase() === own.verifyingContract.toLowerCase()
    if (!isOwn) return failed('INVALID_SIGNATURE', 'the request was signed for another domain')
    if (request.kbId.toLowerCase() !== matter.kbHash)
      return failed('INVALID_SIGNATURE', 'the request was signed for another Knowledge Block')
    if (matter.queryId !== undefined && request.query !== matter.queryId)
      return failed('INVALID_SIGNATURE', 'the query that was signed is not the queryId of this settlement')
    return undefined
  }
}

/** The header for a signed request: what clients send. */
export function signedRequestHeader(
  request: SignedProtocolRequest,
  signature: string,
  domain: SignedProtocolRequestDomain,
): string {
  const { nonce, expiry, chainId } = request
  const numbers = { nonce: String(nonce), expiry: String(expiry), chainId: String(chainId) }
  return Buffer.from(JSON.stringify({ request: { ...request, ...numbers }, signature, domain })).toString('base64url')
}

function parse(header: string) {
  if (header.length > kbLimits.signedRequestLength || !/^[A-Za-z0-9_-]+$/.test(header)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'))
    return presented.is(value) ? value : undefined
  } catch {
    return undefined
  }
}

function failed(code: SignedRequestErrorCode, message: string): Refusal {
  return refused('UNAUTHORIZED', message, { details: [{ path: SIGNED_REQUEST_HEADER, issue: code }] })
}
