// "Did you mean": the known word that is nearest to an unknown one, if any is near enough to be a slip of the fingers.
import { cliLimits } from './limits.ts'

export function suggest(word: string, known: readonly string[]): string | undefined {
  const most = Math.min(cliLimits.slip, Math.max(1, Math.floor(word.length / 2)))
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const each of known) {
    // A beginning that was typed is nearer than anything that was mistyped.
    const distance = word.length >= 2 && each.startsWith(word) ? 0.5 : editDistance(word, each)
    if (distance <= most && (best === undefined || distance < best.distance)) best = { word: each, distance }
  }
  return best?.word
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other. */
export function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same)
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (swapped) least = Math.min(least, rows[i - 2]![j - 2]! + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[from.length]![to.length]!
}
