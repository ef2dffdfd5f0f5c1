// Every shape of the wire: what fits, what does not, and what a newer peer may add.
import { expect, test } from 'vitest'
import * as protocol from '../index.ts'
import type { JsonSchema, Mode } from '../schema/modes.ts'
import type { Shape } from '../schema/shape.ts'
import { SCHEMAS } from '../schemas.ts'
import { error, runEvents, SAMPLES, solved, timeline } from '../testing/samples.ts'

type Name = keyof typeof SCHEMAS
type Members = Record<string, unknown>
const all = protocol as unknown as Readonly<Record<string, Shape<unknown>['parse']>>

function parse(name: Name, value: unknown, mode?: Mode) {
  return all[`parse${name}`]!(value, mode)
}
/** The first place where a value does not fit. */
function verdict(name: Name, value: unknown, mode?: Mode): string {
  const parsed = parse(name, value, mode)
  if (parsed.ok) return 'fits'
  expect(parsed.error).toMatchObject({ type: 'validation', code: 'INVALID_REQUEST' })
  return parsed.error.details![0]!.path
}
const without = (value: unknown, member: string) => {
  const { [member]: _, ...rest } = value as Members
  return rest
}
const names = (Object.keys(SCHEMAS) as Name[]).filter(name => name !== 'ProtocolEnvelope')
const REQUESTS: readonly Name[] = [
  'SolveCallInput',
  'SolveIntentShape',
  'SolveCallOptions',
  'ApprovalDecision',
  'FeedbackInput',
  'KbRegisterInput',
  'KbVerifyInput',
  'AttributionLink',
  'SettlementInput',
]
const OPEN: readonly Name[] = ['BaseEnvelope', 'Derivation']

test.each(names)(
  'ALX-ENV-07 %s: unknown members pass a reader, are dropped from a request, and are never sent',
  name => {
    const sample = SAMPLES[name]
    expect([verdict(name, sample), verdict(name, sample, 'emit')]).toEqual(['fits', 'fits'])
    if (Array.isArray(sample)) return
    const more = { ...(sample as Members), unknown: { deep: [null] } }
    expect(parse(name, more)).toEqual({ ok: true, value: REQUESTS.includes(name) ? sample : more })
    expect(verdict(name, more, 'emit')).toBe(OPEN.includes(name) ? 'fits' : 'unknown')
  },
)

test.each(names)(
  'ALX-ENV-08 %s: members that are R must be there, and null is only for those that may be null',
  name => {
    const sample = SAMPLES[name]
    const { properties = {}, required = [], anyOf } = SCHEMAS[name] as JsonSchema
    if (anyOf || Array.isArray(sample)) return
    for (const [member, { anyOf: either, ...schema }] of Object.entries(properties)) {
      const anything = Object.keys(schema).length === 0 && !either
      const nullable = anything || either?.some(branch => branch.type === 'null')
      expect([member, verdict(name, without(sample, member))]).toEqual([
        member,
        required.includes(member) ? member : 'fits',
      ])
      expect([member, verdict(name, { ...(sample as Members), [member]: null })]).toEqual([
        member,
        nullable ? 'fits' : member,
      ])
    }
  },
)

test.each(names)('ALX-ERR-01 %s: nothing but an object or a list fits, and no value makes a validator throw', name => {
  for (const value of [undefined, null, 1, 'text', [], {}, [null], Object.create(null), new Map(), () => 1]) {
    const parsed = parse(name, value)
    if (!parsed.ok) expect(parsed.error.details).not.toEqual([])
    else
      expect(Array.isArray(value) && name.startsWith('Session')).toBe(
        name === 'SessionTimeline' || name === 'SessionList',
      )
  }
})

test('ALX-SOLVE-01 a call is trimmed, and what is wrong with one is named by its path', () => {
  const intent = { verb: ' deploy\n', target: 'api', domain: 'engineering' }
  expect(protocol.parseSolveCallInput({ intent })).toMatchObject({ ok: true, value: { intent: { verb: 'deploy' } } })
  const path = (call: object) => verdict('SolveCallInput', { intent, ...call })
  expect(verdict('SolveCallInput', {})).toBe('intent')
  expect(path({ intent: { ...intent, verb: '  ' } })).toBe('intent.verb')
  expect(path({ intent: { ...intent, target: 5 } })).toBe('intent.target')
  expect(path({ intent: { ...intent, domain: '\u{1f600}'.repeat(128) } })).toBe('fits')
  expect(path({ intent: { ...intent, domain: '\u{1f600}'.repeat(129) } })).toBe('intent.domain')
  expect(path({ intent: [] })).toBe('intent')
  expect(path({ context: [] })).toBe('context')
  expect(path({ context: { a: ['x'.repeat(262_134)] } })).toBe('fits')
  expect(path({ context: { a: ['x'.repeat(262_135)] } })).toBe('context')
  expect(path({ context: { a: [{ b: '\ud800' }] } })).toBe('context.a[0].b')
  expect(path({ context: { a: { '\udc00': 1 } } })).toBe('context.a.\ufffd')
  expect(path({ context: JSON.parse('{"a":1e999}') })).toBe('context.a')
  expect(path({ context: JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) })).toMatch(/^context\.a\.a/)
  expect(path({ options: { dryRun: null } })).toBe('options.dryRun')
  expect(path({ options: { sessionId: 'not an id' } })).toBe('options.sessionId')
  expect(path({ options: { idempotencyKey: 'a b' } })).toBe('options.idempotencyKey')
  expect(path({ meta: { userId: '' } })).toBe('meta.userId')
})

test('ALX-SOLVE-15 a fingerprint is of what is asked, not of how it is said', () => {
  const intent = { verb: 'deploy', target: 'api', domain: 'engineering' }
  const print = (call: object) => {
    const parsed = protocol.parseSolveCallInput(call)
    return parsed.ok ? protocol.requestFingerprint(parsed.value) : parsed.error
  }
  const plain = print({ intent })
  expect(plain).toMatch(/^0x[0-9a-f]{64}$/)
  const said = { unknown: 1, protocol: { protocol_version: '1.0' }, options: { idempotencyKey: 'k' } }
  expect(print({ intent: { unknown: 2, domain: 'engineering', target: ' api', verb: 'deploy' }, ...said })).toBe(plain)
  expect(print({ intent: { ...intent, target: 'web' } })).not.toBe(plain)
  expect(print({ intent, context: { a: null } })).not.toBe(plain)
  expect(print({ intent, options: { force: true } })).not.toBe(plain)
})

test.each(runEvents)('WG-04 a run event of type $type fits; sent by us it has just the members of its type', event => {
  expect([verdict('RunEvent', event), verdict('RunEvent', event, 'emit')]).toEqual(['fits', 'fits'])
  const terminal = /^run\.(?:completed|failed)$/.test(event.type)
  if (!terminal) expect(verdict('RunEvent', { ...event, ok: true }, 'emit')).toBe('ok')
})

test('WG-03 WG-04 no event of an unknown type is sent, and one that comes is kept as it is', () => {
  for (const [name, type] of [
    ['RunEvent', 'run.cancelled'],
    ['SessionTimelineEvent', 'note'],
  ] as const) {
    expect(parse(name, { type, anything: 1 })).toEqual({ ok: true, value: { type, anything: 1 } })
    expect(verdict(name, { ...(SAMPLES[name] as Members), type }, 'emit')).toBe('type')
    expect(verdict(name, { type: '' })).not.toBe('fits')
  }
  const events = [...runEvents, { type: 'run.paused' }]
  expect(verdict('RunEventsEnvelope', { ...(SAMPLES.RunEventsEnvelope as Members), events })).toBe('fits')
})

test('WG-09 WG-10 a terminal event with the wrong ok fits in neither mode', () => {
  for (const mode of ['read', 'emit'] as const) {
    expect(verdict('RunEvent', { ...runEvents[7], ok: false }, mode)).toBe('ok')
    expect(verdict('RunEvent', { ...runEvents[8], ok: true }, mode)).toBe('ok')
  }
})

test('ALX-SOLVE-05 an artifact that an event shows is named by its kbHash, and lists its sources in order', () => {
  const event = runEvents[5] as Members
  const shown = (members: object) =>
    verdict('RunEvent', { ...event, artifact: { ...(event.artifact as Members), ...members } }, 'emit')
  const sources = [`0x${'2'.repeat(64)}`, `0x${'1'.repeat(64)}`]
  expect(shown({ sources: sources.toReversed() })).toBe('fits')
  expect(shown({ sources })).toBe('artifact.sources')
  expect(shown({ artifactId: sources[0] })).toBe('artifact.artifactId')
})

test.each(timeline)(
  'WG-03 a timeline event of type $type fits; sent by us it has just the members of its type',
  event => {
    expect([verdict('SessionTimelineEvent', event), verdict('SessionTimelineEvent', event, 'emit')]).toEqual([
      'fits',
      'fits',
    ])
    const ofRun = event.type !== 'reset' && event.type !== 'fork'
    expect(verdict('SessionTimelineEvent', { ...event, executionId: ofRun ? null : 'run_1' })).toBe('executionId')
    const foreign = event.type === 'execution' ? { error } : { ok: true }
    expect(verdict('SessionTimelineEvent', { ...event, ...foreign }, 'emit')).toBe(Object.keys(foreign)[0])
  },
)

test('ALX-TL-06 a reader takes any identifier that is not empty, an unknown error code and an unknown error type', () => {
  const foreign = {
    ...solved,
    correlationId: 'x'.repeat(200),
    executionId: 'run/1',
    ok: false,
    success: false,
    error: { type: 'weather', code: 'brand new', message: 'rain' },
  }
  expect(verdict('SolveResponse', foreign)).toBe('fits')
  expect(verdict('SolveResponse', { ...foreign, executionId: '' })).toBe('executionId')
  expect(verdict('ProtocolError', foreign.error, 'emit')).not.toBe('fits')
  expect(verdict('ProtocolError', { ...error, code: 'SOURCES_NOT_SORTED' }, 'emit')).toBe('code')
})

test('ALX-ENV-03 an answer is ok without an error, or not ok with one', () => {
  const { ok: _, ...base } = SAMPLES.ProtocolEnvelope as Members
  const of = (members: object) => verdict('BaseEnvelope', { ...base, ...members })
  expect(of({ ok: true })).toBe('fits')
  expect(of({ ok: false, error })).toBe('fits')
  expect(of({ ok: true, error: null })).toBe('error')
  expect(of({ ok: true, error })).toBe('error')
  expect(of({ ok: false })).toBe('error')
  expect(of({ ok: false, error: null })).toBe('error')
  expect(verdict('SolveResponse', { ...solved, error: null })).toBe('error')
  expect(verdict('BaseEnvelope', without({ ...base, ok: true }, 'protocol'))).toBe('protocol')
  expect(of({ ok: true, protocol: { protocol_version: '1.1', capabilities: ['a', 'a'] } })).toBe(
    'protocol.capabilities',
  )
})

const { execution } = solved
const running = { ...execution, status: 'running', finishedAt: null, durationMs: null }
const unfinished = { success: false, result: null, learning: null }
const failure = {
  ok: false,
  success: false,
  error,
  result: null,
  learning: null,
  execution: { ...execution, status: 'failed' },
}

test.each<[string, object]>([
  ['fits', {}],
  ['fits', { execution: { ...running, status: 'awaiting_approval' }, ...unfinished }],
  ['fits', { execution: running, ...unfinished, artifact: null, confidence: null }],
  [
    'fits',
    { execution: { ...execution, status: 'planned', dryRun: true, sessionId: null }, result: null, learning: null },
  ],
  ['fits', failure],
  ['fits', { ...failure, error: { ...error, code: 'NO_ARTIFACT_SELECTED' }, artifact: null, confidence: null }],
  ['fits', { improvement: 0.2, confidenceScore: 0.9, reason: '', cached: true, fallbackUsed: false, selectMeta: {} }],
  ['fits', { ...failure, code: error.code }],
  ['success', { success: false }],
  ['success', { execution: running, ...unfinished, success: true }],
  ['ok', { ...failure, ok: true, error: undefined }],
  ['result', { result: null }],
  ['result', { ...failure, result: 'Done.' }],
  ['confidence', { confidence: null }],
  ['confidence', { ...failure, artifact: null }],
  ['artifact', { ...failure, artifact: null, confidence: null }],
  ['artifact', { ...failure, error: { ...error, code: 'NO_ARTIFACT_SELECTED' } }],
  ['learning', { ...failure, learning: solved.learning }],
  ['execution.executionId', { executionId: 'run_2' }],
  ['execution.finishedAt', { execution: { ...running, finishedAt: execution.finishedAt }, ...unfinished }],
  ['execution.durationMs', { execution: { ...execution, durationMs: 1 } }],
  ['execution.sessionId', { execution: { ...execution, sessionId: null } }],
  ['execution.dryRun', { execution: { ...execution, status: 'planned' }, learning: null }],
  ['steps[1].index', { steps: [solved.steps[0], solved.steps[0]] }],
  ['steps[1].stepId', { steps: [solved.steps[0], { ...solved.steps[1]!, stepId: 'step_0' }] }],
  ['artifact.artifactId', { artifact: { ...solved.artifact, artifactId: `0x${'1'.repeat(64)}` } }],
  ['improvement', { improvement: 0.1 }],
  ['confidenceScore', { confidenceScore: 0.1 }],
  ['fallbackUsed', { fallbackUsed: true }],
  ['code', { ...failure, code: 'OTHER_CODE' }],
])('ALX-SOLVE-09 of a solve answer that is sent: %s, with %j', (place, members) => {
  expect(verdict('SolveResponse', { ...solved, ...members }, 'emit')).toBe(place)
})

test('ALX-SOLVE-16 a reader ignores aliases that deviate, and an answer whose members disagree', () => {
  const odd = { improvement: 'much', confidenceScore: 7, cached: 'yes', selectMeta: 1, code: 5 }
  expect(verdict('SolveResponse', { ...solved, ...odd, confidence: null })).toBe('fits')
})

test.each<[Name, string, readonly unknown[], readonly unknown[]]>([
  ['SettlementInput', 'amount', ['0', '9'.repeat(78)], ['', '01', '-1', '1e3', '9'.repeat(79), 1, '1\n']],
  [
    'SettlementInput',
    'kbHash',
    [`0x${'a'.repeat(64)}`],
    [`0x${'A'.repeat(64)}`, 'a'.repeat(64), `0x${'a'.repeat(65)}`],
  ],
  ['SettlementInput', 'queryId', ['a', '-_'.repeat(64)], ['', 'a b', 'a'.repeat(129), 'é', 'a\n']],
  ['FeedbackInput', 'rating', [-1, 0, 1], [2, 0.5, '1', true]],
  ['FeedbackInput', 'comment', ['x'.repeat(2000)], ['x'.repeat(2001), '\udc00']],
  ['KbVerifyInput', 'artifactBase64', ['', 'AA==', 'AAA=', 'AA+/'], ['A', 'A===', 'AA=A', 'AA--']],
  ['AttributionLink', 'royaltyShareBps', [0, 10_000], [-1, 10_001, 0.5, '1']],
  [
    'FeedbackRecord',
    'recordedAt',
    ['2024-02-29T23:59:59.999Z'],
    ['2026-02-29T00:00:00.000Z', '2026-01-01T24:00:00.000Z', '2026-12-31T23:59:60.000Z', '2026-01-01T00:00:00Z'],
  ],
  ['SessionSummary', 'runCount', [0, Number.MAX_SAFE_INTEGER], [-1, 0.5, 2 ** 53, Number.POSITIVE_INFINITY]],
  ['SessionStatusEnvelope', 'progress', [0, 0.25, 1, null], [-0.1, 1.1, Number.NaN, '1']],
])('section 0: of %s, %s takes what its scalar type allows and nothing else', (name, member, good, bad) => {
  const judged = (value: unknown) => verdict(name, { ...(SAMPLES[name] as Members), [member]: value }, 'emit')
  expect(good.map(judged)).toEqual(good.map(() => 'fits'))
  expect(bad.map(judged)).toEqual(bad.map(() => member))
})
