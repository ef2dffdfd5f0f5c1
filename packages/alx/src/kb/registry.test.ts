import { canonicalize, kbHashFromEnvelope } from '@alx/protocol'
import { expect, test } from 'vitest'
import { codeOf, must, OWNER, openKnowledge, U, V } from '../testing/knowledge.ts'
import { factual, HASHES, K1, presenting } from '../testing/known-blocks.ts'
import { libraryFailure } from '../testing/memory-library.ts'

const CID_OF_K1 = 'bafkreihkke3ybawj4smv3qrt6szrwwyy24vswefzx4qmkavi5fdtlg5ezq'

test('ALX-KB-14 what was registered is read as it was, by everybody, with its first curator and label', async () => {
  const { knowledge, library } = await openKnowledge()
  const first = await knowledge.register(presenting(K1, { kbId: 'restores' }), U)
  expect(first).toEqual({
    ok: true,
    value: { kbHash: HASHES.K1, kbId: 'restores', cidV1: CID_OF_K1, isNew: true },
  })
  expect(await knowledge.register(presenting(K1), U)).toMatchObject({ value: { isNew: false, kbId: 'restores' } })
  const other = presenting({ ...K1, curator: 'V', createdAt: 'now' }, { kbId: 'other', queryFee: '7' })
  expect(await knowledge.register(other, V)).toMatchObject({ value: { isNew: false, kbId: 'restores' } })
  expect(library.records.map(({ type, by }) => [type, by])).toEqual([['knowledge_block', 'U']])
  expect(must(await knowledge.read(HASHES.K1, V))).toEqual({
    kbHash: HASHES.K1,
    kbId: 'restores',
    envelope: K1,
    curator: 'U',
    createdAt: expect.stringMatching(/^2026-01-01T00:00:00\.\d{3}Z$/),
    status: 'active',
    attribution: [],
    queryFee: '0',
  })
})

const A = `0x${'a'.repeat(64)}`

test('ALX-KB-12 registrations of one block at the same time make one record, and one of them is new', async () => {
  const { knowledge, library } = await openKnowledge()
  const all = await Promise.all(
    [U, V, U, V, U].map((by, at) => knowledge.register(presenting(K1, { kbId: `${at}` }), by)),
  )
  const answers = all.map(must)
  expect(answers.map(({ isNew }) => isNew)).toEqual([true, false, false, false, false])
  expect(new Set(answers.map(({ kbId }) => kbId))).toEqual(new Set(['0']))
  expect(library.records).toHaveLength(1)
})

test('ALX-KB-13 where two processes registered a block at once, the first record counts, here and after a start', async () => {
  const { knowledge, library, clock } = await openKnowledge()
  must(await knowledge.register(presenting(K1, { kbId: 'first' }), U))
  library.put({ ...library.records[0]!, by: 'V' })
  const again = await openKnowledge({ library, clock })
  for (const one of [knowledge, again.knowledge])
    expect(await one.read(HASHES.K1, U)).toMatchObject({ value: { curator: 'U', kbId: 'first' } })
})

test('ALX-KB-12 a library that cannot be written refuses for the moment, says nothing of itself, and can be asked again', async () => {
  const { knowledge, library } = await openKnowledge()
  library.refuse = () => libraryFailure()
  const refused = await knowledge.register(presenting(K1), U)
  expect(refused).toMatchObject({ ok: false, error: { code: 'UPSTREAM_UNAVAILABLE', retryable: true } })
  expect(JSON.stringify(refused)).not.toContain('/somewhere')
  library.refuse = () => undefined
  expect(await knowledge.register(presenting(K1), U)).toMatchObject({ value: { isNew: true } })
})

test('ALX-KB-14 a malformed hash, an unknown one and one that the reader may not see', async () => {
  const { knowledge } = await openKnowledge()
  const secret = must(await knowledge.register(presenting(factual('secret', { tier: 'restricted' })), U)).kbHash
  expect(codeOf(await knowledge.read(secret.toUpperCase(), V))).toBe('INVALID_REQUEST')
  const [unknown, unreadable] = [await knowledge.read(A, V), await knowledge.read(secret, V)]
  expect(JSON.stringify(unreadable).replaceAll(secret, A)).toBe(JSON.stringify(unknown))
  expect(codeOf(unknown)).toBe('KB_NOT_FOUND')
  expect(codeOf(await knowledge.read(secret, U))).toBe('ok')
})

test('a restricted block is its curator’s in every way, until they share it', async () => {
  const { knowledge } = await openKnowledge()
  const envelope = factual('the secret recipe', { tier: 'restricted' })
  const secret = must(await knowledge.register(presenting(envelope, { kbId: 'mine' }), U)).kbHash
  const child = presenting(factual('child', { sources: [secret] }))
  const codes = async () => [
    codeOf(await knowledge.read(secret, V)),
    codeOf(await knowledge.lineage(secret, 'ancestors', V)),
    codeOf(await knowledge.settle({ queryId: 'q', kbHash: secret, amount: '0' }, V)),
    codeOf(await knowledge.register(child, V)),
    codeOf(await knowledge.export(V, secret)),
    codeOf(await knowledge.artifact(V, secret, 'selected')),
  ]
  const hidden = Array.from({ length: 6 }, () => 'KB_NOT_FOUND')
  expect(await codes()).toEqual(hidden.with(3, 'UNREGISTERED_SOURCE'))
  expect(must(await knowledge.search(V, 'secret recipe'))).toEqual([])
  expect(must(knowledge.list(V)).blocks).toEqual([])
  // Whoever has the same content learns neither label nor more.
  expect(await knowledge.register(presenting(envelope), V)).toMatchObject({ value: { isNew: false, kbId: null } })
  for (const act of ['share', 'deprecate', 'trust'] as const)
    expect(codeOf(await knowledge.act(V, secret, act))).toBe('KB_NOT_FOUND')

  must(await knowledge.act(U, secret, 'share'))
  expect(await codes()).toEqual(Array.from({ length: 6 }, () => 'ok'))
  expect(must(await knowledge.search(V, 'secret recipe'))).toMatchObject([{ kbHash: secret, shared: true }])
})

test('curators deprecate and share, the owner slashes and trusts, and what holds already is not recorded again', async () => {
  const { knowledge, library, clock } = await openKnowledge()
  const { kbHash } = must(await knowledge.register(presenting(K1), U))
  for (const by of [V, OWNER])
    for (const act of ['deprecate', 'share'] as const)
      expect(codeOf(await knowledge.act(by, kbHash, act))).toBe('UNAUTHORIZED')
  for (const by of [U, V])
    for (const act of ['slash', 'trust', 'distrust'] as const)
      expect(codeOf(await knowledge.act(by, kbHash, act))).toBe('UNAUTHORIZED')
  expect(library.records).toHaveLength(1)

  const statuses: string[] = []
  for (const [by, act] of [
    [U, 'deprecate'],
    [U, 'deprecate'],
    [OWNER, 'slash'],
    [OWNER, 'slash'],
    [U, 'deprecate'],
  ] as const)
    statuses.push(must(await knowledge.act(by, kbHash, act, 'why')).status)
  expect(statuses).toEqual(['deprecated', 'deprecated', 'slashed', 'slashed', 'slashed'])
  expect(library.records.slice(1).map(({ by, body }) => [by, body])).toEqual([
    ['U', { kbHash, act: 'deprecate', reason: 'why' }],
    ['the-owner', { kbHash, act: 'slash', reason: 'why' }],
  ])
  const again = await openKnowledge({ library, clock })
  expect(await again.knowledge.read(kbHash, U)).toMatchObject({ value: { status: 'slashed', envelope: K1 } })
  expect(codeOf(await knowledge.act(U, kbHash, 'share', 'x'.repeat(2001)))).toBe('INVALID_REQUEST')
})

test('what was made here may be executed by those for whom it was made, whoever registered it first', async () => {
  const { knowledge, library, clock } = await openKnowledge()
  const plan = factual('a plan', { tier: 'restricted' })
  const { kbHash } = must(await knowledge.register(presenting(plan), V))
  expect([knowledge.mayExecute(V, kbHash), knowledge.mayExecute(U, kbHash)]).toEqual([false, false])
  const made = await Promise.all([
    knowledge.make({ by: U, user: 'U' }, plan),
    knowledge.make({ by: U, user: 'U' }, plan),
  ])
  expect(made.map(one => must(one).isNew)).toEqual([false, false])
  expect(library.records).toHaveLength(2)
  expect(codeOf(await knowledge.read(kbHash, U))).toBe('ok')
  expect(knowledge.mayExecute(U, kbHash)).toBe(true)
  expect(codeOf(await knowledge.read(kbHash, OWNER))).toBe('KB_NOT_FOUND')

  // After a crash, `system` finishes what the run of U began.
  const result = factual('a result', { tier: 'restricted', sources: [kbHash] })
  const late = must(await knowledge.make({ by: 'system', user: 'U' }, result))
  expect(late.isNew).toBe(true)
  const again = await openKnowledge({ library, clock })
  expect(await again.knowledge.read(late.kbHash, U)).toMatchObject({ value: { curator: 'U' } })
  expect(again.knowledge.mayExecute(U, kbHash)).toBe(true)
})

test('ALX-KB-15 verifying compares whatever can be compared, and needs no registration', async () => {
  const { knowledge } = await openKnowledge()
  const payloadHash = K1.artifactHash!
  const verified = (envelope: object, more: object = {}) => knowledge.verify({ ...presenting(envelope), ...more })
  const good = { ok: true, value: { valid: true, kbHash: HASHES.K1, artifactHash: payloadHash } }
  expect(await verified(K1)).toEqual(good)
  expect(await verified({ ...K1, kbHash: HASHES.K1 }, { expectedKbHash: HASHES.K1 })).toEqual(good)
  expect(await verified(K1, { artifactBase64: Buffer.from(canonicalize(K1.payload)).toString('base64') })).toEqual(good)
  for (const bad of [
    await verified({ ...K1, kbHash: HASHES.K4 }),
    await verified(K1, { expectedKbHash: HASHES.K4 }),
    await verified(K1, { artifactBase64: 'AAAA' }),
    await verified({ ...K1, artifactHash: HASHES.K4 }),
  ])
    expect(bad).toMatchObject({ ok: true, value: { valid: false } })
  expect(codeOf(await verified({ ...K1, payload: { a: null } }))).toBe('INVALID_ENVELOPE')
})

test('ALX-KB-05 what the canonical form of ALX allows comes back as it was, whatever that of the record does with it', async () => {
  const nested = (levels: number): unknown => (levels === 0 ? 'end' : { in: nested(levels - 1) })
  const odd = JSON.parse('{"__proto__":{"x":1},"constructor":"c","\\ufb33":1,"\\ud83d\\ude00":-0,"n":1e21}')
  const { knowledge, library, clock } = await openKnowledge()
  for (const more of [{ deep: nested(61) }, { odd }, { flat: nested(3) }]) {
    const payload = { type: 'factual', ...more }
    const { kbHash } = must(await knowledge.register(presenting(factual('', { payload })), U))
    const again = await openKnowledge({ library, clock })
    const { envelope } = must(await again.knowledge.read(kbHash, U))
    expect(kbHashFromEnvelope(envelope)).toBe(kbHash)
    expect(canonicalize(envelope.payload)).toBe(canonicalize(payload))
  }
  expect(library.records.map(({ body }) => Object.hasOwn(body, 'envelope'))).toEqual([false, expect.any(Boolean), true])
  const tooDeep = factual('', { payload: { type: 'factual', deep: nested(64) } })
  expect(codeOf(await knowledge.register(presenting(tooDeep), U))).toBe('INVALID_ENVELOPE')
})
