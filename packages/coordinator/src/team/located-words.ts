// Texts of a team file that know where they stand.
import type { Located } from '@parley/core/yaml'
import { teamLimits } from './limits.ts'
import type { Path } from './problem.ts'

export interface Word {
  readonly text: string
  readonly at: number
  readonly path: Path
}

/** One, or those of a list. */
export function wordsOf(value: Located | undefined, path: Path): readonly Word[] {
  if (value?.kind !== 'list') return [wordOf(value, path)].filter(word => word !== undefined)
  const items = value.items.slice(0, teamLimits.agents)
  return items.flatMap((item, index) => wordOf(item, [...path, index]) ?? [])
}

export function wordOf(value: Located | undefined, path: Path): Word | undefined {
  if (value?.kind !== 'scalar' || typeof value.value !== 'string') return undefined
  return { text: value.value, at: value.at, path }
}
