// The public names of @alx/protocol (ALX-SDK-02), and what server and client share beside them: error table, routes,
// capabilities, negotiation, limits, schemas.
export { canonicalize } from './canonical.ts'
export {
  ERROR_CODES,
  ERROR_TYPES,
  ERRORS,
  type ErrorCode,
  type ErrorEntry,
  protocolErrorOf,
  type Result,
} from './errors.ts'
export { requestFingerprint } from './fingerprint.ts'
export {
  artifactHashFromBytes,
  artifactHashFromPayload,
  cidV1FromCanonical,
  cidV1FromCanonicalSync,
  contentHashFromCanonical,
  DOMAIN_TAGS,
  domainHashFromCanonical,
  domainHashFromObject,
  type HashFn,
} from './hash.ts'
export { type CheckedEnvelope, checkAttribution, checkKbEnvelope } from './kb/check.ts'
export {
  buildDerivedEnvelope,
  type Candidate,
  compareCandidates,
  contentHashFromEnvelope,
  type DerivedParts,
  type EnvelopeLike,
  kbHashFromEnvelope,
  normalizeForHash,
  sortSources,
  type Verifiable,
  type Verified,
  verifyKBArtifact,
} from './kb/envelope.ts'
export { KB_TYPES, type KbType } from './kb/payloads.ts'
export { limits } from './limits.ts'
export { ROUTES, type Route } from './routes.ts'
export type { Mode } from './schema/modes.ts'
export type { Problem } from './schema/problems.ts'
export { jsonSchemas, type ShapeName } from './schemas.ts'
export { ALX_PROTOCOL_VERSION, CAPABILITIES, type Capability, negotiate } from './version.ts'
export {
  RUN_EVENT_TYPES,
  type RunEventType,
  SESSION_STATUSES,
  SESSION_TIMELINE_EVENT_TYPES,
  type SessionStatus,
  type SessionTimelineEventType,
} from './vocabulary.ts'
export { isSolveArtifact, parseSolveArtifact, type SolveArtifact } from './wire/artifact.ts'
export {
  type BaseEnvelope,
  isBaseEnvelope,
  isProtocolError,
  isProtocolErrorEnvelope,
  isProtocolInfo,
  type ProtocolError,
  type ProtocolErrorEnvelope,
  type ProtocolInfo,
  parseBaseEnvelope,
  parseProtocolError,
  parseProtocolErrorEnvelope,
  parseProtocolInfo,
} from './wire/envelope.ts'
export {
  type AttributionLink,
  type AttributionTrace,
  type Derivation,
  isAttributionLink,
  isAttributionTrace,
  isDerivation,
  isKbEnvelope,
  isKbLineage,
  isKbRecord,
  isKbRegisterInput,
  isKbRegistration,
  isKbVerification,
  isKbVerifyInput,
  type KbEnvelope,
  type KbLineage,
  type KbRecord,
  type KbRegisterInput,
  type KbRegistration,
  type KbVerification,
  type KbVerifyInput,
  type PresentedEnvelope,
  parseAttributionLink,
  parseAttributionTrace,
  parseDerivation,
  parseKbEnvelope,
  parseKbLineage,
  parseKbRecord,
  parseKbRegisterInput,
  parseKbRegistration,
  parseKbVerification,
  parseKbVerifyInput,
} from './wire/kb.ts'
export {
  isRunEvent,
  isRunEventsEnvelope,
  parseRunEvent,
  parseRunEventsEnvelope,
  type RunEvent,
  type RunEventsEnvelope,
} from './wire/run-events.ts'
export {
  isSessionList,
  isSessionListEnvelope,
  isSessionStatusEnvelope,
  isSessionSummary,
  isSessionTimelineEnvelope,
  parseSessionList,
  parseSessionListEnvelope,
  parseSessionStatusEnvelope,
  parseSessionSummary,
  parseSessionTimelineEnvelope,
  type SessionList,
  type SessionListEnvelope,
  type SessionStatusEnvelope,
  type SessionSummary,
  type SessionTimelineEnvelope,
} from './wire/session.ts'
export {
  isSettlementInput,
  isSettlementRecord,
  isSettlementResult,
  parseSettlementInput,
  parseSettlementRecord,
  parseSettlementResult,
  type SettlementInput,
  type SettlementRecord,
  type SettlementResult,
} from './wire/settlement.ts'
export {
  type ExecutionInfo,
  type ExecutionStep,
  isExecutionInfo,
  isExecutionStep,
  isLearningInfo,
  isSolveResponse,
  type LearningInfo,
  parseExecutionInfo,
  parseExecutionStep,
  parseLearningInfo,
  parseSolveResponse,
  type SolveResponse,
} from './wire/solve.ts'
export {
  type ApprovalDecision,
  type FeedbackInput,
  type FeedbackRecord,
  isApprovalDecision,
  isFeedbackInput,
  isFeedbackRecord,
  isSolveCallInput,
  isSolveCallOptions,
  isSolveIntentShape,
  parseApprovalDecision,
  parseFeedbackInput,
  parseFeedbackRecord,
  parseSolveCallInput,
  parseSolveCallOptions,
  parseSolveIntentShape,
  type SolveCallInput,
  type SolveCallOptions,
  type SolveIntentShape,
} from './wire/solve-call.ts'
export {
  isSessionTimeline,
  isSessionTimelineEvent,
  parseSessionTimeline,
  parseSessionTimelineEvent,
  type SessionTimeline,
  type SessionTimelineEvent,
} from './wire/timeline.ts'
