import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HASHES } from '../testing/known-blocks.ts'
import { computePayoutUnits } from './reputation.ts'
import { allocateQueryFee, computeSettlement, ledgerLeafHash, type SettlementLink } from './settlement.ts'

const A = { parentHash: HASHES.K1, parentCurator: 'cur-a', eligible: true }
const B = { parentHash: HASHES.K4, parentCurator: 'cur-b', eligible: true }
const bps = (link: Omit<SettlementLink, 'royaltyShareBps'>, royaltyShareBps: number): SettlementLink => ({
  ...link,
  royaltyShareBps,
})
const small = (digit: number, royaltyShareBps: number): SettlementLink => ({
  parentHash: `0x${'0'.repeat(63)}${digit}`,
  parentCurator: `p${digit}`,
  royaltyShareBps,
  eligible: true,
})
const question = { kbHash: HASHES.K3, curator: 'cur-q' }

test.each<[string, string, SettlementLink[], string, string, string[], string, string]>([
  [
    'S1',
    '1000000',
    [bps(A, 4000), bps(B, 1000)],
    '20000',
    '980000',
    ['392000', '98000'],
    '490000',
    '0xad89dba77f0cb7170d7f8322b96a14b474198b1990345606e2102d509abac34c',
  ],
  [
    'S2',
    '101',
    [small(1, 3333), small(2, 3333), small(3, 3334)],
    '2',
    '99',
    ['32', '32', '33'],
    '2',
    '0xc81c23bbdc349069eb5cd3007563f38df61986903913e0713a92c3e6a586f9c4',
  ],
  [
    'S3',
    '0',
    [bps(A, 4000)],
    '0',
    '0',
    ['0'],
    '0',
    '0xbcbaf5a6498986754c5caedea7a84c8551592fba977ad22021fb9e748759878a',
  ],
  ['S4', '49', [], '0', '49', [], '49', '0x5cf6fa0642853de0746730c62d6b720d115189fa84d4d0e2abb6c239ea284f9b'],
  [
    'S5',
    '1000000000000000000000007',
    [bps(A, 3333), bps(B, 6667)],
    '20000000000000000000000',
    '980000000000000000000007',
    ['326634000000000000000002', '653366000000000000000004'],
    '1',
    '0x44c0d7cb5dd5d07fe345d22e035bd2897b1b3a3505534df3337bed09d52beaa9',
  ],
  [
    'S6',
    '1000000',
    [bps({ ...A, eligible: false }, 4000), bps(B, 1000)],
    '20000',
    '980000',
    ['0', '98000'],
    '882000',
    '0x35ccd182bfd7f51a82b396448f992c39c3fc012cf1b153832ceffca2079a3ca8',
  ],
  [
    'S7',
    '10000',
    [bps(A, 10000)],
    '200',
    '9800',
    ['9800'],
    '0',
    '0xf6fdbabebbabe178c2cd92434307e2f14b574335c2ec2b485924931c42c87391',
  ],
])(
  'ALX-T52 %s settles as the sheet states',
  (_id, amount, links, protocolFee, distributable, royalties, curatorAmount, settlementHash) => {
    const settled = computeSettlement({ ...question, amount, links })
    expect(settled).toMatchObject({ protocolFee, distributable, curatorAmount, settlementHash })
    expect(settled.royalties.map(royalty => royalty.amount)).toEqual(royalties)
  },
)

test('ALX-SETTLE-06 payouts are summed and sorted by recipient, without zeros and without the fee', () => {
  const links = [bps({ ...A, parentCurator: 'cur-q' }, 4000), bps(B, 1000), small(1, 0)]
  expect(computeSettlement({ ...question, amount: '1000000', links })).toMatchObject({
    payouts: [
      { recipient: 'cur-b', amount: '98000' },
      { recipient: 'cur-q', amount: '882000' },
    ],
    royalties: [{ amount: '0' }, { amount: '392000' }, { amount: '98000' }],
  })
})

const terms = fc
  .record({
    amount: fc.bigInt({ min: 0n, max: 10n ** 30n }),
    protocolFeeBps: fc.integer({ min: 0, max: 10_000 }),
    parents: fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), { maxLength: 8 }),
    cuts: fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 8, maxLength: 8 }),
    eligible: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    curators: fc.array(fc.constantFrom('cur-q', 'cur-a', 'cur-b', '\u{1f600}'), { minLength: 8, maxLength: 8 }),
  })
  .map(({ amount, protocolFeeBps, parents, cuts, eligible, curators }) => {
    // The distances between sorted cuts add up to the whole at most.
    const marks = [0, ...cuts.toSorted((a, b) => a - b)]
    const links = parents.map((parent, at) => ({
      parentHash: `0x${parent.toString(16).padStart(64, '0')}`,
      parentCurator: curators[at]!,
      royaltyShareBps: marks[at + 1]! - marks[at]!,
      eligible: eligible[at]!,
    }))
    return { ...question, amount: String(amount), protocolFeeBps, links }
  })

test('ALX-T53 a settlement conserves its amount, pays nothing negative, and does not depend on the order of links', () => {
  fc.assert(
    fc.property(terms, fc.integer({ min: 0, max: 7 }), (given, turn) => {
      const settled = computeSettlement(given)
      const { protocolFee, curatorAmount, royalties, payouts } = settled
      const parts = [protocolFee, curatorAmount, ...royalties.map(({ amount }) => amount)].map(BigInt)
      const total = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n)
      const paid = total(payouts.map(({ amount }) => BigInt(amount)))
      const turned = [...given.links.slice(turn), ...given.links.slice(0, turn)].reverse()
      // Not expect(), which would take longer than all the rest, ten thousand times.
      return (
        total(parts) === BigInt(given.amount) &&
        parts.every(amount => amount >= 0n) &&
        paid === BigInt(given.amount) - BigInt(protocolFee) &&
        JSON.stringify(computeSettlement({ ...given, links: turned })) === JSON.stringify(settled)
      )
    }),
    { numRuns: 10_000 },
  )
})

test.each([
  ['an amount with a sign', { amount: '-1' }],
  ['an amount with a leading zero', { amount: '01' }],
  ['a fee beyond the whole', { amount: '1', protocolFeeBps: 10_001 }],
  ['a fraction of a share', { amount: '1', links: [bps(A, 0.5)] }],
  ['shares beyond the whole', { amount: '1', links: [bps(A, 9000), bps(B, 1001)] }],
  ['a parent with two links', { amount: '1', links: [bps(A, 1), bps(B, 1), bps(A, 2)] }],
])('ALX-SETTLE-05 nothing is computed from %s', (_name, wrong) => {
  expect(() => computeSettlement({ ...question, links: [], ...wrong })).toThrow(RangeError)
})

test('ALX-T57 a fee over several blocks, a ledger leaf and integer payouts are those that the sheet states', () => {
  expect(allocateQueryFee('11', [HASHES.K3, HASHES.K1, HASHES.K4, HASHES.K1])).toEqual({
    ok: true,
    value: [
      { kbHash: HASHES.K1, amount: '4' },
      { kbHash: HASHES.K4, amount: '4' },
      { kbHash: HASHES.K3, amount: '3' },
    ],
  })
  expect(allocateQueryFee('11', [])).toMatchObject({ ok: false, error: { code: 'INVALID_REQUEST' } })
  expect(ledgerLeafHash(HASHES.K3, '490000')).toBe('0xf662cdac04690deb5ff1f581ef6e6c3c61c332f8535e265760c0fb051b1c5262')
  const publishedMs = Date.parse('2026-01-01T00:00:00.000Z')
  const units = (base: string, score: number, days: number) =>
    computePayoutUnits({ base, score, publishedMs, nowMs: publishedMs + days * 86_400_000 })
  expect([
    units('1000000', 600, 0),
    units('1000000', 600, 30),
    units('1000000', 0, 0),
    units('1000000', 250, 45),
    units('7', 1, 1),
    units('1000000', 600, -1),
    units('1000000', 600, 0.99),
  ]).toEqual(['1804000', '902000', '10000', '267816', '0', '1804000', '1804000'])
})
