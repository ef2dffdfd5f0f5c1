// The EIP-712 hash of a signed request (ALX-SIG-01). One struct of six members, so its encoding is written out
// instead of bringing an encoder of any struct.
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { hex } from '../hash.ts'
import { type Decimal, isAddress, malformed, normalizeRequest, type SignedProtocolRequest, uint } from './request.ts'

/** The members in the order that is hashed. */
export const SIGNED_PROTOCOL_REQUEST_TYPES = {
  SignedProtocolRequest: [
    { name: 'kbId', type: 'bytes32' },
    { name: 'query', type: 'string' },
    { name: 'agent', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'expiry', type: 'uint64' },
    { name: 'chainId', type: 'uint256' },
  ],
} as const

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
const REQUEST_TYPE = `SignedProtocolRequest(${SIGNED_PROTOCOL_REQUEST_TYPES.SignedProtocolRequest.map(
  ({ name, type }) => `${type} ${name}`,
).join(',')})`

export interface SignedProtocolRequestDomain {
  readonly name: 'AlexandrianProtocol'
  readonly version: '1'
  /** A decimal integer. */
  readonly chainId: string
  /** All zeros will do only where no contract verifies (ALX-SIG-03). */
  readonly verifyingContract: string
}

export function buildSignedProtocolRequestDomain(given: {
  readonly chainId: Decimal
  readonly verifyingContract: string
}): SignedProtocolRequestDomain {
  const { chainId, verifyingContract } = given
  if (!isAddress(verifyingContract)) throw malformed('verifyingContract is not an address')
  return {
    name: 'AlexandrianProtocol',
    version: '1',
    chainId: String(uint('chainId', chainId, 256)),
    verifyingContract,
  }
}

/** What the agent signs, as hex. */
export function hashSignedProtocolRequest(request: SignedProtocolRequest, domain: SignedProtocolRequestDomain): string {
  return hex(signingHash(request, domain))
}

export function signingHash(given: SignedProtocolRequest, domain: SignedProtocolRequestDomain): Uint8Array {
  const request = normalizeRequest(given)
  const separator = struct(DOMAIN_TYPE, [
    keccak_256(utf8ToBytes(domain.name)),
    keccak_256(utf8ToBytes(domain.version)),
    number(domain.chainId),
    address(domain.verifyingContract),
  ])
  const message = struct(REQUEST_TYPE, [
    hexToBytes(request.kbId.slice(2)),
    keccak_256(utf8ToBytes(request.query)),
    address(request.agent),
    number(request.nonce),
    number(request.expiry),
    number(request.chainId),
  ])
  return keccak_256(concatBytes(Uint8Array.of(0x19, 0x01), separator, message))
}

function struct(type: string, members: readonly Uint8Array[]): Uint8Array {
  return keccak_256(concatBytes(keccak_256(utf8ToBytes(type)), ...members))
}

function number(decimal: string): Uint8Array {
  return hexToBytes(BigInt(decimal).toString(16).padStart(64, '0'))
}

function address(text: string): Uint8Array {
  return hexToBytes(text.slice(2).toLowerCase().padStart(64, '0'))
}

/** The address of a public key (64 bytes, without the prefix), with the checksum of EIP-55 in its upper case. */
export function addressOf(publicKey: Uint8Array): string {
  const plain = bytesToHex(keccak_256(publicKey).slice(-20))
  const sums = bytesToHex(keccak_256(utf8ToBytes(plain)))
  const digits = [...plain].map((digit, at) => (Number.parseInt(sums[at]!, 16) >= 8 ? digit.toUpperCase() : digit))
  return `0x${digits.join('')}`
}
