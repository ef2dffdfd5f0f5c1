// A good value of every wire shape.
import { computeSettlement } from '../economics/settlement.ts'
import type { SCHEMAS } from '../schemas.ts'
import { HASHES, K3 } from './known-blocks.ts'

const protocol = { protocol_version: '1.1', capabilities: ['solve', 'zz-new'] }
const base = { ok: true, correlationId: 'req_1', protocol }
export const error = { type: 'execution', code: 'EXECUTION_FAILED', message: 'a step failed', retryable: false }
const at = (second: number) => `2026-11-19T10:00:0${second}.000Z`

const artifact = {
  artifactId: HASHES.K1,
  kbHash: HASHES.K1,
  kbId: null,
  type: 'practice',
  domain: 'ops.backup',
  tier: null,
  sources: [],
  origin: 'selected',
  payload: { type: 'practice' },
}
const execution = {
  executionId: 'run_1',
  sessionId: 'ses_1',
  status: 'completed',
  startedAt: at(0),
  finishedAt: at(3),
  durationMs: 3000,
  dryRun: false,
  forced: false,
  attempt: 0,
}
const step = (index: number) => ({
  stepId: `step_${index}`,
  index,
  attempt: 0,
  name: 'Build',
  status: 'completed',
  startedAt: at(1),
  finishedAt: at(2),
  output: { files: [null] },
})
const learning = { eligible: true, feedbackId: null, recordedAt: null, improvement: 0.2 }
export const solved = {
  ...base,
  success: true,
  executionId: 'run_1',
  artifact,
  result: 'Done.',
  confidence: 0.9,
  execution,
  steps: [step(0), step(1)],
  learning,
}
const intent = { verb: 'deploy', target: 'api', domain: 'engineering' }
const options = { dryRun: false, force: true, sessionId: 'ses_1', idempotencyKey: 'k~1' }
const event = { runId: 'run_1', seq: 1, timestamp: at(0), correlationId: 'req_1', sessionId: 'ses_1' }
export const runEvents = [
  { ...event, type: 'run.started', protocol },
  { ...event, type: 'step.started', stepId: 's', index: 0 },
  { ...event, type: 'step.completed', stepId: 's', index: 0 },
  { ...event, type: 'step.failed', stepId: 's', index: 0, error },
  { ...event, type: 'step.skipped', stepId: 's', index: 0, reason: 'nothing to do' },
  { ...event, type: 'artifact.created', artifact },
  {
    ...event,
    type: 'approval.required',
    stepId: 's',
    approval: { approvalId: 'a', reason: 'it deploys', expiresAt: null },
  },
  { ...event, type: 'run.completed', ok: true, protocol },
  { ...event, type: 'run.failed', ok: false, protocol, error },
]
const told = { timestamp: 1, eventId: 'e', seq: 1, sessionId: 'ses_1', executionId: 'run_1', summary: 'It ran.' }
export const timeline = [
  { ...told, type: 'step', stepId: 's', stepStatus: 'completed' },
  { ...told, type: 'step', stepId: 's', stepStatus: 'failed', error },
  { ...told, type: 'fallback', data: { fromArtifactId: 'a', toArtifactId: 'b', reason: 'it failed' } },
  { ...told, type: 'error', error },
  { ...told, type: 'execution', ok: false, data: { status: 'failed', confidence: null, artifactId: null } },
  { ...told, type: 'reset', executionId: null, data: { contextCleared: true } },
  { ...told, type: 'fork', executionId: null, data: { forkedSessionId: 'ses_2' } },
]
const summary = {
  text: '1 run',
  runCount: 1,
  successCount: 1,
  avgImprovement: null,
  lastArtifactId: null,
  updatedAt: at(3),
}
const session = { sessionId: 'ses_1', intent: 'deploy api (engineering)', status: 'active', progress: null }
const envelope = { ...K3, sources: [...K3.sources].sort() }
const link = { parentHash: HASHES.K1, royaltyShareBps: 4000, relationship: 'derv' }
const settled = computeSettlement({
  amount: '1000000',
  kbHash: HASHES.K3,
  curator: 'cur-q',
  links: [{ ...link, parentCurator: 'cur-a', eligible: true }],
})
const query = { queryId: 'q', kbHash: HASHES.K3, amount: '1000000' }
const trace = {
  root: HASHES.K3,
  nodes: [{ kbHash: HASHES.K3, depth: 0, pathCount: '1' }],
  edges: [{ from: HASHES.K3, to: HASHES.K1 }],
  leaves: [HASHES.K1],
}

export const SAMPLES: Readonly<Record<keyof typeof SCHEMAS, unknown>> = {
  BaseEnvelope: { ...base, more: 1 },
  ProtocolEnvelope: base,
  ProtocolInfo: protocol,
  ProtocolError: { ...error, suggestion: 'Try again.', details: [{ path: 'a', issue: 'b' }] },
  ProtocolErrorEnvelope: { ...base, ok: false, error, success: false, code: error.code },
  SolveCallInput: { intent, context: { a: null }, meta: { userId: 'U', any: null }, options, protocol },
  SolveIntentShape: intent,
  SolveCallOptions: options,
  SolveResponse: solved,
  SolveArtifact: artifact,
  ExecutionInfo: execution,
  ExecutionStep: step(0),
  LearningInfo: learning,
  ApprovalDecision: { approvalId: 'a', decision: 'approve', note: '', protocol },
  FeedbackInput: { executionId: 'run_1', rating: -1, comment: '' },
  FeedbackRecord: { ...base, executionId: 'run_1', feedbackId: 'f', recordedAt: at(3) },
  RunEvent: runEvents[0],
  RunEventsEnvelope: { ...base, runId: 'run_1', events: runEvents },
  SessionTimelineEvent: timeline[0],
  SessionTimeline: timeline,
  SessionTimelineEnvelope: {
    ...base,
    sessionId: 'ses_1',
    userId: 'U',
    status: 'active',
    summary,
    timeline,
    nextCursor: null,
  },
  SessionSummary: summary,
  SessionStatusEnvelope: { ...base, ...session, userId: 'U', nextStep: null, summary, createdAt: at(0) },
  SessionList: [{ ...session, updatedAt: at(3), summary }],
  SessionListEnvelope: { ...base, userId: 'U', sessions: [{ ...session, updatedAt: at(3) }], nextCursor: 'c' },
  KbEnvelope: envelope,
  Derivation: K3.derivation,
  KbRegisterInput: { envelope: { ...envelope, x: null }, kbId: 'label', attribution: [link], queryFee: '100' },
  KbRegistration: {
    ...base,
    kbHash: HASHES.K3,
    kbId: null,
    cidV1: 'bafkrei',
    isNew: true,
    warnings: ['PARENTS_IGNORED'],
  },
  KbRecord: {
    ...base,
    kbHash: HASHES.K3,
    kbId: null,
    envelope,
    curator: 'U',
    createdAt: at(0),
    status: 'active',
    attribution: [link],
    queryFee: '100',
  },
  KbVerifyInput: { envelope, expectedKbHash: HASHES.K3, artifactBase64: 'AAE=' },
  KbVerification: { ...base, valid: true, kbHash: HASHES.K3, artifactHash: HASHES.K3_PAYLOAD },
  KbLineage: { ...base, ...trace },
  AttributionLink: link,
  AttributionTrace: trace,
  SettlementInput: query,
  SettlementResult: settled,
  SettlementRecord: {
    ...base,
    ...query,
    protocolFeeBps: 200,
    ...settled,
    ledger: [{ recipient: 'cur-q', amount: '588000', leafHash: HASHES.K1 }],
    settledAt: at(3),
  },
}
