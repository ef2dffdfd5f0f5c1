// A peer's request as it is understood (CALL-EVT-03): read once, in the order in which bad input is answered.
import { isTexts } from '../access.ts'
import { CallError } from '../error.ts'
import { callDefaults } from '../limits.ts'
import { normalName, type OperationPath, parsePath } from '../path.ts'
import { isRecord } from './json.ts'

export interface InboundRequest {
  readonly target: OperationPath
  readonly input: unknown
  readonly parentRequestId: string | undefined
  readonly deadline: number | undefined
  readonly idleTimeout: number | undefined
  readonly metadata: Record<string, unknown> | undefined
  readonly forwardedFor: unknown
  readonly authToken: string | undefined
}

type Payload = Readonly<Record<string, unknown>>

/** `now` is in milliseconds since the Unix epoch. */
export function readRequest(id: string, payload: unknown, now: number): InboundRequest | CallError {
  if (!isRecord(payload)) return invalid('the payload must be an object')
  const given = payload
  const target = readTarget(given)
  if (target instanceof CallError) return target
  const { requestId, namespace, deadline, idleTimeout, metadata, parentRequestId } = given
  if (typeof requestId === 'string' && requestId !== '' && requestId !== id)
    return invalid('requestId differs from the envelope')
  if (namespace !== undefined && namespace !== target.service) return invalid('namespace differs from the path')
  if (deadline !== undefined && !isNumber(deadline)) return invalid('deadline must be a number')
  if (idleTimeout !== undefined && !(isNumber(idleTimeout) && idleTimeout >= 1))
    return invalid('idleTimeout must be a number from 1 on')
  if (metadata !== undefined && !isRecord(metadata)) return invalid('metadata must be an object')
  if (deadline !== undefined && deadline < now - callDefaults.clockSkew)
    return new CallError('TIMEOUT', `the deadline of ${target.path} has passed`)
  return {
    target,
    input: 'input' in given ? given.input : (given.payload ?? null),
    parentRequestId: typeof parentRequestId === 'string' ? parentRequestId : undefined,
    deadline,
    idleTimeout,
    metadata: metadata && clean(metadata),
    forwardedFor: isClaim(given.forwarded_for)
      ? given.forwarded_for
      : isClaim(given.identity)
        ? given.identity
        : undefined,
    authToken: typeof given.auth_token === 'string' ? given.auth_token : undefined,
  }
}

function readTarget({ name, operationId }: Payload): OperationPath | CallError {
  const given = name ?? operationId
  if (typeof given !== 'string') return invalid('the request names no operation')
  if (name !== undefined && operationId !== undefined) {
    if (typeof operationId !== 'string' || typeof name !== 'string' || normalName(name) !== normalName(operationId))
      return invalid('name and operationId differ')
  }
  const target = parsePath(normalName(given))
  return target ?? invalid(`'${given.slice(0, 80)}' is no operation path`)
}

/** CALL-CTX-02: keys that could reach a prototype are left out. */
function clean(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata))
    if (key !== '__proto__' && key !== 'constructor' && key !== 'prototype') copy[key] = value
  return copy
}

/** A claim that is malformed is ignored. */
function isClaim(value: unknown): boolean {
  return isRecord(value) && typeof value.id === 'string' && isTexts(value.scopes)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function invalid(message: string): CallError {
  return new CallError('INVALID_INPUT', message)
}
