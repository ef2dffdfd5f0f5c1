// What the commits of a task say. Titles and names come from team files and people: a line break in one must not add a
// trailer, and no control character reaches the terminal of whoever reads the log.
import { oneLine } from '@parley/core'

export function commitMessage(
  { id, title }: { readonly id: string; readonly title: string },
  trailers: Readonly<Record<string, string>> = {},
): string {
  const all = Object.entries({ 'Parley-Task': id, ...trailers })
  return `${oneLine(title) || id}\n\n${all.map(([name, value]) => `${name}: ${oneLine(value)}`).join('\n')}`
}
