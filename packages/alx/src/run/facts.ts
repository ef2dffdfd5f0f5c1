// What a solve stores with the root of its run: all that its events, answers and the timeline of its session need
// beside the trail. Content of the caller's is kept as text, so that it is one level of the canonical form.
import type { ProtocolError, SolveArtifact, SolveIntentShape } from '@alx/protocol'
import type { PlannedStep } from '../ports.ts'

export interface StoredStep extends PlannedStep {
  /** Unique in the run: the `stepId`, and the name of the task in the run's plan. `id` is its id in the artifact. */
  readonly stepId: string
}

/** A candidate that may be carried out. The second one is the fallback (ALX-SOLVE-13). */
export interface StoredAttempt {
  readonly artifact: SolveArtifact
  readonly confidence: number
  readonly steps: readonly StoredStep[]
}

export interface SelectionFacts {
  readonly minConfidence: number
  readonly candidates: readonly {
    readonly artifactId: string
    readonly confidence: number
    readonly parts: Readonly<Record<string, number>>
  }[]
}

export interface SolveFacts {
  readonly session: string
  readonly correlationId: string
  readonly intent: SolveIntentShape
  readonly context?: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>>
  readonly forced: boolean
  readonly fingerprint: string
  readonly key?: string
  readonly selection: SelectionFacts
  /** Empty if nothing was selected. */
  readonly attempts: readonly StoredAttempt[]
  /** Blocks that the agents are told, by hash. */
  readonly told?: readonly string[]
  /** Milliseconds of working time; undefined where the team has a limit of its own, which the coordinator keeps. */
  readonly limitMs?: number
  /** Why nothing is carried out: the run ends at once, failed. */
  readonly refusal?: ProtocolError
  /** The artifact's content is the result: nobody works, and the run ends at once, complete. */
  readonly result?: string
}

const FORM = 1

export function storedSolveFacts({ context, meta, attempts, ...facts }: SolveFacts): Readonly<Record<string, unknown>> {
  const stored = {
    alx: FORM,
    ...facts,
    ...(context && { context: JSON.stringify(context) }),
    ...(meta && { meta: JSON.stringify(meta) }),
    attempts: attempts.map(({ artifact: { payload, ...artifact }, ...attempt }) => ({
      ...attempt,
      artifact,
      ...(payload && { payload: JSON.stringify(payload) }),
    })),
  }
  // Members that are undefined have no canonical form, and lone surrogates of an artifact's neither.
  return wellFormed(stored) as Readonly<Record<string, unknown>>
}

/** Undefined for a run that no solve of this version has started. */
export function readSolveFacts(stored: Readonly<Record<string, unknown>>): SolveFacts | undefined {
  if (stored.alx !== FORM) return undefined
  const { alx: _, context, meta, attempts, ...facts } = stored as unknown as Stored
  return {
    ...facts,
    ...(context !== undefined && { context: JSON.parse(context) }),
    ...(meta !== undefined && { meta: JSON.parse(meta) }),
    attempts: attempts.map(({ artifact, payload, ...attempt }) => ({
      ...attempt,
      artifact: { ...artifact, ...(payload !== undefined && { payload: JSON.parse(payload) }) },
    })),
  }
}

type Stored = Omit<SolveFacts, 'context' | 'meta' | 'attempts'> & {
  readonly alx: typeof FORM
  readonly context?: string
  readonly meta?: string
  readonly attempts: readonly (StoredAttempt & { readonly payload?: string })[]
}

/** Leaves room for a number within the 128 characters of an id. */
const STEP_ID_LENGTH = 100

/** Steps as they are called in the run: those of the second attempt must not be called like those of the first. */
export function stepsOf(steps: readonly PlannedStep[], before: readonly StoredStep[]): readonly StoredStep[] {
  const taken = new Set(before.map(({ stepId }) => stepId))
  return steps.map(step => {
    // What is no identifier of the protocol becomes one.
    const plain = step.id.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, STEP_ID_LENGTH) || 'step'
    let stepId = plain
    for (let number = 2; taken.has(stepId); number++) stepId = `${plain}-${number}`
    taken.add(stepId)
    return { ...step, stepId }
  })
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name.toWellFormed(), wellFormed(member)]))
}
