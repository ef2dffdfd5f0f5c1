import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalize } from '../canonical.ts'
import { artifactHashFromBytes, artifactHashFromPayload, cidV1FromCanonical, cidV1FromCanonicalSync } from '../hash.ts'
import { HASHES, K1, K3, K4, K5, K5_DECOMPOSED, K6 } from '../testing/known-blocks.ts'
import {
  buildDerivedEnvelope,
  compareCandidates,
  contentHashFromEnvelope,
  kbHashFromEnvelope,
  normalizeForHash,
  sortSources,
  verifyKBArtifact,
} from './envelope.ts'

test.each([
  ['K1', K1, HASHES.K1],
  ['K3', K3, HASHES.K3],
  ['K4', K4, HASHES.K4],
  ['K4 with empty sources', { ...K4, sources: [] }, HASHES.K4],
  ['K5', K5, HASHES.K5],
  ['K5 decomposed', K5_DECOMPOSED, HASHES.K5_DECOMPOSED],
  ['K6', K6, HASHES.K6],
  [
    'K3 with one source',
    { ...K3, sources: [HASHES.K1] },
    '0xe6446c8ec3ad4ef500970fcdd32614373038d9e78e2790cee6cdbf8633019c69',
  ],
])('ALX-T43 %s has the hash that the sheet states', (_name, envelope, hash) => {
  expect(kbHashFromEnvelope(envelope)).toBe(hash)
})

test('ALX-KB-10 the payload hashes, the CID and the hash without a tag of K1 and K3 are those of the sheet', async () => {
  expect(artifactHashFromPayload(K1.payload)).toBe(HASHES.K1_PAYLOAD)
  expect(artifactHashFromPayload(K3.payload)).toBe(HASHES.K3_PAYLOAD)
  const text = canonicalize(normalizeForHash(K1))
  expect(cidV1FromCanonicalSync(text)).toBe('bafkreihkke3ybawj4smv3qrt6szrwwyy24vswefzx4qmkavi5fdtlg5ezq')
  expect(await cidV1FromCanonical(text)).toBe(cidV1FromCanonicalSync(text))
  expect(contentHashFromEnvelope(K1)).toBe('0x30352c8b0228add3478546804a2ed448cb110d3f21fb9455889d11af5bb69136')
  expect(artifactHashFromBytes(new TextEncoder().encode(canonicalize(K1.payload)))).toBe(HASHES.K1_PAYLOAD)
  expect(canonicalize(normalizeForHash(K4))).toContain('[1,0,1e+21,1e-7,0.1,100,123456789012]')
  expect(canonicalize(normalizeForHash(K4))).toContain('"sources":[]')
})

test('ALX-T44 what is not hashed can be added, changed and removed without a change of K1', () => {
  const beside = fc.dictionary(
    fc.constantFrom('kbHash', 'kbId', 'curator', 'createdAt', 'signature', 'metadata', 'envelopeCid', 'parents', 'fee'),
    fc.anything(),
  )
  const k2 = {
    kbHash: `0x${'0'.repeat(64)}`,
    kbId: 'a',
    curator: 'c',
    createdAt: 'now',
    signature: 's',
    metadata: {},
    envelopeCid: 'b',
  }
  expect(kbHashFromEnvelope({ ...K1, ...k2 })).toBe(HASHES.K1)
  fc.assert(fc.property(beside, members => kbHashFromEnvelope({ ...members, ...K1 }) === HASHES.K1))
})

test('ALX-T45 each member that is hashed changes the hash of K1', () => {
  const changes = [
    { type: 'factual' },
    { domain: 'ops.restore' },
    { sources: [HASHES.K4] },
    { artifactHash: HASHES.K4 },
    { tier: 'verified' },
    { payload: { ...K1.payload, rationale: 'Test restores weekly.' } },
    { derivation: K3.derivation },
  ]
  const hashes = changes.map(change => kbHashFromEnvelope({ ...K1, ...change }))
  expect(new Set([...hashes, HASHES.K1]).size).toBe(8)
})

test('ALX-KB-06 sources are a set for the hash, in any order and with repeats, and stay as they were given', () => {
  const sources = [HASHES.K4, HASHES.K1, HASHES.K4]
  expect(kbHashFromEnvelope({ ...K3, sources })).toBe(HASHES.K3)
  expect(kbHashFromEnvelope({ ...K3, sources: [HASHES.K1, HASHES.K4] })).toBe(HASHES.K3)
  expect(sources).toEqual([HASHES.K4, HASHES.K1, HASHES.K4])
})

test('ALX-SDK-03 helpers sort sources, build derived envelopes and order candidates without touching what they are given', () => {
  const unsorted = { sources: [HASHES.K4, HASHES.K1] as const, x: 1 }
  expect(sortSources(unsorted)).toEqual({ sources: [HASHES.K1, HASHES.K4], x: 1 })
  expect(unsorted.sources).toEqual([HASHES.K4, HASHES.K1])

  const bare = (hash: string) => hash.slice(2)
  const derivation = {
    ...K3.derivation,
    type: 'compose',
    inputs: [{ kbId: bare(HASHES.K1), selectors: ['payload.rationale'] }],
  } as const
  const parts = { domain: K3.domain, sources: [bare(HASHES.K4), HASHES.K1], derivation, payload: K3.payload }
  expect(kbHashFromEnvelope(buildDerivedEnvelope({ ...parts, tier: 'verified' }))).toBe(HASHES.K3)
  expect(buildDerivedEnvelope(parts)).toMatchObject({
    tier: 'open',
    type: 'synthesis',
    artifactHash: HASHES.K3_PAYLOAD,
  })

  const candidates = [
    { kbId: '0xB', blockNumber: 1, logIndex: 1 },
    { kbId: '0xa', blockNumber: 2, logIndex: 0 },
    { kbId: '0xa', blockNumber: 1, logIndex: 1 },
    { kbId: '0xc', blockNumber: 1, logIndex: 0 },
  ]
  expect(candidates.sort(compareCandidates).map(({ kbId, blockNumber }) => kbId + blockNumber)).toEqual([
    '0xc1',
    '0xa1',
    '0xB1',
    '0xa2',
  ])
  expect(
    compareCandidates({ kbId: '0xA', blockNumber: 1, logIndex: 1 }, { kbId: '0xa', blockNumber: 1, logIndex: 1 }),
  ).toBe(0)
})

test('ALX-KB-15 verifying recomputes both hashes and compares what there is to compare', () => {
  const { artifactHash: _, ...plain } = K1
  const hashes = { kbHash: HASHES.K1, artifactHash: HASHES.K1_PAYLOAD }
  expect(verifyKBArtifact({ manifest: K1 })).toEqual({ valid: true, ...hashes })
  expect(verifyKBArtifact({ manifest: { ...K1, kbHash: HASHES.K1 }, expectedKbHash: HASHES.K1 })).toMatchObject({
    valid: true,
  })
  expect(verifyKBArtifact({ manifest: { ...K1, kbHash: HASHES.K4 } })).toEqual({ valid: false, ...hashes })
  expect(verifyKBArtifact({ manifest: K1, expectedKbHash: HASHES.K4 })).toMatchObject({ valid: false })
  const bytes = Uint8Array.of(1, 2, 3)
  expect(verifyKBArtifact({ manifest: K1, artifact: bytes })).toMatchObject({
    valid: false,
    artifactHash: artifactHashFromBytes(bytes),
  })
  expect(verifyKBArtifact({ manifest: plain, artifact: bytes })).toMatchObject({ valid: true })
  expect(verifyKBArtifact({ manifest: K1, artifact: K1.payload })).toMatchObject({ valid: true })
})
