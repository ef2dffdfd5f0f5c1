// The settings of a profile, each with where its value came from.
import { grid } from './grid.ts'
import type { Drawing } from './tasks.ts'
import { oneLine } from './text.ts'

export interface ShownConfig {
  readonly paths: { readonly profile: string; readonly folder: string; readonly config: string }
  readonly entries: readonly { readonly key: string; readonly value: unknown; readonly from: string }[]
}

export function configLines({ paths, entries }: ShownConfig, { width, paint }: Drawing): readonly string[] {
  return [
    `profile ${oneLine(paths.profile)} in ${oneLine(paths.folder)}`,
    '',
    ...grid(
      [{ header: 'SETTING' }, { header: 'VALUE', flexible: true }, { header: 'FROM', flexible: true }],
      entries.map(({ key, value, from }) => [
        key,
        oneLine(shown(value)),
        { text: oneLine(from), tone: from === 'default' ? 'quiet' : 'strong' },
      ]),
      width,
      paint,
    ),
  ]
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
