// A Knowledge Block as an answer or an event shows it (ALX-SOLVE-05).
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { freeObject, hash32, nullable, oneOf, text, type Wire } from '../schema/scalars.ts'
import { sent } from '../schema/shape.ts'
import { KB_TIERS } from '../vocabulary.ts'

export const kbId = text(limits.kbIdLength)
export const kbDomain = text(limits.domainLength)

export const solveArtifact = Type.Object({
  artifactId: hash32,
  kbHash: hash32,
  kbId: Type.Optional(nullable(kbId)),
  type: Type.String(),
  domain: Type.String(),
  tier: nullable(oneOf(KB_TIERS)),
  sources: Type.Array(hash32),
  origin: oneOf(['selected', 'generated']),
  payload: Type.Optional(freeObject),
})
export type SolveArtifact = Wire<typeof solveArtifact>

/** What the schema cannot state. */
export function artifactProblem({ artifactId, kbHash, sources }: SolveArtifact, path: string) {
  if (artifactId !== kbHash) return { path: `${path}artifactId`, issue: 'must equal kbHash' }
  const sorted = sources.every((source, at) => at === 0 || sources[at - 1]! < source)
  return sorted ? undefined : { path: `${path}sources`, issue: 'must be sorted and without duplicates' }
}
export const { parse: parseSolveArtifact, is: isSolveArtifact } = sent(solveArtifact, {
  emit: artifact => artifactProblem(artifact, ''),
})
