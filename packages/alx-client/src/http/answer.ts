// From the bytes of an answer to a typed envelope, an AlxError or an AlxProtocolViolation (ALX-SDK-05, -06, -09).
import {
  type BaseEnvelope,
  isProtocolErrorEnvelope,
  isSolveResponse,
  parseBaseEnvelope,
  parseFeedbackRecord,
  parseKbLineage,
  parseKbRecord,
  parseKbRegistration,
  parseKbVerification,
  parseRunEventsEnvelope,
  parseSessionListEnvelope,
  parseSessionStatusEnvelope,
  parseSessionTimelineEnvelope,
  parseSettlementRecord,
  parseSolveResponse,
  type Route,
} from '@alx/protocol'
import { AlxError, AlxProtocolViolation } from '../errors.ts'
import { clientLimits } from '../limits.ts'
import { outcomeRule } from '../outcome.ts'

/** The validators of what routes answer, by the name of the shape. */
const READERS = {
  ProtocolEnvelope: parseBaseEnvelope,
  SolveResponse: parseSolveResponse,
  RunEventsEnvelope: parseRunEventsEnvelope,
  FeedbackRecord: parseFeedbackRecord,
  SessionListEnvelope: parseSessionListEnvelope,
  SessionStatusEnvelope: parseSessionStatusEnvelope,
  SessionTimelineEnvelope: parseSessionTimelineEnvelope,
  KbRegistration: parseKbRegistration,
  KbRecord: parseKbRecord,
  KbLineage: parseKbLineage,
  KbVerification: parseKbVerification,
  SettlementRecord: parseSettlementRecord,
} as const
export type AnswerName = keyof typeof READERS
type Parsed<N extends AnswerName> = Extract<ReturnType<(typeof READERS)[N]>, { readonly ok: true }>['value']
/** What a call returns: the envelope of a request that was handled without error. */
export type Answer<N extends AnswerName> = Extract<Parsed<N>, { readonly ok: true }>
export type AnswerRoute<N extends AnswerName> = Route & { readonly answers: N }

export interface Received {
  /** Of the request, in messages. */
  readonly name: string
  readonly status: number
  readonly text: string
  readonly retryAfterMs?: number | undefined
  /** Never in an error, not even where the server repeats it. */
  readonly token: string | undefined
}

export function textOf(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new AlxProtocolViolation('ALX-ENV-09', 'the body is not UTF-8', name)
  }
}

/** The envelope of shape `expected`, with all members that it came with. Throws all else. */
export function answerOf<N extends AnswerName>(expected: N, received: Received): Answer<N> {
  const { name, status } = received
  const envelope = enveloped(received)
  if (!envelope.ok) throw errorOf(received)
  const parsed = READERS[expected](envelope)
  if (parsed.ok) return parsed.value as Answer<N>
  const misfit = `${status} with a ${expected} that does not fit: ${parsed.error.message}`
  throw new AlxProtocolViolation(eventRule(envelope) ?? 'WG-06', misfit, name)
}

/** A last event whose `ok` contradicts it has a rule of its own. */
function eventRule(envelope: object): string | undefined {
  const events = 'events' in envelope && Array.isArray(envelope.events) ? envelope.events : []
  return events.map(event => outcomeRule(Object(event))).find(rule => rule !== undefined)
}

function enveloped({ name, status, text }: Received): BaseEnvelope {
  const body = objectOf(text)
  const violated = (rule: string, what: string) => new AlxProtocolViolation(rule, `${status} with ${what}`, name)
  if (!body) throw violated('ALX-HTTP-06', 'a body that is not a JSON object')
  if (status >= 400 && body.ok === true) throw violated('WG-08', 'ok: true')
  const parsed = parseBaseEnvelope(body)
  if (parsed.ok) return parsed.value
  throw violated(brokenRule(body), parsed.error.message)
}

function brokenRule(body: Readonly<Record<string, unknown>>): string {
  const base = { ...body, ok: true }
  if (typeof body.ok !== 'boolean' || !parseBaseEnvelope({ ...base, error: undefined }).ok) return 'WG-02'
  if (body.ok) return 'ALX-ENV-03'
  const { error } = body
  const coded = typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
  return coded && error.code !== '' ? 'ALX-ERR-01' : 'WG-05'
}

function errorOf({ text, token, status, retryAfterMs }: Received): AlxError {
  const envelope = objectOf(withoutToken(text, token))
  if (isSolveResponse(envelope) && !envelope.ok) return new AlxError(envelope, status, retryAfterMs)
  if (isProtocolErrorEnvelope(envelope)) return new AlxError(envelope, status, retryAfterMs)
  // Other than its base it does not fit, such as `success: null`: what went wrong is still said by `error`.
  const { ok, correlationId, protocol, error } = envelope as unknown as Extract<BaseEnvelope, { ok: false }>
  return new AlxError({ ok, correlationId, protocol, error }, status, retryAfterMs)
}

function withoutToken(text: string, token: string | undefined): string {
  if (token === undefined || token.length < clientLimits.tokenLength) return text
  return text.replaceAll(JSON.stringify(token).slice(1, -1), '[token]')
}

export function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
