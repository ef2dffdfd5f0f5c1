import { expect, test } from 'vitest'
import { HASHES, K1, K3, K4 } from '../testing/known-blocks.ts'
import { checkAttribution, checkKbEnvelope } from './check.ts'
import type { EnvelopeLike } from './envelope.ts'
import { KB_TYPES } from './payloads.ts'

const codeOf = (envelope: EnvelopeLike) => {
  const checked = checkKbEnvelope(envelope)
  return checked.ok ? 'ok' : `${checked.error.code} ${checked.error.details?.[0]?.path ?? ''}`.trim()
}
const { payload } = K1

test.each<[string, EnvelopeLike]>([
  ['ok', K1],
  ['ok', K3],
  ['ok', { ...K4, sources: [] }],
  ['ok', { ...K1, kbHash: HASHES.K1 }],
  ['ok', { ...K1, x: 1, metadata: { a: null } }],
  ['INVALID_ENVELOPE sources', K4],
  ['INVALID_ENVELOPE domain', { ...K1, domain: '' }],
  ['INVALID_ENVELOPE domain', { ...K1, domain: null }],
  ['INVALID_ENVELOPE tier', { ...K1, tier: 'gold' }],
  ['INVALID_ENVELOPE payload', { ...K1, payload: [] }],
  ['INVALID_ENVELOPE $', { ...K1, payload: { ...payload, contexts: [null] } }],
  ['INVALID_ENVELOPE $', { ...K1, payload: { ...payload, rationale: '\ud800' } }],
  ['INVALID_ENVELOPE sources[1]', { ...K1, sources: [HASHES.K4, HASHES.K4.toUpperCase()] }],
  ['INVALID_ENVELOPE sources', { ...K3, sources: [HASHES.K4, HASHES.K1, HASHES.K4] }],
  ['SCHEMA_INVALID type', { ...K1, type: 'constructor', payload: { type: 'constructor' } }],
  ['SCHEMA_INVALID payload.type', { ...K1, payload: { ...payload, type: 'rubric' } }],
  ['SCHEMA_INVALID payload.rationale', { ...K1, payload: { ...payload, rationale: 5 } }],
  ['INVALID_ENVELOPE derivation.inputs[0].kbId', { ...K3, sources: [HASHES.K4] }],
  ['INVALID_ENVELOPE sources', { ...K3, sources: [], derivation: { ...K3.derivation, inputs: [] } }],
  ['KB_HASH_MISMATCH', { ...K1, kbHash: HASHES.K4 }],
  ['KB_HASH_MISMATCH', { ...K1, kbHash: null }],
  // The first failure wins.
  ['INVALID_ENVELOPE domain', { ...K1, domain: '', payload: {}, kbHash: HASHES.K4 }],
  ['SCHEMA_INVALID payload.type', { ...K3, payload: {}, sources: [], kbHash: HASHES.K4 }],
])('ALX-KB-12 a registration answers %s to %j', (code, envelope) => {
  expect(codeOf(envelope)).toBe(code)
})

test('ALX-KB-12 a checked envelope has its seven members only, sources sorted, and a warning for ignored parents', () => {
  const checked = checkKbEnvelope({ ...K3, parents: [], curator: 'me' })
  expect(checked).toEqual({
    ok: true,
    value: {
      kbHash: HASHES.K3,
      envelope: { ...K3, sources: [HASHES.K1, HASHES.K4] },
      warnings: ['PARENTS_IGNORED'],
    },
  })
  const injected = checkKbEnvelope(K3, () => new Uint8Array(32))
  expect(injected).toMatchObject({ ok: true, value: { kbHash: `0x${'0'.repeat(64)}` } })
})

const complete: Readonly<Record<string, object>> = {
  practice: payload,
  feature: { interfaceContract: {}, testScaffold: {} },
  stateMachine: { states: [], transitions: [], invariants: [] },
  promptEngineering: { template: '', modelVersion: '', evalCriteria: [] },
  complianceChecklist: {
    jurisdictionTags: ['eu'],
    requirements: [{ id: 'a', description: 'b', isMandatory: true }],
    evidenceMapping: { type: 'log_entry', validationLogic: '' },
  },
  rubric: { dimensions: [{ criterion: 'a', weight: 0.5 }], scoringLogic: '', thresholds: { pass: 1, escalate: 0 } },
  synthesis: K3.payload,
  pattern: { pattern: '', occurrences: [{ context: 'a' }, { context: 'b', kbHash: HASHES.K1 }], applicability: '' },
  adaptation: { targetDomain: '', adaptedContent: '', tradeoffs: ['a'] },
  enhancement: { concern: 'security', enhancedContent: '' },
}

test.each(KB_TYPES)('ALX-KB-11 a payload of type %s needs the members of its row, and may have more', type => {
  const members = { ...complete[type], type }
  const envelope = (payload: object) => ({ type, domain: 'd', sources: [], payload })
  expect(codeOf(envelope({ ...members, more: 1 }))).toBe('ok')
  for (const member of Object.keys(members)) {
    const { [member]: _, ...rest } = members as Record<string, unknown>
    expect(codeOf(envelope(rest))).toBe(`SCHEMA_INVALID payload.${member}`)
  }
})

const source = (digit: number) => `0x${String(digit).repeat(64)}`
const registered = {
  kbHash: HASHES.K3,
  sources: [HASHES.K3, ...Array.from({ length: 9 }, (_, digit) => source(digit))],
}
const link = (parentHash: string, royaltyShareBps = 1) => ({ parentHash, royaltyShareBps })

test.each<[string, readonly unknown[]]>([
  ['ok', [{ ...link(source(1), 4000), relationship: 'vald' }, link(source(2), 6000)]],
  ['INVALID_REQUEST attribution[0]', [7]],
  ['INVALID_REQUEST attribution[1].royaltyShareBps', [link(source(1)), link(source(2), 0.5)]],
  ['INVALID_REQUEST attribution[0].relationship', [{ ...link(source(1)), relationship: 'x' }]],
  ['TOO_MANY_PARENTS', Array.from({ length: 9 }, (_, digit) => link(source(digit), 9999))],
  ['DUPLICATE_PARENT', [link(HASHES.K3), link(HASHES.K3)]],
  ['SELF_REFERENCE', [link(HASHES.K3), link(HASHES.K1)]],
  ['INVALID_REQUEST attribution[1].parentHash', [link(source(1), 10000), link(HASHES.K1)]],
  ['SHARES_EXCEED_DISTRIBUTABLE', [link(source(1), 10000), link(source(2))]],
])('ALX-SETTLE-03 links are answered with %s, the first failure of the order', (code, links) => {
  const checked = checkAttribution(links, registered)
  expect(checked.ok ? 'ok' : `${checked.error.code} ${checked.error.details?.[0]?.path ?? ''}`.trim()).toBe(code)
})
