// The identity of a Knowledge Block and helpers around its envelope (ALX-KB-02 to -06, -15, ALX-SDK-03).
import { canonicalize } from '../canonical.ts'
import {
  artifactHashFromBytes,
  artifactHashFromPayload,
  contentHashFromCanonical,
  DOMAIN_TAGS,
  domainHashFromObject,
  type HashFn,
} from '../hash.ts'
import type { Derivation, KbEnvelope } from '../wire/kb.ts'

/** ALX-KB-02. These and no others: whatever else an envelope carries is transport (ALX-KB-03). */
const HASH_SCOPE = ['type', 'domain', 'sources', 'artifactHash', 'tier', 'payload', 'derivation'] as const

/** Any object of which those members count that an envelope has. */
export type EnvelopeLike = { readonly [member: string]: unknown }

/** The members of an envelope that are hashed, as they are. */
export function hashScope(envelope: EnvelopeLike): Record<string, unknown> {
  const there = HASH_SCOPE.filter(key => Object.hasOwn(envelope, key) && envelope[key] !== undefined)
  return Object.fromEntries(there.map(key => [key, envelope[key]]))
}

/** The same with `sources` as a sorted set (ALX-KB-06). Nothing is checked. */
export function normalizeForHash(envelope: EnvelopeLike): Record<string, unknown> {
  const { sources = [], ...others } = hashScope(envelope)
  return { ...others, sources: Array.isArray(sources) ? [...new Set(sources)].sort() : sources }
}

/** ALX-KB-05. Throws for what has no canonical text. */
export function kbHashFromEnvelope(envelope: EnvelopeLike, hash?: HashFn): string {
  return domainHashFromObject(DOMAIN_TAGS.KB, normalizeForHash(envelope), hash)
}

/** @deprecated A hash without a tag, which is nobody's identity: use `kbHashFromEnvelope`. */
export function contentHashFromEnvelope(envelope: EnvelopeLike): string {
  return contentHashFromCanonical(canonicalize(normalizeForHash(envelope)))
}

export function sortSources<E extends { readonly sources?: readonly string[] }>(envelope: E): E {
  return envelope.sources === undefined ? envelope : { ...envelope, sources: [...envelope.sources].sort() }
}

export interface DerivedParts {
  readonly domain: string
  readonly sources: readonly string[]
  readonly artifactHash?: string
  readonly tier?: KbEnvelope['tier']
  readonly derivation: Derivation
  readonly payload: { readonly type: string; readonly [member: string]: unknown }
}

export function buildDerivedEnvelope(parts: DerivedParts): KbEnvelope {
  const { domain, sources, payload, tier = 'open', artifactHash = artifactHashFromPayload(payload) } = parts
  const inputs = parts.derivation.inputs.map(input => ({ ...input, kbId: prefixed(input.kbId) }))
  const derivation = { ...parts.derivation, inputs }
  return sortSources({
    type: payload.type,
    domain,
    sources: sources.map(prefixed),
    artifactHash,
    tier,
    payload,
    derivation,
  })
}

function prefixed(hash: string): string {
  return hash.startsWith('0x') ? hash : `0x${hash}`
}

export interface Candidate {
  readonly kbId: string
  readonly blockNumber: number
  readonly logIndex: number
}

/** Which of two registrations came first. */
export function compareCandidates(a: Candidate, b: Candidate): -1 | 0 | 1 {
  return (
    compared(a.blockNumber, b.blockNumber) ||
    compared(a.logIndex, b.logIndex) ||
    compared(a.kbId.toLowerCase(), b.kbId.toLowerCase())
  )
}

function compared<T extends number | string>(a: T, b: T): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0
}

export interface Verifiable {
  /** The artifact's bytes, or a payload; without it the manifest's payload is the artifact. */
  readonly artifact?: Uint8Array | EnvelopeLike | undefined
  /** An envelope; a `kbHash` or `artifactHash` that it carries is compared. */
  readonly manifest: EnvelopeLike
  readonly expectedKbHash?: string | undefined
}

export interface Verified {
  /** Whether every comparison holds that can be made. */
  readonly valid: boolean
  readonly kbHash: string
  readonly artifactHash: string
}

/** ALX-KB-15. Throws for what has no canonical text. */
export function verifyKBArtifact({ artifact, manifest, expectedKbHash }: Verifiable): Verified {
  const kbHash = kbHashFromEnvelope(manifest)
  const artifactHash =
    artifact instanceof Uint8Array
      ? artifactHashFromBytes(artifact)
      : artifactHashFromPayload(artifact ?? manifest.payload)
  const same = (expected: unknown, actual: string) => expected === undefined || expected === actual
  const valid =
    same(expectedKbHash, kbHash) && same(manifest.kbHash, kbHash) && same(manifest.artifactHash, artifactHash)
  return { valid, kbHash, artifactHash }
}
