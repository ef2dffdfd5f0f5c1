// "Did you mean": the known word that is nearest to an unknown one, if it is near enough to be a slip of the fingers.

/** Undefined where none is near. Case does not count. */
export function nearest(given: string, candidates: Iterable<string>): string | undefined {
  const wanted = given.toLowerCase()
  let best: string | undefined
  let least = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - given.length) >= least) continue
    const steps = distance(wanted, candidate.toLowerCase(), least)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbors between two texts, or `most` if there are as many. */
function distance(from: string, to: string, most: number): number {
  let older: number[] = []
  let old = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let steps = Math.min(old[column]! + 1, now[column - 1]! + 1, old[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) steps = Math.min(steps, older[column - 2]! + 1)
      now.push(steps)
    }
    if (Math.min(...now) >= most) return most
    older = old
    old = now
  }
  return old[to.length]!
}
