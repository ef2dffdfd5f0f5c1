// Knowledge Blocks on the wire (ALX-KB-01, -12, -14 to -16, ALX-SETTLE-02, -08).
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { freeObject, hash32, integer, iso, nullable, oneOf, uintString, type Wire } from '../schema/scalars.ts'
import { received, sent } from '../schema/shape.ts'
import { DERIVATION_TYPES, KB_STATUSES, KB_TIERS, RELATIONSHIPS } from '../vocabulary.ts'
import { kbDomain, kbId } from './artifact.ts'
import { offered, succeeded } from './envelope.ts'

// Whatever is inside a member that is hashed is content (ALX-ENV-07), so these objects are open in both modes.
const content = { additionalProperties: true }
const sources = Type.Array(hash32, { uniqueItems: true, maxItems: limits.sources })

export const derivation = Type.Object(
  {
    type: oneOf(DERIVATION_TYPES),
    inputs: Type.Array(Type.Object({ kbId: hash32, selectors: Type.Array(Type.String()) }, content)),
    recipe: freeObject,
  },
  content,
)
export type Derivation = Wire<typeof derivation>
export const { parse: parseDerivation, is: isDerivation } = sent(derivation)

/** ALX-KB-01: the members that are hashed. Whether `payload` fits `type` is another check: `checkKbEnvelope`. */
export const kbEnvelope = Type.Object({
  type: Type.String(),
  domain: kbDomain,
  sources,
  payload: freeObject,
  artifactHash: Type.Optional(hash32),
  tier: Type.Optional(oneOf(KB_TIERS)),
  derivation: Type.Optional(derivation),
})
export type KbEnvelope = Wire<typeof kbEnvelope>
export const { parse: parseKbEnvelope, is: isKbEnvelope } = sent(kbEnvelope)

export const attributionLink = Type.Object({
  parentHash: hash32,
  royaltyShareBps: integer(0, limits.bps),
  relationship: Type.Optional(oneOf(RELATIONSHIPS)),
})
export type AttributionLink = Wire<typeof attributionLink>
export const { parse: parseAttributionLink, is: isAttributionLink } = received(attributionLink)

/** An envelope that somebody presents: anything may stand beside its seven members, and `kbHash` is compared. */
export type PresentedEnvelope = KbEnvelope & { readonly kbHash?: string }
const presented = Type.Unsafe<PresentedEnvelope>(freeObject)

/**
 * Envelope and links are looked into by the checks of a registration, in their order (ALX-KB-12): what is wrong with
 * them has codes of its own.
 */
export const kbRegisterInput = Type.Object({
  envelope: presented,
  kbId: Type.Optional(kbId),
  attribution: Type.Optional(Type.Unsafe<AttributionLink[]>({ type: 'array' })),
  queryFee: Type.Optional(uintString),
  ...offered,
})
export type KbRegisterInput = Wire<typeof kbRegisterInput>
export const { parse: parseKbRegisterInput, is: isKbRegisterInput } = received(kbRegisterInput)

export const kbRegistration = Type.Object({
  ...succeeded,
  kbHash: hash32,
  kbId: nullable(kbId),
  cidV1: Type.String({ pattern: '^b[a-z2-7]+$' }),
  isNew: Type.Boolean(),
  warnings: Type.Optional(Type.Array(Type.String())),
})
export type KbRegistration = Wire<typeof kbRegistration>
export const { parse: parseKbRegistration, is: isKbRegistration } = sent(kbRegistration)

export const kbRecord = Type.Object({
  ...succeeded,
  kbHash: hash32,
  kbId: nullable(kbId),
  envelope: kbEnvelope,
  curator: Type.String(),
  createdAt: iso,
  status: oneOf(KB_STATUSES),
  attribution: Type.Array(attributionLink),
  queryFee: uintString,
})
export type KbRecord = Wire<typeof kbRecord>
export const { parse: parseKbRecord, is: isKbRecord } = sent(kbRecord)

export const kbVerifyInput = Type.Object({
  envelope: presented,
  expectedKbHash: Type.Optional(hash32),
  artifactBase64: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' })),
  ...offered,
})
export type KbVerifyInput = Wire<typeof kbVerifyInput>
export const { parse: parseKbVerifyInput, is: isKbVerifyInput } = received(kbVerifyInput, {
  always: ({ artifactBase64 = '' }) =>
    artifactBase64.length % 4 === 0 ? undefined : { path: 'artifactBase64', issue: 'must be base64 with padding' },
})

export const kbVerification = Type.Object({
  ...succeeded,
  valid: Type.Boolean(),
  kbHash: hash32,
  artifactHash: hash32,
})
export type KbVerification = Wire<typeof kbVerification>
export const { parse: parseKbVerification, is: isKbVerification } = sent(kbVerification)

const trace = {
  root: hash32,
  nodes: Type.Array(Type.Object({ kbHash: hash32, depth: integer(0), pathCount: uintString })),
  edges: Type.Array(Type.Object({ from: hash32, to: hash32 })),
  leaves: Type.Array(hash32),
}
export const attributionTrace = Type.Object(trace)
export type AttributionTrace = Wire<typeof attributionTrace>
export const { parse: parseAttributionTrace, is: isAttributionTrace } = sent(attributionTrace)

/** ALX-KB-16: the answer of the lineage route. */
export const kbLineage = Type.Object({ ...succeeded, ...trace })
export type KbLineage = Wire<typeof kbLineage>
export const { parse: parseKbLineage, is: isKbLineage } = sent(kbLineage)
