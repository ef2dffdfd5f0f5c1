// Lineage of registered blocks, towards their sources or their children (ALX-KB-16, ALX-SETTLE-08).
import type { AttributionTrace, Result } from '@alx/protocol'
import { traceAttribution } from '@alx/protocol/economics'
import { type Blocks, mayRead } from './blocks.ts'
import { kbLimits } from './limits.ts'
import { kbNotFound, refused } from './refusals.ts'

export type Direction = 'ancestors' | 'descendants'

type Edges = Pick<Blocks, 'get' | 'childrenOf'>

/**
 * What the reader may not see is a leaf among the ancestors, since a source's hash is content of its child, and is not
 * there among the descendants.
 */
export function lineageOf(user: string, root: string, direction: Direction, blocks: Edges): Result<AttributionTrace> {
  const visible = (kbHash: string) => {
    const block = blocks.get(kbHash)
    return block && mayRead(user, block) ? block : undefined
  }
  if (!visible(root)) return kbNotFound(root)
  const next = (kbHash: string): readonly string[] =>
    direction === 'ancestors'
      ? (visible(kbHash)?.sources ?? [])
      : blocks.childrenOf(kbHash).filter(child => visible(child))
  const walked = walk([root], next)
  if (!walked) return tooLarge(root)
  const traced = traceAttribution(root, kbHash => walked.get(kbHash), direction)
  if (traced.ok && traced.value.nodes.some(({ pathCount }) => pathCount.length > kbLimits.digits)) return tooLarge(root)
  return traced
}

/**
 * Whether a block, once registered, would be its own ancestor. Only one that is named as a source before it is there
 * can be, so nothing is walked for any other.
 */
export function wouldCycle(kbHash: string, sources: readonly string[], blocks: Edges): boolean {
  if (blocks.childrenOf(kbHash).length === 0) return false
  const walked = walk(sources, at => blocks.get(at)?.sources ?? [])
  // A lineage too large to be looked through is refused: it cannot be said to have no circle.
  return !walked || walked.has(kbHash)
}

/** What can be reached, and from where to where; undefined beyond the bound. */
function walk(
  roots: readonly string[],
  next: (kbHash: string) => readonly string[],
): ReadonlyMap<string, readonly string[]> | undefined {
  const walked = new Map<string, readonly string[]>()
  const ahead = new Set(roots)
  let edges = 0
  for (const kbHash of ahead) {
    const others = next(kbHash)
    edges += others.length
    if (ahead.size > kbLimits.lineageNodes || edges > kbLimits.lineageEdges) return undefined
    walked.set(kbHash, others)
    for (const other of others) ahead.add(other)
  }
  return walked
}

function tooLarge(root: string) {
  const { lineageNodes, lineageEdges } = kbLimits
  return refused(
    'INVALID_REQUEST',
    `the lineage of ${root} is too large for one answer (${lineageNodes} blocks, ${lineageEdges} edges)`,
    { suggestion: 'Ask for the lineage of a block that is nearer to its end.' },
  )
}
