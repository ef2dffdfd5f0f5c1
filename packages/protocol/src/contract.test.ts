// What the package promises to those who build on it: names, codes, shapes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import * as core from './core/index.ts'
import * as economics from './economics/index.ts'
import type {
  ApprovalDecision,
  AttributionLink,
  AttributionTrace,
  Derivation,
  ExecutionInfo,
  ExecutionStep,
  FeedbackInput,
  FeedbackRecord,
  KbEnvelope,
  KbRecord,
  KbRegisterInput,
  KbRegistration,
  KbVerification,
  KbVerifyInput,
  LearningInfo,
  ProtocolError,
  ProtocolErrorEnvelope,
  ProtocolInfo,
  RunEvent,
  RunEventsEnvelope,
  RunEventType,
  SessionList,
  SessionListEnvelope,
  SessionStatus,
  SessionStatusEnvelope,
  SessionSummary,
  SessionTimeline,
  SessionTimelineEnvelope,
  SessionTimelineEvent,
  SessionTimelineEventType,
  SettlementInput,
  SettlementRecord,
  SettlementResult,
  SolveArtifact,
  SolveCallInput,
  SolveCallOptions,
  SolveIntentShape,
  SolveResponse,
} from './index.ts'
import * as protocol from './index.ts'
import { SCHEMAS } from './schemas.ts'

/** The types of ALX-SDK-02: a name that is missing does not compile. */
export type Promised = [
  ApprovalDecision,
  AttributionLink,
  AttributionTrace,
  Derivation,
  ExecutionInfo,
  ExecutionStep,
  FeedbackInput,
  FeedbackRecord,
  KbEnvelope,
  KbRecord,
  KbRegisterInput,
  KbRegistration,
  KbVerification,
  KbVerifyInput,
  LearningInfo,
  ProtocolError,
  ProtocolErrorEnvelope,
  ProtocolInfo,
  RunEvent,
  RunEventsEnvelope,
  RunEventType,
  SessionList,
  SessionListEnvelope,
  SessionStatus,
  SessionStatusEnvelope,
  SessionSummary,
  SessionTimeline,
  SessionTimelineEnvelope,
  SessionTimelineEvent,
  SessionTimelineEventType,
  SettlementInput,
  SettlementRecord,
  SettlementResult,
  SolveArtifact,
  SolveCallInput,
  SolveCallOptions,
  SolveIntentShape,
  SolveResponse,
]

const repository = join(import.meta.dirname, '..', '..', '..')
const sheet = readFileSync(join(repository, 'docs/specs/alx-requirements.md'), 'utf8')
const namesIn = (text: string) => [...text.matchAll(/`([A-Za-z_]\w*)`/g)].map(([, name]) => name!)

test('ALX-SDK-02 every name of the sheet is exported from the entry that the sheet gives it', () => {
  const section = sheet.split('**ALX-SDK-02')[1]!.split('**ALX-SDK-03')[0]!
  const [root, rest] = section.split('- `economics`') as [string, string]
  const [money, signed] = rest.split('- `core`') as [string, string]
  const isType = (name: string) => /^[A-Z][a-z]/.test(name) && name in SCHEMAS
  const values = (text: string) =>
    namesIn(text).filter(
      name =>
        !isType(name) &&
        !['RunEventType', 'SessionStatus', 'SessionTimelineEventType', 'parseX', 'isX', 'sessions'].includes(name),
    )
  expect(Object.keys(protocol)).toEqual(expect.arrayContaining(values(root)))
  expect(Object.keys(economics)).toEqual(expect.arrayContaining(values(money)))
  expect(Object.keys(core).sort()).toEqual(values(signed).sort())
  for (const name of Object.keys(SCHEMAS).filter(name => name !== 'ProtocolEnvelope'))
    expect(Object.keys(protocol)).toEqual(expect.arrayContaining([`parse${name}`, `is${name}`]))
})

test('ALX-SDK-02 the exported names are those that were agreed on', async () => {
  const { exports } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'))
  expect(Object.keys(exports)).toEqual(['.', './core', './economics'])
  const names = Object.fromEntries(
    Object.entries({ protocol, core, economics }).map(([entry, all]) => [entry, Object.keys(all).sort()]),
  )
  await expect(`${JSON.stringify(names, null, 2)}\n`).toMatchFileSnapshot('../fixtures/exports.json')
})

test('ALX-T64 error codes and shapes are those of this version: nothing was removed, renamed or given another type', async () => {
  const contract = {
    version: protocol.ALX_PROTOCOL_VERSION,
    errors: protocol.ERRORS,
    runEventTypes: protocol.RUN_EVENT_TYPES,
    sessionTimelineEventTypes: protocol.SESSION_TIMELINE_EVENT_TYPES,
    sessionStatuses: protocol.SESSION_STATUSES,
    routes: protocol.ROUTES,
    limits: protocol.limits,
    schemas: protocol.jsonSchemas(),
  }
  await expect(`${JSON.stringify(contract, null, 2)}\n`).toMatchFileSnapshot('../fixtures/contract.json')
})

test('ALX-ERR-03 the error table is that of the sheet, code by code', () => {
  const rows = sheet
    .split('**ALX-ERR-03')[1]!
    .split('**ALX-ERR-04')[0]!
    .split('\n')
    .filter(line => /^\| [A-Z]{2}[A-Z_]/.test(line))
  const told = rows.flatMap(row => {
    const [codes = '', type = '', statuses = '', , retry = ''] = row
      .slice(1)
      .split('|')
      .map(cell => cell.trim())
    const http = statuses.match(/\d{3}/g)!.map(Number)
    const retryable = /^(?:later|with key|after the wait)$/.test(retry)
    return codes.match(/[A-Z][A-Z_]+/g)!.map(code => [code, { type, http, retryable }])
  })
  expect(Object.fromEntries(told)).toEqual(protocol.ERRORS)
  expect(protocol.ERROR_CODES.every(code => /^[A-Z][A-Z0-9_]{2,63}$/.test(code))).toBe(true)
})

test('ALX-ENV-06 ALX-HTTP-01 capabilities and routes are those of the sheet', () => {
  const told = sheet
    .split('**ALX-HTTP-01')[1]!
    .split('**ALX-HTTP-02')[0]!
    .matchAll(/^\| (GET|POST) `([^`]+)` \| (\S+) /gm)
  const rows = [...told].map(([, method, path, capability]) => `${method} ${path} ${capability!.replaceAll('`', '')}`)
  expect(
    Object.values(protocol.ROUTES).map(({ method, path, capability = '–' }) => `${method} ${path} ${capability}`),
  ).toEqual(rows)
  const names = sheet
    .split('**ALX-ENV-06')[1]!
    .split('**ALX-ENV-07')[0]!
    .matchAll(/^\| `([^`]+)` \|/gm)
  expect(protocol.CAPABILITIES).toEqual([...names].map(([, name]) => name))
})

test.each<[string, unknown, string | undefined]>([
  ['ok', undefined, undefined],
  ['ok', { protocol_version: '1.9' }, '2.0'],
  ['ok', { protocol_version: '1.0', capabilities: ['zz-unknown', 'zz-unknown'], more: 1 }, undefined],
  ['ok', undefined, '1.77'],
  ['UNSUPPORTED_PROTOCOL_VERSION', { protocol_version: '2.0' }, undefined],
  ['UNSUPPORTED_PROTOCOL_VERSION', undefined, '2.0'],
  ['UNSUPPORTED_PROTOCOL_VERSION', { protocol_version: '0.1' }, '1.1'],
  ['INVALID_REQUEST protocol.protocol_version', { protocol_version: 'x' }, undefined],
  ['INVALID_REQUEST protocol.protocol_version', undefined, '1'],
  ['INVALID_REQUEST protocol.protocol_version', {}, '1.1'],
  ['INVALID_REQUEST protocol', null, undefined],
  ['INVALID_REQUEST protocol', [], undefined],
  ['INVALID_REQUEST protocol.capabilities', { protocol_version: '1.1', capabilities: 'solve' }, undefined],
  ['INVALID_REQUEST protocol.capabilities[0]', { protocol_version: '1.1', capabilities: [1] }, undefined],
])('ALX-ENV-05 negotiation answers %s to a body that says %j and a header that says %s', (answer, offer, header) => {
  const agreed = protocol.negotiate(offer, header)
  expect(agreed.ok ? 'ok' : `${agreed.error.code} ${agreed.error.details?.[0]?.path ?? ''}`.trim()).toBe(answer)
})

test('ALX-ENV-08 types keep null and absent apart, and events and answers are told apart by their literals', () => {
  expectTypeOf<SolveArtifact>().toExtend<{ readonly kbId?: string | null; readonly tier: string | null }>()
  expectTypeOf<undefined>().not.toExtend<SolveResponse['learning']>()
  expectTypeOf<null>().not.toExtend<SessionStatusEnvelope['createdAt']>()
  expectTypeOf<null>().toExtend<SessionStatusEnvelope['progress']>()
  expectTypeOf<Extract<RunEvent, { type: 'run.failed' }>['ok']>().toEqualTypeOf<false>()
  expectTypeOf<Extract<SolveResponse, { ok: false }>['error']>().toEqualTypeOf<ProtocolError>()
  expectTypeOf<RunEvent['type']>().toEqualTypeOf<RunEventType>()
  expectTypeOf<SessionTimelineEvent['type']>().toEqualTypeOf<SessionTimelineEventType>()
})
