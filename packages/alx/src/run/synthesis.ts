// The block that a run makes of its result: a `synthesis` that cites the procedure. It follows from the run alone, so
// that it can be made again whenever it was not registered (DESIGN, ALX on WACP).
import { type HashFn, type KbEnvelope, kbHashFromEnvelope, type SolveArtifact } from '@alx/protocol'
import { synthesisEnvelope } from '../kb/procedure.ts'
import { alxLimits } from '../limits.ts'
import { intentText } from '../session/intent.ts'
import type { SolveFacts } from './facts.ts'

export function synthesisOf({ intent, told = [] }: SolveFacts, procedure: SolveArtifact, answer: string): KbEnvelope {
  const question = intentText(intent)
  const { domain, kbHash } = procedure
  return synthesisEnvelope({ domain, question, answer, procedure: { kbHash, title: question }, told })
}

/** A block as answers and events show it. */
export function generatedArtifact(envelope: KbEnvelope, hash?: HashFn): SolveArtifact {
  const kbHash = kbHashFromEnvelope(envelope, hash)
  const { type, domain, tier = null, sources, payload } = envelope
  const shown = { artifactId: kbHash, kbHash, type, domain, tier, sources: [...sources].sort() }
  return { ...shown, origin: 'generated', ...(fits(payload) && { payload }) }
}

/** The envelope of a generated artifact, which has neither a derivation nor a hash of its payload. */
export function envelopeOf({ type, domain, tier, sources, payload = {} }: SolveArtifact): KbEnvelope {
  return { type, domain, sources, payload, ...(tier !== null && { tier }) }
}

export function fits(payload: Readonly<Record<string, unknown>>): boolean {
  return Buffer.byteLength(JSON.stringify(payload)) <= alxLimits.artifactPayloadBytes
}
