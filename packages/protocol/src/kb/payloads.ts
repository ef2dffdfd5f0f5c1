// The types of Knowledge Blocks and what their payloads must have (ALX-KB-11). More members are allowed, and hashed.
import { type TProperties, Type } from 'typebox'
import { oneOf } from '../schema/scalars.ts'

const string = Type.String()
const strings = Type.Array(string)
const array = Type.Array(Type.Unknown())
const object = Type.Object({})

const required = {
  practice: { rationale: string, contexts: array, failureModes: array },
  feature: { interfaceContract: object, testScaffold: object },
  stateMachine: { states: array, transitions: array, invariants: array },
  promptEngineering: { template: string, modelVersion: string, evalCriteria: array },
  complianceChecklist: {
    jurisdictionTags: strings,
    requirements: Type.Array(Type.Object({ id: string, description: string, isMandatory: Type.Boolean() })),
    evidenceMapping: Type.Object({
      type: oneOf(['log_entry', 'audit_trail', 'cryptographic_proof']),
      validationLogic: string,
    }),
  },
  rubric: {
    dimensions: Type.Array(Type.Object({ criterion: string, weight: Type.Number() })),
    scoringLogic: string,
    thresholds: Type.Object({ pass: Type.Number(), escalate: Type.Number() }),
  },
  synthesis: { question: string, answer: string, citations: object },
  pattern: {
    pattern: string,
    occurrences: Type.Array(Type.Object({ context: string, kbHash: Type.Optional(string) })),
    applicability: string,
  },
  adaptation: { targetDomain: string, adaptedContent: string, tradeoffs: strings },
  enhancement: {
    concern: oneOf(['observability', 'security', 'performance', 'accessibility']),
    enhancedContent: string,
  },
  factual: {},
  derived: {},
  procedure: {},
  toolDefinition: {},
  codebank: {},
  researchArtifact: {},
  knowledgeGraph: {},
  agentMemory: {},
  evaluation: {},
  capability: {},
  agentIdentity: {},
  demandBeacon: {},
} as const satisfies Readonly<Record<string, TProperties>>

export type KbType = keyof typeof required
export const KB_TYPES = Object.keys(required) as readonly KbType[]

export function isKbType(type: string): type is KbType {
  return Object.hasOwn(required, type)
}

export const payloadSchema = (type: KbType) => Type.Object({ type: Type.Literal(type), ...required[type] })
