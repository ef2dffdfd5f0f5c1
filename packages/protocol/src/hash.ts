// Hashes and content identifiers of canonical texts (ALX-KB-05, ALX-KB-10). Keccak-256 is the original padding, which
// Ethereum uses, and not SHA3-256.
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { base32nopad } from '@scure/base'
import { canonicalize } from './canonical.ts'

/** What an object is, in front of its text: objects of different kinds never share a hash. */
export const DOMAIN_TAGS = {
  KB: 'KB_V1',
  TASK: 'TASK_V1',
  TRANSITION: 'TRANSITION_V1',
  CONSTRAINT: 'CONSTRAINT_V1',
  TOOL: 'TOOL_V1',
  VALIDATION: 'VALIDATION_V1',
  RESOLVER: 'RESOLVER_V1',
  STATE: 'STATE_V1',
  LEAF: 'LEAF_V1',
  EMPTY_TREE: 'EMPTY_TREE_V1',
  SETTLEMENT: 'SETTLEMENT_V1',
} as const

/** 32 bytes of a hash. Anything but Keccak-256 is for tests that need a collision (ALX-HTTP-08). */
export type HashFn = (bytes: Uint8Array) => Uint8Array

export function hex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`
}

export function contentHashFromCanonical(text: string): string {
  return artifactHashFromBytes(utf8ToBytes(text))
}

/** One hash of tag and text, not two. */
export function domainHashFromCanonical(tag: string, text: string, hash: HashFn = keccak_256): string {
  return hex(hash(utf8ToBytes(tag + text)))
}

export function domainHashFromObject(tag: string, value: unknown, hash?: HashFn): string {
  return domainHashFromCanonical(tag, canonicalize(value), hash)
}

export function artifactHashFromBytes(bytes: Uint8Array): string {
  return hex(keccak_256(bytes))
}

/** No tag: it commits to the payload's bytes, wherever they are. */
export function artifactHashFromPayload(payload: unknown): string {
  return contentHashFromCanonical(canonicalize(payload))
}

/** CIDv1, codec raw, multihash SHA-256 of 32 bytes. */
const CID_PREFIX = Uint8Array.of(0x01, 0x55, 0x12, 0x20)

export function cidV1FromCanonicalSync(text: string): string {
  return `b${base32nopad.encode(concatBytes(CID_PREFIX, sha256(utf8ToBytes(text)))).toLowerCase()}`
}

/** The same behind a promise, for callers that are written for a hash of the platform's. */
export async function cidV1FromCanonical(text: string): Promise<string> {
  return cidV1FromCanonicalSync(text)
}
