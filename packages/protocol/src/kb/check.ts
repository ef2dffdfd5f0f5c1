// What a registration checks of an envelope and its links without a registry, first failure first (ALX-KB-12, rows 1
// to 5 and 10).
import { type Result, refuse } from '../errors.ts'
import type { HashFn } from '../hash.ts'
import { limits } from '../limits.ts'
import { type Problem, problemsOf, text } from '../schema/problems.ts'
import { type AttributionLink, type KbEnvelope, parseAttributionLink, parseKbEnvelope } from '../wire/kb.ts'
import { type EnvelopeLike, hashScope, kbHashFromEnvelope, normalizeForHash } from './envelope.ts'
import { isKbType, KB_TYPES, payloadSchema } from './payloads.ts'

export interface CheckedEnvelope {
  readonly kbHash: string
  /** The members that are hashed, `sources` sorted: what is stored. */
  readonly envelope: KbEnvelope
  readonly warnings: readonly string[]
}

/** Rows 1 to 5. `hash` is Keccak-256 but in tests of what honest hashes cannot reach. */
export function checkKbEnvelope(presented: EnvelopeLike, hash?: HashFn): Result<CheckedEnvelope> {
  const parsed = parseKbEnvelope(hashScope(presented), 'emit')
  if (!parsed.ok) return invalid('INVALID_ENVELOPE', parsed.error.details ?? [])
  const kbHash = hashOf(presented, hash)
  if (kbHash instanceof TypeError) return invalid('INVALID_ENVELOPE', [{ path: '$', issue: kbHash.message }])
  const { type, payload, sources, derivation } = parsed.value
  if (!isKbType(type))
    return invalid('SCHEMA_INVALID', [{ path: 'type', issue: `must be one of ${KB_TYPES.join(', ')}` }])
  const unfit = problemsOf(payloadSchema(type), payload, 'payload')
  if (unfit.length > 0) return invalid('SCHEMA_INVALID', unfit)
  const orphan = derivation?.inputs.findIndex(({ kbId }) => !sources.includes(kbId)) ?? -1
  if (orphan >= 0)
    return invalid('INVALID_ENVELOPE', [{ path: `derivation.inputs[${orphan}].kbId`, issue: 'must be one of sources' }])
  if (derivation && sources.length === 0)
    return invalid('INVALID_ENVELOPE', [{ path: 'sources', issue: 'must not be empty where there is a derivation' }])
  if (presented.kbHash !== undefined && presented.kbHash !== kbHash)
    return refuse('KB_HASH_MISMATCH', `the envelope hashes to ${kbHash}, not to the kbHash that it carries`, {
      suggestion: 'Leave kbHash out, or compute it from the members that are hashed.',
    })
  const warnings = Object.hasOwn(presented, 'parents') ? ['PARENTS_IGNORED'] : []
  return { ok: true, value: { kbHash, envelope: normalizeForHash(presented) as KbEnvelope, warnings } }
}

/** The hash, or why there is no canonical text. */
function hashOf(envelope: EnvelopeLike, hash: HashFn | undefined): string | TypeError {
  try {
    return kbHashFromEnvelope(envelope, hash)
  } catch (thrown) {
    if (thrown instanceof TypeError) return thrown
    throw thrown
  }
}

/** Row 10: ALX-SETTLE-03. The sources are known to be registered by then. */
export function checkAttribution(
  links: readonly unknown[],
  { kbHash, sources }: { readonly kbHash: string; readonly sources: readonly string[] },
): Result<readonly AttributionLink[]> {
  const parsed: AttributionLink[] = []
  for (const [index, link] of links.entries()) {
    const one = parseAttributionLink(link)
    if (!one.ok) return invalid('INVALID_REQUEST', one.error.details ?? [], `attribution[${index}]`)
    parsed.push(one.value)
  }
  const parents = parsed.map(({ parentHash }) => parentHash)
  const shares = parsed.reduce((sum, { royaltyShareBps }) => sum + royaltyShareBps, 0)
  const stranger = parents.findIndex(parent => !sources.includes(parent))
  if (links.length > limits.attributionLinks)
    return refuse('TOO_MANY_PARENTS', `${links.length} links; at most ${limits.attributionLinks} are allowed`)
  if (new Set(parents).size < parents.length) return refuse('DUPLICATE_PARENT', 'a parent has more than one link')
  if (parents.includes(kbHash)) return refuse('SELF_REFERENCE', `${kbHash} has a link to itself`)
  if (stranger >= 0)
    return invalid('INVALID_REQUEST', [
      { path: `attribution[${stranger}].parentHash`, issue: 'must be one of sources' },
    ])
  if (shares > limits.bps)
    return refuse('SHARES_EXCEED_DISTRIBUTABLE', `the shares add up to ${shares} basis points of ${limits.bps}`)
  return { ok: true, value: parsed }
}

function invalid(
  code: 'INVALID_ENVELOPE' | 'SCHEMA_INVALID' | 'INVALID_REQUEST',
  problems: readonly Problem[],
  inside = '',
): ReturnType<typeof refuse> {
  const details = problems.map(({ path, issue }) => ({ path: joined(inside, path), issue }))
  return refuse(code, details.map(text).join('; '), { details })
}

function joined(inside: string, path: string): string {
  if (inside === '') return path
  return path === '$' ? inside : `${inside}.${path}`
}
