// What a client sends about a solve: the call, an approval, feedback (ALX-SOLVE-01, -02, -14, -17).
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { unfitContent } from '../schema/content.ts'
import { freeObject, id, iso, oneOf, text, type Wire } from '../schema/scalars.ts'
import { received, sent } from '../schema/shape.ts'
import { offered, succeeded } from './envelope.ts'

export const solveIntentShape = Type.Object({
  verb: text(limits.verbLength),
  target: text(limits.targetLength),
  domain: text(limits.domainLength),
})
export type SolveIntentShape = Wire<typeof solveIntentShape>
export const { parse: parseSolveIntentShape, is: isSolveIntentShape } = received(solveIntentShape, {
  before: trimmed,
  always: unfitContent,
})

export const solveCallOptions = Type.Object({
  dryRun: Type.Optional(Type.Boolean()),
  force: Type.Optional(Type.Boolean()),
  sessionId: Type.Optional(id),
  idempotencyKey: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{1,255}$' })),
})
export type SolveCallOptions = Wire<typeof solveCallOptions>
export const { parse: parseSolveCallOptions, is: isSolveCallOptions } = received(solveCallOptions)

export const solveCallInput = Type.Object({
  intent: solveIntentShape,
  context: Type.Optional(freeObject),
  // ALX-ENV-07: members of `meta` that nobody knows are kept too.
  meta: Type.Optional(
    Type.Object({ userId: Type.Optional(text(limits.userIdLength)) }, { additionalProperties: true }),
  ),
  options: Type.Optional(solveCallOptions),
  ...offered,
})
export type SolveCallInput = Wire<typeof solveCallInput>
/** The call with its intent trimmed and unknown members dropped. */
export const { parse: parseSolveCallInput, is: isSolveCallInput } = received(solveCallInput, {
  before: call => (isObject(call) && isObject(call.intent) ? { ...call, intent: trimmed(call.intent) } : call),
  always: call => unfitContent(call) ?? contextProblem(call),
})

function contextProblem({ context }: SolveCallInput) {
  if (context === undefined || utf8ToBytes(JSON.stringify(context)).length <= limits.contextBytes) return undefined
  return { path: 'context', issue: `must not be larger than ${limits.contextBytes} bytes` }
}

function trimmed(intent: unknown): unknown {
  if (!isObject(intent)) return intent
  return Object.fromEntries(
    Object.entries(intent).map(([name, value]) => [name, typeof value === 'string' ? value.trim() : value]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const approvalDecision = Type.Object({
  approvalId: id,
  decision: oneOf(['approve', 'reject']),
  note: Type.Optional(Type.String({ maxLength: limits.noteLength })),
  ...offered,
})
export type ApprovalDecision = Wire<typeof approvalDecision>
export const { parse: parseApprovalDecision, is: isApprovalDecision } = received(approvalDecision, {
  always: unfitContent,
})

export const feedbackInput = Type.Object({
  executionId: id,
  rating: oneOf([-1, 0, 1]),
  comment: Type.Optional(Type.String({ maxLength: limits.noteLength })),
  ...offered,
})
export type FeedbackInput = Wire<typeof feedbackInput>
export const { parse: parseFeedbackInput, is: isFeedbackInput } = received(feedbackInput, { always: unfitContent })

export const feedbackRecord = Type.Object({ ...succeeded, executionId: id, feedbackId: id, recordedAt: iso })
export type FeedbackRecord = Wire<typeof feedbackRecord>
export const { parse: parseFeedbackRecord, is: isFeedbackRecord } = sent(feedbackRecord)
