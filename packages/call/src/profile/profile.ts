// The three spellings of payloads in the field (CALL-EVT-02) behind one model, and how to recognize a peer's. A handler
// answers in the profile of the request; a caller reads an answer in the profile that it asked in.
import { CallError, codeOf, opsName } from '../error.ts'
import { dottedName } from '../path.ts'
import { envelopeText } from '../wire/envelope.ts'

export const PROFILES = ['seed', 'core', 'ops'] as const
export type ProfileName = (typeof PROFILES)[number]

/** What a request says beside its target and input (CALL-EVT-03). */
export interface RequestFields {
  readonly parentRequestId?: string | undefined
  readonly deadline?: number | undefined
  readonly idleTimeout?: number | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly forwardedFor?: unknown
  readonly authToken?: string | undefined
}

/** How an adapter's result came about; kept for OPS peers (CALL-ENV-02). */
export type ResponseMeta = Readonly<Record<string, unknown>>

/** Writes and reads the five events. `envelopeId` is the id that the request's own envelope had. */
export interface Profile {
  readonly name: ProfileName
  request(id: string, path: string, input: unknown, fields: RequestFields): string
  responded(id: string, envelopeId: string, value: unknown, path: string, meta: ResponseMeta | undefined): string
  completed(id: string, envelopeId: string): string
  aborted(id: string, envelopeId: string): string
  error(id: string, envelopeId: string, error: CallError): string
  /** The value in the payload of `call.responded`. */
  value(payload: unknown): unknown
  /** The envelope id that this profile's own requests have. */
  envelopeId(id: string): string
}

const EMPTY = '{}'

/** `undefined` travels as null (CALL-EVT-04). */
function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

function fieldsText(fields: RequestFields): string {
  let text = ''
  if (fields.parentRequestId !== undefined) text += `,"parentRequestId":${json(fields.parentRequestId)}`
  if (fields.deadline !== undefined) text += `,"deadline":${fields.deadline}`
  if (fields.idleTimeout !== undefined) text += `,"idleTimeout":${fields.idleTimeout}`
  if (fields.metadata !== undefined) text += `,"metadata":${json(fields.metadata)}`
  if (fields.forwardedFor !== undefined) text += `,"forwarded_for":${json(fields.forwardedFor)}`
  if (fields.authToken !== undefined) text += `,"auth_token":${json(fields.authToken)}`
  return text
}

function errorText({ code, message, retryable, details }: CallError): string {
  const rest = details === undefined ? '' : `,"details":${json(details)}`
  return `{"code":${json(code)},"message":${json(message)},"retryable":${retryable === true}${rest}}`
}

const seed: Profile = {
  name: 'seed',
  request: (id, path, input, fields) =>
    envelopeText('call.requested', id, `{"name":"${path}","input":${json(input)}${fieldsText(fields)}}`),
  responded: (id, _envelopeId, value) => envelopeText('call.responded', id, json(value)),
  completed: id => envelopeText('call.completed', id, EMPTY),
  aborted: id => envelopeText('call.aborted', id, EMPTY),
  error: (id, _envelopeId, error) => envelopeText('call.error', id, errorText(error)),
  value: payload => payload,
  envelopeId: id => id,
}

const core: Profile = {
  ...seed,
  name: 'core',
  request: (id, path, input, fields) =>
    envelopeText('call.requested', id, `{"operationId":"${path}","input":${json(input)}${fieldsText(fields)}}`),
  responded: (id, _envelopeId, value) => envelopeText('call.responded', id, `{"output":${json(value)}}`),
  value: payload => (payload as { readonly output?: unknown } | null)?.output ?? null,
}

const ops: Profile = {
  name: 'ops',
  request: (id, path, input, fields) =>
    envelopeText(
      'call.requested',
      '',
      `{"requestId":${json(id)},"operationId":"${dottedName(path)}","input":${json(input)}${fieldsText(fields)}}`,
    ),
  responded: (id, envelopeId, value, path, meta) => {
    const how = meta ?? { source: 'local', operationId: dottedName(path), timestamp: Date.now() }
    const output = `{"data":${json(value)},"meta":${json(how)}}`
    return envelopeText('call.responded', envelopeId, `{"requestId":${json(id)},"output":${output}}`)
  },
  completed: (id, envelopeId) => envelopeText('call.completed', envelopeId, `{"requestId":${json(id)}}`),
  aborted: (id, envelopeId) => envelopeText('call.aborted', envelopeId, `{"requestId":${json(id)}}`),
  error: (id, envelopeId, { code, message, details }) => {
    const rest = details === undefined ? '' : `,"details":${json(details)}`
    const name = code === 'INTERNAL' && isRaw(details) ? 'UNKNOWN_ERROR' : opsName(code)
    const payload = `{"requestId":${json(id)},"code":${json(name)},"message":${json(message)}${rest}}`
    return envelopeText('call.error', envelopeId, payload)
  },
  value: payload => (payload as { readonly output?: { readonly data?: unknown } } | null)?.output?.data ?? null,
  envelopeId: () => '',
}

/** CALL-REG-09: what was thrown and was no Error. */
function isRaw(details: unknown): boolean {
  return typeof details === 'object' && details !== null && 'raw' in details
}

const BY_NAME: Readonly<Record<ProfileName, Profile>> = { seed, core, ops }

export function profileOf(name: ProfileName): Profile {
  return BY_NAME[name]
}

/** Which profile a request is written in: the first match decides; a request that matches none is refused as SEED. */
export function detectProfile(payload: unknown): Profile {
  if (typeof payload !== 'object' || payload === null) return seed
  const { name, requestId, operationId } = payload as Readonly<Record<string, unknown>>
  if (typeof name === 'string') return seed
  if (typeof requestId === 'string') return ops
  if (typeof operationId !== 'string') return seed
  return operationId.includes('/') ? core : ops
}

/** The request id of any `call.*` event; empty where there is none. */
export function requestIdOf(id: string, payload: unknown): string {
  if (id !== '') return id
  const inner = (payload as { readonly requestId?: unknown } | null)?.requestId
  return typeof inner === 'string' ? inner : ''
}

/** CALL-EVT-07: reads incomplete payloads too. Only with the `profile` OPS are codes named otherwise (CALL-ERR-01). */
export function readError(payload: unknown, profile: Profile): CallError {
  const given = (typeof payload === 'object' && payload !== null ? payload : {}) as Readonly<Record<string, unknown>>
  const read = profile.name === 'ops' ? codeOf : String
  const code = typeof given.code === 'string' ? read(given.code) : 'INTERNAL'
  const message = typeof given.message === 'string' ? given.message : ''
  return new CallError(code, message, {
    ...(typeof given.retryable === 'boolean' && { retryable: given.retryable }),
    ...('details' in given && { details: given.details }),
  })
}
