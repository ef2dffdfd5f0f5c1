// Where a block's lineage leads, and along how many paths (ALX-SETTLE-08, ALX-KB-16).
import { type Result, refuse } from '../errors.ts'
import type { AttributionTrace } from '../wire/kb.ts'

/** The blocks next to one on the way: its sources, or its children. Undefined where the block is not known. */
export type Lineage = (kbHash: string) => readonly string[] | undefined

/**
 * Towards `ancestors` the lineage gives sources, towards `descendants` children; edges read from child to parent either
 * way. Paths are counted in topological order, never walked one by one: a ladder has more than there are atoms.
 */
export function traceAttribution(
  root: string,
  lineage: Lineage,
  direction: 'ancestors' | 'descendants' = 'ancestors',
): Result<AttributionTrace> {
  if (lineage(root) === undefined) return refuse('KB_NOT_FOUND', `no Knowledge Block ${root} is known`)
  const { next, depths } = reach(root, lineage)
  const paths = countPaths(root, next)
  if (paths.size < next.size) return refuse('CYCLE_DETECTED', `the lineage of ${root} runs in a circle`)
  const nodes = [...depths].map(([kbHash, depth]) => ({ kbHash, depth, pathCount: String(paths.get(kbHash)) }))
  const edges = [...next].flatMap(([at, others]) =>
    others.map(other => (direction === 'ancestors' ? { from: at, to: other } : { from: other, to: at })),
  )
  const value = {
    root,
    nodes: nodes.sort((a, b) => a.depth - b.depth || compare(a.kbHash, b.kbHash)),
    edges: edges.sort((a, b) => compare(a.from, b.from) || compare(a.to, b.to)),
    leaves: [...next].flatMap(([at, others]) => (others.length === 0 ? [at] : [])).sort(),
  }
  return { ok: true, value }
}

interface Reached {
  readonly next: ReadonlyMap<string, readonly string[]>
  /** In order of depth: breadth first. */
  readonly depths: ReadonlyMap<string, number>
}

function reach(root: string, lineage: Lineage): Reached {
  const next = new Map<string, readonly string[]>()
  const depths = new Map([[root, 0]])
  // A map can be read on while it grows.
  for (const [at, depth] of depths) {
    const others = [...new Set(lineage(at) ?? [])]
    next.set(at, others)
    for (const other of others) if (!depths.has(other)) depths.set(other, depth + 1)
  }
  return { next, depths }
}

/** Paths from the root to each block; those on a cycle, and behind one, are missing. */
function countPaths(root: string, next: Reached['next']): ReadonlyMap<string, bigint> {
  const waiting = new Map([...next.keys()].map(at => [at, 0]))
  for (const others of next.values()) for (const other of others) waiting.set(other, waiting.get(other)! + 1)
  const paths = new Map([[root, 1n]])
  const counted = new Map<string, bigint>()
  const ready = waiting.get(root) === 0 ? [root] : []
  for (const at of ready) {
    const count = paths.get(at)!
    counted.set(at, count)
    for (const other of next.get(at)!) {
      paths.set(other, (paths.get(other) ?? 0n) + count)
      const left = waiting.get(other)! - 1
      waiting.set(other, left)
      if (left === 0) ready.push(other)
    }
  }
  return counted
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
