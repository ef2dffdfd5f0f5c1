import { canonicalize, kbHashFromEnvelope } from '@alx/protocol'
import { expect, test } from 'vitest'
import { codeOf, must, openKnowledge, U, V } from '../testing/knowledge.ts'
import { factual, presenting } from '../testing/known-blocks.ts'
import { MemoryLibrary } from '../testing/memory-library.ts'
import { kbLimits } from './limits.ts'

/** Registers without the checks, and without a wait for each: a library that somebody filled before. */
const filled = () => {
  const library = new MemoryLibrary()
  const put = (text: string, ...sources: string[]) => {
    const envelope = factual(text, { sources: sources.sort() })
    const kbHash = kbHashFromEnvelope(envelope)
    const body = { kbHash, text: canonicalize(envelope), attribution: [], queryFee: '0' }
    library.put({ type: 'knowledge_block', by: 'U', body })
    return kbHash
  }
  return { library, put }
}

test('ALX-KB-16 the lineage of registered blocks counts paths in both directions, 2^200 of them in no time', async () => {
  const { library, put } = filled()
  const a = put('A')
  const b = put('B', a)
  const c = put('C', a, b)
  const bottom = put('rung 200')
  let top = bottom
  for (let rung = 199; rung >= 0; rung--) top = put(`rung ${rung}`, put(`left ${rung}`, top), put(`right ${rung}`, top))
  const { knowledge } = await openKnowledge({ library })

  const byDepth = (...nodes: [string, number, string][]) =>
    nodes
      .sort(([x, d], [y, e]) => d - e || (x < y ? -1 : 1))
      .map(([kbHash, depth, pathCount]) => ({ kbHash, depth, pathCount }))
  const edges = [
    { from: b, to: a },
    { from: c, to: a },
    { from: c, to: b },
  ].sort((x, y) => (x.from + x.to < y.from + y.to ? -1 : 1))
  expect(await knowledge.lineage(c, 'ancestors', V)).toEqual({
    ok: true,
    value: { root: c, nodes: byDepth([c, 0, '1'], [a, 1, '2'], [b, 1, '1']), edges, leaves: [a] },
  })
  expect(await knowledge.lineage(a, 'descendants', V)).toEqual({
    ok: true,
    value: { root: a, nodes: byDepth([a, 0, '1'], [b, 1, '1'], [c, 1, '2']), edges, leaves: [c] },
  })

  const began = performance.now()
  const up = must(await knowledge.lineage(top, 'ancestors', V))
  const down = must(await knowledge.lineage(bottom, 'descendants', V))
  expect(performance.now() - began).toBeLessThan(1000)
  expect(up.nodes.at(-1)).toEqual({ kbHash: bottom, depth: 400, pathCount: String(2n ** 200n) })
  expect(down.nodes.at(-1)).toEqual({ kbHash: top, depth: 400, pathCount: String(2n ** 200n) })
})

test('ALX-KB-16 an unknown block and a malformed hash are refused', async () => {
  const { knowledge } = await openKnowledge()
  expect(codeOf(await knowledge.lineage('a', 'ancestors', U))).toBe('INVALID_REQUEST')
  expect(codeOf(await knowledge.lineage(`0x${'0'.repeat(64)}`, 'ancestors', U))).toBe('KB_NOT_FOUND')
})

test('ALX-KB-16 a lineage too large for one answer is refused, never cut', async () => {
  const { library, put } = filled()
  const root = put('root')
  let [chain, ladder] = [root, root]
  for (let at = 0; at < kbLimits.lineageNodes; at++) chain = put(`link ${at}`, chain)
  for (let at = 0; at < 260; at++) ladder = put(`rung ${at}`, put(`l ${at}`, ladder), put(`r ${at}`, ladder))
  const { knowledge } = await openKnowledge({ library })
  expect(codeOf(await knowledge.lineage(chain, 'ancestors', U))).toBe('INVALID_REQUEST')
  expect(codeOf(await knowledge.lineage(root, 'descendants', U))).toBe('INVALID_REQUEST')
  // 2^260 has more digits than a number on the wire may have.
  expect(codeOf(await knowledge.lineage(ladder, 'ancestors', U))).toBe('INVALID_REQUEST')
})

test('ALX-KB-16 what the reader may not see ends the walk to the ancestors, and is not among the descendants', async () => {
  const { knowledge } = await openKnowledge()
  const add = async (text: string, more: object) =>
    must(await knowledge.register(presenting(factual(text, more)), U)).kbHash
  const old = await add('old', {})
  const secret = await add('secret', { tier: 'restricted', sources: [old] })
  const open = await add('open', { sources: [secret] })
  expect(must(await knowledge.lineage(open, 'ancestors', U)).leaves).toEqual([old])
  expect(must(await knowledge.lineage(open, 'ancestors', V))).toMatchObject({
    leaves: [secret],
    edges: [{ from: open, to: secret }],
  })
  expect(must(await knowledge.lineage(old, 'descendants', U)).leaves).toEqual([open])
  expect(must(await knowledge.lineage(old, 'descendants', V)).leaves).toEqual([old])
})
