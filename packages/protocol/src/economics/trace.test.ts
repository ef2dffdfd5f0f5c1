import { expect, test } from 'vitest'
import { traceAttribution } from './trace.ts'

const lineage = (edges: Readonly<Record<string, readonly string[]>>) => (kbHash: string) =>
  Object.hasOwn(edges, kbHash) ? edges[kbHash] : undefined

test('ALX-T56 paths are counted, and counting those of a ladder takes no time', () => {
  const trace = traceAttribution('C', lineage({ C: ['B', 'A', 'B'], B: ['A'], A: [] }))
  expect(trace).toEqual({
    ok: true,
    value: {
      root: 'C',
      nodes: [
        { kbHash: 'C', depth: 0, pathCount: '1' },
        { kbHash: 'A', depth: 1, pathCount: '2' },
        { kbHash: 'B', depth: 1, pathCount: '1' },
      ],
      edges: [
        { from: 'B', to: 'A' },
        { from: 'C', to: 'A' },
        { from: 'C', to: 'B' },
      ],
      leaves: ['A'],
    },
  })

  const ladder: Record<string, string[]> = { n200: [] }
  for (let rung = 0; rung < 200; rung++) {
    ladder[`n${rung}`] = [`l${rung}`, `r${rung}`]
    ladder[`l${rung}`] = [`n${rung + 1}`]
    ladder[`r${rung}`] = [`n${rung + 1}`]
  }
  const began = performance.now()
  const counted = traceAttribution('n0', lineage(ladder))
  expect(performance.now() - began).toBeLessThan(1000)
  if (!counted.ok) throw new Error(counted.error.message)
  expect(counted.value.nodes.at(-1)).toEqual({ kbHash: 'n200', depth: 400, pathCount: String(2n ** 200n) })
})

test('ALX-SETTLE-08 an unknown root and a circle are refused, and a deep lineage is walked', () => {
  expect(traceAttribution('X', lineage({}))).toMatchObject({ ok: false, error: { code: 'KB_NOT_FOUND' } })
  for (const circle of [{ A: ['A'] }, { A: ['B'], B: ['A'] }, { A: ['B'], B: ['C', 'D'], C: ['B'], D: [] }])
    expect(traceAttribution('A', lineage(circle))).toMatchObject({ ok: false, error: { code: 'CYCLE_DETECTED' } })
  const deep = traceAttribution('100000', kbHash => (kbHash === '0' ? [] : [String(Number(kbHash) - 1)]))
  expect(deep).toMatchObject({ ok: true, value: { leaves: ['0'] } })
})

test('ALX-KB-16 towards descendants the walk goes the other way, and edges still read from child to parent', () => {
  const trace = traceAttribution('A', lineage({ A: ['B', 'C'], B: ['C'], C: [] }), 'descendants')
  expect(trace).toMatchObject({
    ok: true,
    value: {
      nodes: [{ kbHash: 'A' }, { kbHash: 'B', depth: 1 }, { kbHash: 'C', depth: 1, pathCount: '2' }],
      edges: [
        { from: 'B', to: 'A' },
        { from: 'C', to: 'A' },
        { from: 'C', to: 'B' },
      ],
      leaves: ['C'],
    },
  })
})
