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

test('ALX-T56 lineage counts paths in both directions; those of a ladder of 200 diamonds in no time', async () => {
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
  expect(knowledge.lineage(V, c)).toEqual({
    ok: true,
    value: { root: c, nodes: byDepth([c, 0, '1'], [a, 1, '2'], [b, 1, '1']), edges, leaves: [a] },
  })
  expect(knowledge.lineage(V, a, 'descendants')).toEqual({
    ok: true,
    value: { root: a, nodes: byDepth([a, 0, '1'], [b, 1, '1'], [c, 1, '2']), edges, leaves: [c] },
  })

  const began = performance.now()
  const up = must(knowledge.lineage(V, top))
  const down = must(knowledge.lineage(V, bottom, 'descendants'))
  expect(performance.now() - began).toBeLessThan(1000)
  expect(up.nodes.at(-1)).toEqual({ kbHash: bottom, depth: 400, pathCount: String(2n ** 200n) })
  expect(down.nodes.at(-1)).toEqual({ kbHash: top, depth: 400, pathCount: String(2n ** 200n) })
})

test('ALX-KB-16 an unknown direction, an unknown block and a malformed hash are refused', async () => {
  const { library, put } = filled()
  const a = put('A')
  const { knowledge } = await openKnowledge({ library })
  expect(codeOf(knowledge.lineage(U, a, 'sideways'))).toBe('INVALID_REQUEST')
  expect(codeOf(knowledge.lineage(U, 'a'))).toBe('INVALID_REQUEST')
  expect(codeOf(knowledge.lineage(U, `0x${'0'.repeat(64)}`))).toBe('KB_NOT_FOUND')
})

test('ALX-KB-16 a lineage too large for one answer is refused, never cut', async () => {
  const { library, put } = filled()
  const root = put('root')
  let [chain, ladder] = [root, root]
  for (let at = 0; at < kbLimits.lineageNodes; at++) chain = put(`link ${at}`, chain)
  for (let at = 0; at < 260; at++) ladder = put(`rung ${at}`, put(`l ${at}`, ladder), put(`r ${at}`, ladder))
  const { knowledge } = await openKnowledge({ library })
  expect(codeOf(knowledge.lineage(U, chain))).toBe('INVALID_REQUEST')
  expect(codeOf(knowledge.lineage(U, root, 'descendants'))).toBe('INVALID_REQUEST')
  // 2^260 has more digits than a number on the wire may have.
  expect(codeOf(knowledge.lineage(U, ladder))).toBe('INVALID_REQUEST')
})

test('ALX-KB-16 what the reader may not see ends the walk to the ancestors, and is not among the descendants', async () => {
  const { knowledge } = await openKnowledge()
  const add = async (text: string, more: object) =>
    must(await knowledge.register(U, presenting(factual(text, more)))).kbHash
  const old = await add('old', {})
  const secret = await add('secret', { tier: 'restricted', sources: [old] })
  const open = await add('open', { sources: [secret] })
  expect(must(knowledge.lineage(U, open)).leaves).toEqual([old])
  expect(must(knowledge.lineage(V, open))).toMatchObject({ leaves: [secret], edges: [{ from: open, to: secret }] })
  expect(must(knowledge.lineage(U, old, 'descendants')).leaves).toEqual([open])
  expect(must(knowledge.lineage(V, old, 'descendants')).leaves).toEqual([old])
})
