// The HTTP binding: which route takes what and answers what (ALX-HTTP-01).
import type { ShapeName } from './schemas.ts'
import type { Capability } from './version.ts'

export interface Route {
  readonly method: 'GET' | 'POST'
  /** Members in braces are parts of the path. */
  readonly path: string
  /** Undefined: always there. */
  readonly capability: Capability | undefined
  /** What a body must fit. */
  readonly takes?: ShapeName
  readonly answers: ShapeName
}

/** The name of what a route answers is kept in its type, so that a client's answer has the type of its shape. */
const route = <A extends ShapeName>(
  capability: Capability | undefined,
  method: Route['method'],
  path: string,
  answers: A,
  takes?: Route['takes'],
): Route & { readonly answers: A } => ({ method, path, capability, answers, ...(takes !== undefined && { takes }) })

export const ROUTES = {
  protocol: route(undefined, 'GET', '/v1/protocol', 'ProtocolEnvelope'),
  solve: route('solve', 'POST', '/v1/solve', 'SolveResponse', 'SolveCallInput'),
  run: route('runs', 'GET', '/v1/runs/{executionId}', 'SolveResponse'),
  runEvents: route('runs', 'GET', '/v1/runs/{executionId}/events', 'RunEventsEnvelope'),
  approval: route('runs', 'POST', '/v1/runs/{executionId}/approval', 'SolveResponse', 'ApprovalDecision'),
  feedback: route('feedback', 'POST', '/v1/feedback', 'FeedbackRecord', 'FeedbackInput'),
  sessions: route('sessions', 'GET', '/v1/sessions', 'SessionListEnvelope'),
  session: route('sessions', 'GET', '/v1/sessions/{sessionId}', 'SessionStatusEnvelope'),
  timeline: route('timeline', 'GET', '/v1/sessions/{sessionId}/timeline', 'SessionTimelineEnvelope'),
  reset: route('sessions', 'POST', '/v1/sessions/{sessionId}/reset', 'SessionStatusEnvelope'),
  fork: route('sessions', 'POST', '/v1/sessions/{sessionId}/fork', 'SessionStatusEnvelope'),
  registerKb: route('kb', 'POST', '/v1/kb', 'KbRegistration', 'KbRegisterInput'),
  kb: route('kb', 'GET', '/v1/kb/{kbHash}', 'KbRecord'),
  lineage: route('kb', 'GET', '/v1/kb/{kbHash}/lineage', 'KbLineage'),
  verifyKb: route('kb', 'POST', '/v1/kb/verify', 'KbVerification', 'KbVerifyInput'),
  settle: route('settlement', 'POST', '/v1/settlements', 'SettlementRecord', 'SettlementInput'),
  settlement: route('settlement', 'GET', '/v1/settlements/{queryId}', 'SettlementRecord'),
} as const satisfies Readonly<Record<string, Route>>
