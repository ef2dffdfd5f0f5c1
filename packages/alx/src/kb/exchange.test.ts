import { expect, test } from 'vitest'
import { codeOf, must, OWNER, openKnowledge, U, V } from '../testing/knowledge.ts'
import { factual, HASHES, K1, K3, K4, presenting } from '../testing/known-blocks.ts'

async function exported() {
  const { knowledge } = await openKnowledge()
  must(await knowledge.register(presenting(K1, { kbId: 'restores' }), U))
  must(await knowledge.register(presenting(K4), V))
  const attribution = [{ parentHash: HASHES.K1, royaltyShareBps: 4000, relationship: 'extd' as const }]
  must(await knowledge.register(presenting(K3, { attribution, queryFee: '12' }), U))
  must(await knowledge.act(OWNER, HASHES.K3, 'trust'))
  return { knowledge, text: must(await knowledge.export(V, HASHES.K3)) }
}

test('an exported block brings its sources along and is taken in by another Parley, which needs nothing else', async () => {
  const { text } = await exported()
  const { knowledge, library } = await openKnowledge()
  const taken = must(await knowledge.import(OWNER, text))
  expect(taken.map(({ isNew }) => isNew)).toEqual([true, true, true])
  expect(taken.at(-1)?.kbHash).toBe(HASHES.K3)
  expect(must(await knowledge.read(HASHES.K3, V))).toMatchObject({
    envelope: { ...K3, sources: [HASHES.K1, HASHES.K4] },
    curator: OWNER.id,
    queryFee: '12',
    attribution: [{ parentHash: HASHES.K1, royaltyShareBps: 4000, relationship: 'extd' }],
  })
  expect(must(await knowledge.read(HASHES.K1, V)).kbId).toBe('restores')
  expect(knowledge.mayExecute(OWNER, HASHES.K3)).toBe(false)
  // Who registered it where it came from is kept, as a claim.
  expect(library.records.at(-1)?.body.origin).toMatchObject({ curator: 'U' })
  expect(must(await knowledge.import(U, text)).map(({ isNew }) => isNew)).toEqual([false, false, false])
  expect(library.records).toHaveLength(3)
})

test.each<[string, (text: string) => string]>([
  ['is no JSON', text => text.slice(0, -10)],
  ['is of another format', text => text.replace('parley-kb/1', 'parley-kb/2')],
  ['has an altered block', text => text.replace('Monthly.', 'Weekly.')],
  ['has another hash', text => text.replaceAll(HASHES.K1, HASHES.K1.replace('25cd', '25ce'))],
  ['has an altered fee that is none', text => text.replace('"queryFee":"12"', '"queryFee":"-1"')],
  ['gives away more than there is', text => text.replace('"royaltyShareBps":4000', '"royaltyShareBps":10001')],
  [
    'lacks a source',
    text => {
      const file = JSON.parse(text)
      return JSON.stringify({ ...file, blocks: file.blocks.slice(1) })
    },
  ],
  [
    'has a block before its source',
    text => {
      const file = JSON.parse(text)
      return JSON.stringify({ ...file, blocks: file.blocks.toReversed() })
    },
  ],
])('a file that %s changes nothing', async (_what, spoil) => {
  const { text } = await exported()
  const { knowledge, library } = await openKnowledge()
  expect(codeOf(await knowledge.import(U, spoil(text)))).toBe('INVALID_REQUEST')
  expect(library.records).toEqual([])
})

test('what the reader may not see is not exported, be it the block or one of its sources', async () => {
  const { knowledge } = await openKnowledge()
  const secret = must(await knowledge.register(presenting(factual('secret', { tier: 'restricted' })), U)).kbHash
  const open = must(await knowledge.register(presenting(factual('open', { sources: [secret] })), U)).kbHash
  for (const kbHash of [secret, open]) {
    expect(codeOf(await knowledge.export(V, kbHash))).toBe('KB_NOT_FOUND')
    expect(codeOf(await knowledge.export(U, kbHash))).toBe('ok')
  }
})

test('a lineage that forks and meets again is exported with each block once', async () => {
  const { knowledge } = await openKnowledge()
  const add = async (text: string, ...sources: string[]) =>
    must(await knowledge.register(presenting(factual(text, { sources })), U)).kbHash
  let top = await add('bottom')
  for (let rung = 0; rung < 20; rung++)
    top = await add(`top ${rung}`, await add(`l ${rung}`, top), await add(`r ${rung}`, top))
  const file = JSON.parse(must(await knowledge.export(U, top)))
  expect(file.blocks).toHaveLength(61)
  const other = await openKnowledge()
  expect(must(await other.knowledge.import(U, JSON.stringify(file)))).toHaveLength(61)
})
