// Selection, confidence gate and plan (ALX-SOLVE-03, checks 12 and 13). They precede the run, which stores what they
// came to; a dry run asks for nothing more.
import { isSolveArtifact, type ProtocolError, protocolErrorOf, type SolveCallInput } from '@alx/protocol'
import { alxLimits } from '../limits.ts'
import type { ArtifactCandidate, ExecutionPlan, SelectionRequest } from '../ports.ts'
import { type SelectionFacts, type StoredAttempt, stepsOf } from '../run/facts.ts'
import { internalError } from '../run/outcome.ts'
import { fits } from '../run/synthesis.ts'
import type { Caller, Host } from './host.ts'

export interface Selected {
  readonly attempts: readonly StoredAttempt[]
  readonly selection: SelectionFacts
  readonly forced: boolean
  readonly refusal?: ProtocolError
  readonly result?: string
  /** The plan of the first attempt, if there is one. */
  readonly plan?: Extract<ExecutionPlan, { kind: 'steps' }>
}

export async function select(host: Host, call: SolveCallInput, caller: Caller): Promise<Selected> {
  const { log, settings } = host
  const { minConfidence } = settings
  const { intent, context } = call
  const request: SelectionRequest = { intent, context, reader: caller.principal }
  let candidates: readonly ArtifactCandidate[] = []
  try {
    candidates = await host.selector.select(request)
    return await choose(host, call, request, candidates)
  } catch (cause) {
    log('error', 'A solve failed before it was carried out.', { correlationId: caller.correlationId, cause })
    const selection = selectionOf(minConfidence, candidates)
    return { attempts: [], selection, forced: false, refusal: internalError() }
  }
}

async function choose(
  { executor, settings: { minConfidence } }: Host,
  { options: { force = false } = {} }: SolveCallInput,
  request: SelectionRequest,
  candidates: readonly ArtifactCandidate[],
): Promise<Selected> {
  const selection = selectionOf(minConfidence, candidates)
  const [first, second] = candidates
  if (!first) return { attempts: [], selection, forced: false, refusal: nothing() }
  const low = first.confidence < minConfidence
  if (low && !force) {
    const attempts = [attemptOf(first, [])]
    return { attempts, selection, forced: false, refusal: lowConfidence(first.confidence, minConfidence) }
  }
  const base = { selection, forced: low }
  const plan = await executor.plan(first.artifact, request)
  if (!plan.ok) {
    if (plan.error.code !== 'unknown_team') throw plan.error
    return { ...base, attempts: [], forced: false, refusal: nothing() }
  }
  if (plan.value.kind === 'none') return { ...base, attempts: [attemptOf(first, [])], result: plan.value.result }
  const attempt = attemptOf(first, stepsOf(plan.value.steps, []))
  const fallback = second && (force || second.confidence >= minConfidence) ? second : undefined
  const other = fallback && (await executor.plan(fallback.artifact, request))
  const attempts =
    fallback && other?.ok && other.value.kind === 'steps'
      ? [attempt, attemptOf(fallback, stepsOf(other.value.steps, attempt.steps))]
      : [attempt]
  return { ...base, attempts, plan: plan.value }
}

function attemptOf({ artifact, confidence }: ArtifactCandidate, steps: StoredAttempt['steps']): StoredAttempt {
  const { kbHash } = artifact
  if (!isSolveArtifact(artifact, 'emit')) throw new TypeError(`The selector's ${kbHash} is no artifact.`)
  const { payload, ...shown } = artifact
  return { artifact: payload && !fits(payload) ? shown : artifact, confidence, steps }
}

function selectionOf(minConfidence: number, candidates: readonly ArtifactCandidate[]): SelectionFacts {
  const shown = candidates.slice(0, alxLimits.shownCandidates).map(({ artifact, confidence, parts }) => ({
    artifactId: artifact.artifactId,
    confidence,
    parts,
  }))
  return { minConfidence, candidates: shown }
}

function nothing(): ProtocolError {
  return protocolErrorOf('NO_ARTIFACT_SELECTED', 'No artifact that you may read fits the intent.', {
    suggestion: 'Say the intent in other words, or register a Knowledge Block for its domain.',
  })
}

function lowConfidence(confidence: number, minConfidence: number): ProtocolError {
  const message = `The confidence ${confidence} of the best artifact is below the limit of ${minConfidence}.`
  return protocolErrorOf('LOW_CONFIDENCE', message, {
    suggestion: 'Refine the intent, or repeat the call with options.force.',
  })
}
