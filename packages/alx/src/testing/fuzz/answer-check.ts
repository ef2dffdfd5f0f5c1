// What every answer to every request must be (WG-02, WG-08 to -10, ALX-ERR-05, ALX-HTTP-02, -03, -05, -06). A problem
// is text, so that whoever sent the request can say which one it was.
import {
  ALX_PROTOCOL_VERSION,
  ERRORS,
  type ErrorCode,
  isFeedbackRecord,
  isKbLineage,
  isKbRecord,
  isKbRegistration,
  isKbVerification,
  isRunEventsEnvelope,
  isSessionListEnvelope,
  isSessionStatusEnvelope,
  isSessionTimelineEnvelope,
  isSettlementRecord,
  parseBaseEnvelope,
  parseProtocolErrorEnvelope,
  parseRunEvent,
  parseSolveResponse,
  ROUTES,
  type RunEvent,
  type SolveResponse,
} from '@alx/protocol'
import { internalError } from '../../run/outcome.ts'
import { framesOf } from '../fixture.ts'
import type { GeneratedRequest } from './generated-requests.ts'
import { SECRET } from './operations.ts'
import type { RawReply } from './raw-client.ts'

type Is = (value: unknown, mode: 'emit') => boolean

const SHAPES: { readonly [name in (typeof ROUTES)[keyof typeof ROUTES]['answers']]: Is } = {
  ProtocolEnvelope: value => Object.keys(value as object).length === 3,
  SolveResponse: value => parseSolveResponse(value, 'emit').ok,
  RunEventsEnvelope: isRunEventsEnvelope,
  FeedbackRecord: isFeedbackRecord,
  SessionListEnvelope: isSessionListEnvelope,
  SessionStatusEnvelope: isSessionStatusEnvelope,
  SessionTimelineEnvelope: isSessionTimelineEnvelope,
  KbRegistration: isKbRegistration,
  KbRecord: isKbRecord,
  KbLineage: isKbLineage,
  KbVerification: isKbVerification,
  SettlementRecord: isSettlementRecord,
}

/** Routes whose answers show a run, also one that has failed. */
const SHOWS_RUN: readonly string[] = ['solve', 'run', 'approval']
/** That the form of a request was refused. */
const OF_FORM: ReadonlySet<string> = new Set<ErrorCode>([
  'AUTH_REQUIRED',
  'UNAUTHORIZED',
  'INVALID_REQUEST',
  'INVALID_CURSOR',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'UNSUPPORTED_PROTOCOL_VERSION',
  'CAPABILITY_NOT_SUPPORTED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
])
/** Statuses of a server that is sound: 500 is for what a port throws. */
const OF_SERVER: readonly number[] = [500, 501, 503, 504]
const CORRELATION_ID = /^[A-Za-z0-9._:-]{1,128}$/
const GENERATED = /^req_[0-9A-Za-z]{16,}$/

/** Verbs for which a port throws. */
const THROWS = ['"throw"', '"break"']

/** Paths of the machine, traces of its code, secrets of the request. */
const LEAKS = [SECRET, process.cwd(), '/tmp/', 'node_modules', '.ts:', 'file://', 'Error: ', '    at ']

export function answerProblem(request: GeneratedRequest, reply: RawReply): string | undefined {
  const { headers, text, status } = reply
  const leak = LEAKS.find(each => text.includes(each))
  if (leak !== undefined) return `the answer shows ${leak}`
  if (headers['x-alx-protocol-version'] !== ALX_PROTOCOL_VERSION) return 'no x-alx-protocol-version'
  if (headers['cache-control'] !== 'no-store') return 'no cache-control'
  if (request.method === 'HEAD') return status >= 400 && text === '' ? undefined : 'an answer to HEAD'
  if (headers['content-type'] === 'text/event-stream') return streamProblem(request, reply)
  if (headers['content-type'] !== 'application/json; charset=utf-8') return `content-type ${headers['content-type']}`
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return 'no JSON'
  }
  return envelopeProblem(request, reply, body) ?? outcomeProblem(request, reply, body as Envelope)
}

interface Envelope {
  readonly ok: boolean
  readonly success?: boolean
  readonly correlationId: string
  readonly error?: { readonly code: ErrorCode; readonly message: string }
}

function envelopeProblem(request: GeneratedRequest, { status, headers }: RawReply, body: unknown): string | undefined {
  const base = parseBaseEnvelope(body, 'emit')
  if (!base.ok) return `no envelope: ${JSON.stringify(base.error.details)}`
  const { ok, error, correlationId } = body as Envelope
  if (ok !== status < 300 || (error === undefined) !== ok) return `ok ${ok} with status ${status}`
  if (headers['x-correlation-id'] !== correlationId) return 'another correlation id in the header'
  const header = request.headers['x-correlation-id']
  // White space around a value is none of it.
  const given = typeof header === 'string' ? header.trim() : header
  const fits = typeof given === 'string' && CORRELATION_ID.test(given)
  // What never reached a route is answered by the host, which has ids of its own.
  if (fits ? correlationId !== given && status !== 400 : typeof given !== 'object' && !GENERATED.test(correlationId))
    return `correlation id ${correlationId}`
  return ok ? successProblem(request, body) : failureProblem(request, status, body as Required<Envelope>)
}

function successProblem({ operation, faults }: GeneratedRequest, body: unknown): string | undefined {
  if (SHAPES[ROUTES[operation.name].answers](body, 'emit')) return undefined
  if (faults.includes('any path') && Object.values(SHAPES).some(is => is(body, 'emit'))) return undefined
  return `no ${ROUTES[operation.name].answers}`
}

function failureProblem({ operation, faults }: GeneratedRequest, status: number, body: Required<Envelope>) {
  const { error, success } = body
  const { code, message } = error
  const entry = ERRORS[code]
  if (!(entry.http as readonly number[]).includes(status)) return `${code} with status ${status}`
  if (status >= 500 && !OF_SERVER.includes(status)) return `status ${status}`
  if (code === 'INTERNAL_ERROR' && message !== internalError().message) return `INTERNAL_ERROR says ${message}`
  if (SHOWS_RUN.includes(operation.name) && 'executionId' in body) {
    const parsed = parseSolveResponse(body, 'emit')
    return parsed.ok ? undefined : `no SolveResponse: ${JSON.stringify(parsed.error.details)}`
  }
  const parsed = parseProtocolErrorEnvelope(body, 'emit')
  if (!parsed.ok) return `no error envelope: ${JSON.stringify(parsed.error.details)}`
  const moved = faults.some(name => name.includes('path') || name.includes('method'))
  if (!moved && (success === false) !== (operation.name === 'solve')) return `success ${success}`
  return undefined
}

function outcomeProblem({ expected, operation, body }: GeneratedRequest, { status }: RawReply, { error }: Envelope) {
  const code = error?.code
  if (
    code === 'INTERNAL_ERROR' &&
    !(operation.name === 'solve' && THROWS.some(verb => body?.includes(verb))) &&
    operation.name !== 'run'
  )
    return 'INTERNAL_ERROR of a server whose ports throw nothing'
  if (expected === undefined) return undefined
  if (expected === 'sound') return code !== undefined && OF_FORM.has(code) ? `${code} to a sound request` : undefined
  return code !== undefined && expected.includes(code)
    ? undefined
    : `${code ?? status} instead of ${expected.join('/')}`
}

function streamProblem({ operation, headers: asked }: GeneratedRequest, { status, text, cut }: RawReply) {
  if (status !== 200) return `a stream with status ${status}`
  if (!cut && text !== '' && !text.endsWith('\n\n')) return 'half a frame'
  const frames = framesOf(text.slice(0, text.lastIndexOf('\n\n') + 2))
  const [last] = frames.slice(-1)
  const response = last?.event === 'alx.response' ? last.data : undefined
  const events = (response ? frames.slice(0, -1) : frames).map(({ data }) => data)
  const after = operation.name === 'runEvents' ? Number(asked['last-event-id'] ?? 0) : 0
  const problem = eventsProblem(events, after)
  if (problem !== undefined || operation.name !== 'solve') return problem
  if (!response) return 'no alx.response'
  const parsed = parseSolveResponse(response, 'emit')
  if (!parsed.ok) return `no SolveResponse in the stream: ${JSON.stringify(parsed.error.details)}`
  return agreementProblem(events.at(-1) as RunEvent | undefined, response as unknown as SolveResponse)
}

/** ALX-RUN-05. */
function agreementProblem(last: RunEvent | undefined, { ok, success, error }: SolveResponse): string | undefined {
  if (last?.type === 'run.completed' && !(ok && success)) return 'run.completed with a response that is not ok'
  if (last?.type === 'run.failed' && (ok || error?.code !== last.error.code)) return 'run.failed with another response'
  return undefined
}

/** Of a run's events behind a place, as far as they have come (ALX-RUN-02, -03). */
export function eventsProblem(events: readonly unknown[], after = 0): string | undefined {
  let time = ''
  for (const [at, event] of events.entries()) {
    const parsed = parseRunEvent(event, 'emit')
    if (!parsed.ok) return `no run event: ${JSON.stringify(event)}`
    const { seq, type, timestamp } = parsed.value
    if (seq !== after + at + 1) return `seq ${seq} instead of ${after + at + 1}`
    if (timestamp < time) return 'time goes back'
    time = timestamp
    if ((type === 'run.started') !== (seq === 1)) return `${type} at ${seq}`
    const terminal = type === 'run.completed' || type === 'run.failed'
    if (terminal && at < events.length - 1) return `something behind ${type}`
    const { ok } = event as { readonly ok?: boolean }
    if (ok !== (terminal ? type === 'run.completed' : undefined)) return `${type} with ok ${ok}`
  }
  return undefined
}
