// The scenarios of section 15 about Knowledge Blocks and settlements, over HTTP and a real library. They assert on what
// is on record as well.
import { kbHashFromEnvelope, parseKbRecord, parseKbRegistration, parseSettlementRecord } from '@alx/protocol'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { KbServer, OWNER } from '../testing/kb-server.ts'
import { U } from '../testing/knowledge.ts'
import { factual, HASHES, K1, K3, K4 } from '../testing/known-blocks.ts'

const bytesOf = (hash: string) => Uint8Array.from(Buffer.from(hash.slice(2), 'hex'))
const LINKS = [
  { parentHash: HASHES.K1, royaltyShareBps: 4000 },
  { parentHash: HASHES.K4, royaltyShareBps: 1000 },
]

/** K3 from K1 and K4, each with a curator of its own. */
async function withFee(queryFee: string) {
  const server = await KbServer.open()
  expect((await server.register(K1, {}, 'cur-a')).status).toBe(201)
  expect((await server.register(K4, {}, 'cur-b')).status).toBe(201)
  expect((await server.register(K3, { queryFee, attribution: LINKS }, 'cur-q')).status).toBe(201)
  return server
}

test('ALX-T46 the same sources in any order hash alike; a repeated one is refused at registration', async () => {
  const repeated = { ...K3, sources: [HASHES.K4, HASHES.K1, HASHES.K4] }
  expect(kbHashFromEnvelope({ ...K3, sources: [HASHES.K1, HASHES.K4] })).toBe(HASHES.K3)
  expect(kbHashFromEnvelope(repeated)).toBe(HASHES.K3)
  const server = await KbServer.open()
  expect(await server.register(repeated)).toMatchObject({ status: 422, code: 'INVALID_ENVELOPE' })
  expect(await server.records()).toEqual([])
})

test('ALX-T49 a block is registered once: 201, then 200 with the first label, whoever asks and whatever is beside it', async () => {
  const server = await KbServer.open()
  const first = await server.register(K1, { kbId: 'restores' })
  expect(first).toMatchObject({ status: 201, body: { kbHash: HASHES.K1, kbId: 'restores', isNew: true } })
  expect(first.body.cidV1).toBe('bafkreihkke3ybawj4smv3qrt6szrwwyy24vswefzx4qmkavi5fdtlg5ezq')
  expect(parseKbRegistration(first.body, 'emit').ok).toBe(true)
  const old = { status: 200, body: { kbHash: HASHES.K1, kbId: 'restores', isNew: false } }
  expect(await server.register(K1, { kbId: 'restores' })).toMatchObject(old)
  expect(await server.register({ ...K1, curator: 'V', createdAt: 1 }, { kbId: 'other' }, 'V')).toMatchObject(old)
  expect((await server.records()).map(({ type, by }) => [type, by])).toEqual([['knowledge_block', 'U']])
  await server.restart()
  expect(await server.register(K1, { kbId: 'third' })).toMatchObject(old)
  const read = await server.get(`/v1/kb/${HASHES.K1}`, 'V')
  expect(read).toMatchObject({ status: 200, body: { envelope: K1, curator: 'U', status: 'active', queryFee: '0' } })
  expect(parseKbRecord(read.body, 'emit').ok).toBe(true)
})

test('ALX-T50 what a registration lacks is answered with the first check that fails', async () => {
  const server = await KbServer.open()
  const answer = async (envelope: object) => (await server.register(envelope)).code
  expect(await answer(K3)).toBe('UNREGISTERED_SOURCE')
  expect(await answer({ ...K1, kbHash: HASHES.K4 })).toBe('KB_HASH_MISMATCH')
  expect(await answer({ ...K1, payload: { ...K1.payload, type: 'rubric' } })).toBe('SCHEMA_INVALID')
  expect(await server.records()).toEqual([])
  expect([await answer(K1), await answer(K4)]).toEqual([undefined, undefined])
  expect(await answer({ ...K3, sources: [HASHES.K4] })).toBe('INVALID_ENVELOPE')
  expect(await server.records()).toHaveLength(2)
})

test('ALX-T51 a block among its own sources is refused', async () => {
  const server = await KbServer.open({ hash: () => bytesOf(HASHES.K1) })
  expect(await server.register(K3)).toMatchObject({ status: 422, code: 'SELF_REFERENCE' })
  expect(await server.records()).toEqual([])
})

test('ALX-T54 links that give away too much, and settlements that do not fit their block, are refused', async () => {
  const server = await withFee('100')
  const answer = async (...attribution: object[]) =>
    (await server.register({ ...K3, domain: 'x' }, { attribution })).code
  const [first, second] = LINKS as [object, object]
  const nine = Array.from({ length: 9 }, () => first)
  expect(await answer({ ...first, royaltyShareBps: 10_000 }, { ...second, royaltyShareBps: 1 })).toBe(
    'SHARES_EXCEED_DISTRIBUTABLE',
  )
  expect(await answer(...nine)).toBe('TOO_MANY_PARENTS')
  expect(await answer(first, first)).toBe('DUPLICATE_PARENT')
  const settle = async (kbHash: string, amount: string) =>
    (await server.post('/v1/settlements', { queryId: 'q', kbHash, amount })).code
  expect(await settle(HASHES.K3, '99')).toBe('INCORRECT_FEE')
  expect(await settle(`0x${'0'.repeat(64)}`, '100')).toBe('KB_NOT_FOUND')
  expect(await server.knowledge.act(OWNER, HASHES.K3, 'slash')).toMatchObject({ ok: true })
  expect(await settle(HASHES.K3, '100')).toBe('KB_IS_SLASHED')
  expect((await server.records()).map(({ type }) => type)).toEqual([
    ...Array.from({ length: 3 }, () => 'knowledge_block'),
    'kb.status',
  ])
})

test('ALX-T55 a settled query is answered with its first result and pays nobody twice', async () => {
  const server = await withFee('1000000')
  const query = { queryId: 'q-1', kbHash: HASHES.K3, amount: '1000000' }
  const first = await server.post('/v1/settlements', query)
  const { correlationId: _, ...settled } = first.body
  expect(first.status).toBe(201)
  expect(parseSettlementRecord(first.body, 'emit').ok).toBe(true)
  expect(settled).toMatchObject({
    curatorAmount: '490000',
    settlementHash: '0xad89dba77f0cb7170d7f8322b96a14b474198b1990345606e2102d509abac34c',
  })
  const balances = server.knowledge.balances()
  expect(balances.map(({ amount }) => amount)).toEqual(['392000', '98000', '490000'])
  for (const again of [() => Promise.resolve(), () => server.restart()]) {
    await again()
    expect(await server.post('/v1/settlements', query)).toMatchObject({ status: 200, body: settled })
    expect(await server.get('/v1/settlements/q-1')).toMatchObject({ status: 200, body: settled })
    expect(await server.post('/v1/settlements', { ...query, kbHash: HASHES.K1 })).toMatchObject({
      status: 409,
      code: 'IDEMPOTENCY_CONFLICT',
    })
    expect(server.knowledge.balances()).toEqual(balances)
  }
  expect(await server.get('/v1/settlements/q-1', 'V')).toMatchObject({ status: 404, code: 'SETTLEMENT_NOT_FOUND' })
  expect((await server.records()).filter(({ type }) => type === 'settlement')).toHaveLength(1)
})

test('ALX-KB-16 lineage over HTTP counts the paths of a graph', async () => {
  const server = await KbServer.open()
  const add = async (text: string, ...sources: unknown[]) =>
    String((await server.register(factual(text, { sources: sources as string[] }))).body.kbHash)
  const a = await add('A')
  const b = await add('B', a)
  const c = await add('C', a, b)
  const { status, body } = await server.get(`/v1/kb/${c}/lineage`)
  const paths = (body.nodes as { kbHash: string; pathCount: string }[]).map(node => [node.kbHash, node.pathCount])
  expect(status).toBe(200)
  expect(Object.fromEntries(paths)).toEqual({ [a]: '2', [b]: '1', [c]: '1' })
  expect(body.leaves).toEqual([a])
  expect(await server.get(`/v1/kb/${a}/lineage?direction=descendants`)).toMatchObject({
    body: { root: a, leaves: [c] },
  })
  expect(await server.get(`/v1/kb/${a}/lineage?direction=up`)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' })
})

test('ALX-T70 a settlement repeated with members that nobody knows is a replay, without a second payout', async () => {
  const server = await withFee('5')
  const query = { queryId: 'q', kbHash: HASHES.K3, amount: '5' }
  const { correlationId: _, ...settled } = (await server.post('/v1/settlements', query)).body
  const balances = server.knowledge.balances()
  const more = { ...query, x: { y: 1 }, protocol: { protocol_version: '1.0' } }
  expect(await server.post('/v1/settlements', more)).toMatchObject({ status: 200, body: settled })
  expect(server.knowledge.balances()).toEqual(balances)
  expect(await server.records()).toHaveLength(4)
})

test('ALX-T71 members beside the envelope are ignored, and the old name of the sources is warned of', async () => {
  const server = await KbServer.open()
  const registered = await server.register({ ...K1, parents: [HASHES.K4], x: 1, metadata: { a: null } })
  expect(registered).toMatchObject({ status: 201, body: { kbHash: HASHES.K1, warnings: ['PARENTS_IGNORED'] } })
  expect((await server.records())[0]?.body.envelope).toEqual(K1)
})

test('ALX-T73 a circle in the lineage is found when it is walked, and never registered', async () => {
  const [A, B] = [`0x${'a'.repeat(64)}`, `0x${'b'.repeat(64)}`]
  const server = await KbServer.open({ hash: () => bytesOf(A) })
  const edge = async (kbHash: string, source: string) => {
    const body = {
      kbHash,
      envelope: { ...factual('preloaded', { sources: [source] }) },
      attribution: [],
      queryFee: '0',
    }
    unwrap(await server.library.append({ type: 'knowledge_block', by: U, body }))
  }
  await edge(B, A)
  await server.restart()
  const looped = factual('new', { sources: [B] })
  expect(await server.register(looped)).toMatchObject({ status: 422, code: 'CYCLE_DETECTED' })
  expect(await server.records()).toHaveLength(1)
  await edge(A, B)
  await server.restart()
  expect(await server.get(`/v1/kb/${A}/lineage`)).toMatchObject({ status: 422, code: 'CYCLE_DETECTED' })
})

test('ALX-KB-12 a block as large as a request may be is registered, and is the same after a start', async () => {
  const server = await KbServer.open()
  const large = factual('"quoted" text \n'.repeat(50_000))
  const registered = await server.register(large)
  expect(registered.status).toBe(201)
  await server.restart()
  expect(await server.get(`/v1/kb/${registered.body.kbHash}`)).toMatchObject({ body: { envelope: large } })
})
