// The commit messages of a task. Titles and names come from people: a line break must not add a trailer, and no control
// character reaches a terminal.
import { oneLine } from '@parley/core'

export function commitMessage(
  { id, title }: { readonly id: string; readonly title: string },
  trailers: Readonly<Record<string, string>> = {},
): string {
  const all = Object.entries({ 'Parley-Task': id, ...trailers })
  return `${oneLine(title) || id}\n\n${all.map(([name, value]) => `${name}: ${oneLine(value)}`).join('\n')}`
}
