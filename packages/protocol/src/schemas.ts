// Every wire shape by the name that the protocol gives it, and their JSON Schemas for other programs.
import type { TSchema } from 'typebox'
import { solveArtifact } from './wire/artifact.ts'
import { baseEnvelope, protocolEnvelope, protocolError, protocolErrorEnvelope, protocolInfo } from './wire/envelope.ts'
import {
  attributionLink,
  attributionTrace,
  derivation,
  kbEnvelope,
  kbLineage,
  kbRecord,
  kbRegisterInput,
  kbRegistration,
  kbVerification,
  kbVerifyInput,
} from './wire/kb.ts'
import { runEvent, runEventsEnvelope } from './wire/run-events.ts'
import {
  sessionList,
  sessionListEnvelope,
  sessionStatusEnvelope,
  sessionSummary,
  sessionTimelineEnvelope,
} from './wire/session.ts'
import { settlementInput, settlementRecord, settlementResult } from './wire/settlement.ts'
import { executionInfo, executionStep, learningInfo, solveResponse } from './wire/solve.ts'
import {
  approvalDecision,
  feedbackInput,
  feedbackRecord,
  solveCallInput,
  solveCallOptions,
  solveIntentShape,
} from './wire/solve-call.ts'
import { sessionTimeline, sessionTimelineEvent } from './wire/timeline.ts'

export const SCHEMAS = {
  BaseEnvelope: baseEnvelope,
  ProtocolEnvelope: protocolEnvelope,
  ProtocolInfo: protocolInfo,
  ProtocolError: protocolError,
  ProtocolErrorEnvelope: protocolErrorEnvelope,
  SolveCallInput: solveCallInput,
  SolveIntentShape: solveIntentShape,
  SolveCallOptions: solveCallOptions,
  SolveResponse: solveResponse,
  SolveArtifact: solveArtifact,
  ExecutionInfo: executionInfo,
  ExecutionStep: executionStep,
  LearningInfo: learningInfo,
  ApprovalDecision: approvalDecision,
  FeedbackInput: feedbackInput,
  FeedbackRecord: feedbackRecord,
  RunEvent: runEvent,
  RunEventsEnvelope: runEventsEnvelope,
  SessionTimelineEvent: sessionTimelineEvent,
  SessionTimeline: sessionTimeline,
  SessionTimelineEnvelope: sessionTimelineEnvelope,
  SessionSummary: sessionSummary,
  SessionStatusEnvelope: sessionStatusEnvelope,
  SessionList: sessionList,
  SessionListEnvelope: sessionListEnvelope,
  KbEnvelope: kbEnvelope,
  Derivation: derivation,
  KbRegisterInput: kbRegisterInput,
  KbRegistration: kbRegistration,
  KbRecord: kbRecord,
  KbVerifyInput: kbVerifyInput,
  KbVerification: kbVerification,
  KbLineage: kbLineage,
  AttributionLink: attributionLink,
  AttributionTrace: attributionTrace,
  SettlementInput: settlementInput,
  SettlementResult: settlementResult,
  SettlementRecord: settlementRecord,
} as const

export type ShapeName = keyof typeof SCHEMAS

/** JSON Schemas (Draft 2020-12) of all shapes; one that has a name is referred to by it, behind the prefix. */
export function jsonSchemas(prefix = '#/$defs/'): Readonly<Record<ShapeName, unknown>> {
  const names = new Map(Object.entries<TSchema>(SCHEMAS).map(([name, schema]) => [schema, name]))
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const name = names.get(value)
    return name === undefined ? members(value) : { $ref: `${prefix}${name}` }
  }
  const members = (value: object): unknown =>
    Array.isArray(value) ? value.map(copy) : Object.fromEntries(Object.entries(value).map(([k, v]) => [k, copy(v)]))
  return Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, members(schema)])) as Record<
    ShapeName,
    unknown
  >
}
