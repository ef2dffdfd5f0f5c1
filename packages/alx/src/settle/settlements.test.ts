import type { AttributionLink } from '@alx/protocol'
import { parseSettlementRecord } from '@alx/protocol'
import { computeSettlement } from '@alx/protocol/economics'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codeOf, type Ground, must, OWNER, openKnowledge, U, user, V } from '../testing/knowledge.ts'
import { factual, HASHES, K1, K3, K4, presenting } from '../testing/known-blocks.ts'
import { libraryFailure } from '../testing/memory-library.ts'

const CURATORS = { a: user('cur-a'), b: user('cur-b'), q: user('cur-q') }
const LINKS = [
  { parentHash: HASHES.K1, royaltyShareBps: 4000 },
  { parentHash: HASHES.K4, royaltyShareBps: 1000 },
]

/** K3 from K1 and K4, each with a curator of its own. */
async function registered({ knowledge }: Ground, queryFee: string, attribution: AttributionLink[] = LINKS) {
  must(await knowledge.register(presenting(K1), CURATORS.a))
  must(await knowledge.register(presenting(K4), CURATORS.b))
  return knowledge.register(presenting(K3, { queryFee, attribution }), CURATORS.q)
}

test('ALX-SETTLE-03 a registration whose links do not add up registers nothing, and nobody is paid for what is refused', async () => {
  const ground = await openKnowledge()
  const { knowledge } = ground
  const bps = (...shares: number[]) => LINKS.map((link, at) => ({ ...link, royaltyShareBps: shares[at]! }))
  const answer = async (links: AttributionLink[]) => codeOf(await registered(ground, '100', links))
  expect(await answer(bps(10_000, 1))).toBe('SHARES_EXCEED_DISTRIBUTABLE')
  expect(await answer(Array.from({ length: 9 }, () => LINKS[0]!))).toBe('TOO_MANY_PARENTS')
  expect(await answer([LINKS[0]!, LINKS[0]!])).toBe('DUPLICATE_PARENT')
  expect(codeOf(await knowledge.read(HASHES.K3, U))).toBe('KB_NOT_FOUND')
  expect(await answer(LINKS)).toBe('ok')

  const settle = async (kbHash: string, amount: string) =>
    codeOf(await knowledge.settle({ queryId: 'q1', kbHash, amount }, U))
  expect(await settle(HASHES.K3, '99')).toBe('INCORRECT_FEE')
  expect(await settle(`0x${'0'.repeat(64)}`, '100')).toBe('KB_NOT_FOUND')
  must(await knowledge.act(OWNER, HASHES.K3, 'slash'))
  expect(await settle(HASHES.K3, '99')).toBe('KB_IS_SLASHED')
  expect(knowledge.balances()).toEqual([])
})

test('ALX-SETTLE-07 a settlement has the numbers of the sheet, and is there again after a start', async () => {
  const ground = await openKnowledge()
  const { knowledge, library } = ground
  must(await registered(ground, '1000000'))
  const input = { queryId: 'q-1', kbHash: HASHES.K3, amount: '1000000' }
  const first = must(await knowledge.settle(input, U))
  expect(first.isNew).toBe(true)
  const S1 = { protocolFee: '20000', distributable: '980000', curatorAmount: '490000' }
  expect(first.body).toMatchObject({
    ...input,
    ...S1,
    protocolFeeBps: 200,
    settlementHash: '0xad89dba77f0cb7170d7f8322b96a14b474198b1990345606e2102d509abac34c',
  })
  expect(first.body.ledger).toContainEqual({
    recipient: 'cur-q',
    amount: '490000',
    leafHash: '0xf662cdac04690deb5ff1f581ef6e6c3c61c332f8535e265760c0fb051b1c5262',
  })
  const wire = {
    ok: true,
    correlationId: 'c',
    protocol: { protocol_version: '1.1', capabilities: [] },
    ...first.body,
  }
  expect(parseSettlementRecord(wire, 'emit').ok).toBe(true)

  const balances = [
    { recipient: 'cur-a', amount: '392000' },
    { recipient: 'cur-b', amount: '98000' },
    { recipient: 'cur-q', amount: '490000' },
  ]
  expect(knowledge.balances()).toEqual(balances)
  // Also when the block is slashed by now.
  must(await knowledge.act(OWNER, HASHES.K3, 'slash'))
  expect(await knowledge.settle(input, U)).toEqual({ ok: true, value: { body: first.body, isNew: false } })
  expect(codeOf(await knowledge.settle({ ...input, kbHash: HASHES.K1 }, U))).toBe('IDEMPOTENCY_CONFLICT')
  expect(codeOf(await knowledge.settle({ ...input, amount: '1' }, U))).toBe('IDEMPOTENCY_CONFLICT')
  expect(knowledge.balances()).toEqual(balances)
  expect(library.records.filter(({ type }) => type === 'settlement')).toHaveLength(1)

  const again = await openKnowledge({ library, clock: ground.clock })
  expect(await again.knowledge.readSettlement('q-1', U)).toEqual({ ok: true, value: first.body })
  expect(again.knowledge.balances()).toEqual(balances)
})

test('ALX-SETTLE-07 a settlement repeated with members that nobody knows is the first one', async () => {
  const { knowledge, library } = await openKnowledge()
  must(await knowledge.register(presenting(K1, { queryFee: '5' }), V))
  const input = { queryId: 'q', kbHash: HASHES.K1, amount: '5' }
  const first = must(await knowledge.settle(input, U))
  const more = { ...input, x: 1, protocol: { protocol_version: '1.0', capabilities: [] } }
  const again = must(await knowledge.settle(more, U))
  expect(again).toEqual({ body: first.body, isNew: false })
  expect(knowledge.balances()).toEqual([{ recipient: 'V', amount: '5' }])
  expect(library.records).toHaveLength(2)
})

test('ALX-SETTLE-07 settlements of one query at the same time make one record, and pay once', async () => {
  const { knowledge, library } = await openKnowledge()
  must(await knowledge.register(presenting(K1, { queryFee: '100' }), V))
  const input = { queryId: 'q', kbHash: HASHES.K1, amount: '100' }
  const all = await Promise.all(Array.from({ length: 5 }, () => knowledge.settle(input, U)))
  expect(all.map(one => must(one).isNew).sort()).toEqual([false, false, false, false, true])
  expect(new Set(all.map(one => JSON.stringify(must(one).body))).size).toBe(1)
  expect(library.records).toHaveLength(2)
  // Two processes: the first record counts.
  library.put({ ...library.records[1]!, body: { ...library.records[1]!.body, amount: '7' } })
  expect(codeOf(await knowledge.settle(input, U))).toBe('ok')
  expect(knowledge.balances()).toEqual([{ recipient: 'V', amount: '98' }])
})

test('ALX-SETTLE-07 paused settlements, those of others and those that cost nothing', async () => {
  let isPaused = false
  const { knowledge, library } = await openKnowledge({ isSettlementPaused: () => isPaused, protocolFeeBps: 0 })
  must(await knowledge.register(presenting(K1), V))
  const free = { queryId: 'q', kbHash: HASHES.K1, amount: '0' }
  expect(must(await knowledge.settle(free, U)).body).toMatchObject({
    protocolFeeBps: 0,
    payouts: [],
    ledger: [],
  })
  expect(knowledge.reputation(U, HASHES.K1)).toEqual({ score: 0, queryVolume: 0, endorsements: 0 })
  isPaused = true
  expect(codeOf(await knowledge.settle(free, U))).toBe('ok')
  expect(codeOf(await knowledge.settle({ ...free, queryId: 'other', kbHash: HASHES.K4 }, U))).toBe('PROTOCOL_PAUSED')
  isPaused = false
  expect(codeOf(await knowledge.readSettlement('q', V))).toBe('SETTLEMENT_NOT_FOUND')
  expect(codeOf(await knowledge.readSettlement('other', U))).toBe('SETTLEMENT_NOT_FOUND')
  // Another user's query may have the same id.
  expect(must(await knowledge.settle(free, V)).isNew).toBe(true)
  library.refuse = () => libraryFailure()
  expect(codeOf(await knowledge.settle({ ...free, queryId: 'later' }, U))).toBe('UPSTREAM_UNAVAILABLE')
  expect(codeOf(await knowledge.readSettlement('later', U))).toBe('SETTLEMENT_NOT_FOUND')
})

test('ALX-SETTLE-04 the share of a slashed parent stays with the curator', async () => {
  const ground = await openKnowledge()
  must(await registered(ground, '1000000'))
  must(await ground.knowledge.act(OWNER, HASHES.K1, 'slash'))
  const { body: settlement } = must(
    await ground.knowledge.settle({ queryId: 'q', kbHash: HASHES.K3, amount: '1000000' }, U),
  )
  expect(settlement).toMatchObject({
    curatorAmount: '882000',
    settlementHash: '0x35ccd182bfd7f51a82b396448f992c39c3fc012cf1b153832ceffca2079a3ca8',
  })
})

test('ALX-SETTLE-05 whatever is settled, in whatever order, balances and fees add up to what was paid', async () => {
  const share = fc.integer({ min: 0, max: 5000 })
  const block = fc.record({ fee: fc.bigInt({ min: 0n, max: 10n ** 30n }), shares: fc.tuple(share, share) })
  const runs = { numRuns: process.env.PARLEY_SOAK ? 200 : 8 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(block, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(5), { maxLength: 20 }),
      async (all, queries) => {
        const { knowledge, library, clock } = await openKnowledge()
        const parents: string[] = []
        for (const [at, { fee, shares }] of all.entries()) {
          const sources = parents.slice(-2)
          const attribution = sources.map((parentHash, one) => ({ parentHash, royaltyShareBps: shares[one]! }))
          const envelope = factual(`block ${at}`, { sources })
          const input = presenting(envelope, { queryFee: String(fee), attribution })
          parents.push(must(await knowledge.register(input, user(`cur-${at % 3}`))).kbHash)
        }
        const settled = await Promise.all(
          queries.map((query, at) => {
            const one = query % all.length
            return knowledge.settle({ queryId: `q${at}`, kbHash: parents[one]!, amount: String(all[one]!.fee) }, U)
          }),
        )
        const paid = queries.reduce((sum, query) => sum + all[query % all.length]!.fee, 0n)
        const fees = settled.reduce((sum, one) => sum + BigInt(must(one).body.protocolFee), 0n)
        const pending = knowledge.balances().reduce((sum, { amount }) => sum + BigInt(amount), 0n)
        expect(pending + fees).toBe(paid)
        expect(knowledge.balances().every(({ amount }) => BigInt(amount) >= 0n)).toBe(true)
        const again = await openKnowledge({ library, clock })
        expect(again.knowledge.balances()).toEqual(knowledge.balances())
        await Promise.all([knowledge.close(), again.knowledge.close()])
      },
    ),
    runs,
  )
})

test('ALX-SETTLE-06 what is recorded is what the protocol computes', async () => {
  const ground = await openKnowledge()
  must(await registered(ground, '1000000000000000000000007'))
  const input = { queryId: 'q', kbHash: HASHES.K3, amount: '1000000000000000000000007' }
  const { body: settlement } = must(await ground.knowledge.settle(input, U))
  const links = LINKS.map((link, at) => ({ ...link, parentCurator: at === 0 ? 'cur-a' : 'cur-b', eligible: true }))
  expect(settlement).toMatchObject(computeSettlement({ ...input, curator: 'cur-q', links }))
})
