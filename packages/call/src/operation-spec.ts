// OperationSpec: what a registry knows of an operation (CALL-REG-02, CALL-ACL-01).
import type { TSchema } from '@parley/core'

/** A query reads and may be repeated; a mutation has effects; a subscription streams. */
export const operationTypes = ['query', 'mutation', 'subscription'] as const
export type OperationType = (typeof operationTypes)[number]

/** All parts that are present must pass. An empty object lets everyone in, the unauthenticated too. */
export interface AccessControl {
  /** All of these. */
  readonly requiredScopes?: readonly string[]
  /** At least one of these; an empty list counts as absent. */
  readonly requiredScopesAny?: readonly string[]
  readonly resourceType?: string
  /** Needs `resourceType`. */
  readonly resourceAction?: string
}

export interface OperationError {
  /** What programs branch on; unique within the operation. */
  readonly code: string
  readonly description: string
  /** Shape of the error's `details`. */
  readonly schema: TSchema
  readonly httpStatus?: number
}

export interface OperationSpec<Input extends TSchema = TSchema, Output extends TSchema = TSchema> {
  /** Local path `/{service}/{verb}`; a remote caller puts the node's name in front. */
  readonly name: string
  /** The service of `name`, redundant; if given, it must be that one (CALL-ROUTE-02). */
  readonly namespace?: string
  readonly opType: OperationType
  readonly inputSchema: Input
  /** Of a subscription: the shape of each value. */
  readonly outputSchema: Output
  readonly accessControl: AccessControl
  /** The codes that the operation itself may answer with; those of the protocol are not repeated. */
  readonly errorSchemas?: readonly OperationError[]
  /** `internal` operations are reachable from other operations only, never from a link. Default `external`. */
  readonly visibility?: 'external' | 'internal'
  readonly version?: string
  readonly title?: string
  readonly description?: string
  readonly tags?: readonly string[]
  /** For tools that read specs: the protocol hands it on and looks at nothing in it. */
  readonly _meta?: Readonly<Record<string, unknown>>
}
