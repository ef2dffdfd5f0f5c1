// The name that somebody probably meant.

/** ` Did you mean 'turns'?`, or nothing where no candidate is near. */
export function didYouMean(given: string, candidates: readonly string[]): string {
  const most = given.length < 4 ? 1 : Math.max(2, Math.floor(given.length / 3))
  const ranked = candidates
    .map(name => ({ name, steps: distance(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ steps }) => steps <= most)
    .toSorted((one, other) => one.steps - other.steps)
  return ranked[0] ? ` Did you mean '${ranked[0].name}'?` : ''
}

/** Insertions, deletions and replacements from one text to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...from.slice(0, 64)].entries()) {
    const next = [i + 1]
    for (let j = 1; j <= to.length; j++) {
      const swap = row[j - 1]! + (to[j - 1] === letter ? 0 : 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, swap))
    }
    row = next
  }
  return row[to.length]!
}
