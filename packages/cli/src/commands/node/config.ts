// `parley config`: each value of the configuration and where it came from. It needs no node.

import type { Config } from '@parley/node'
import { command } from '../../command.ts'
import { refuseSlip } from '../../node/no-node.ts'
import { drawing, print } from '../../output.ts'
import { table } from '../../render/grid.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about: 'A setting without a value shows what holds instead, in brackets.',
  examples: [
    ['parley config', 'the settings of the profile'],
    ['parley config --profile work --json', 'another profile, for a program'],
  ],
  async run(context) {
    await refuseSlip(context.global.profile, context.env)
    const { effectiveValues, loadConfig } = await import('@parley/node')
    const loaded = loadConfig({ flags: { profile: context.global.profile }, env: context.env })
    if (!loaded.ok) throw loaded.error
    const { paths, entries } = loaded.value
    const instead = effectiveValues(loaded.value, context.env)
    const values = entries.map(({ key, value, from }) => ({
      key,
      value,
      ...(value === null && instead[key] !== undefined && { effective: instead[key] }),
      from,
    }))
    const { profile, folder, config: file } = paths
    print(context, { profile, folder, file, values }, () => configLines(loaded.value, values, drawing(context)))
  },
})

interface Shown {
  readonly key: string
  readonly value: unknown
  readonly effective?: string
  readonly from: string
}

function configLines({ paths }: Config, values: readonly Shown[], drawing: Drawing): readonly string[] {
  return [
    `profile ${oneLine(paths.profile)} in ${oneLine(paths.folder)}`,
    '',
    ...table(
      values,
      [
        { header: 'SETTING', of: ({ key }) => key },
        { header: 'VALUE', flexible: true, of: each => oneLine(shown(each)) },
        {
          header: 'FROM',
          flexible: true,
          of: ({ from }) => ({ text: oneLine(from), tone: from === 'default' ? 'quiet' : 'strong' }),
        },
      ],
      drawing,
    ),
  ]
}

function shown({ value, effective }: Shown): string {
  if (value === undefined || value === null) return effective === undefined ? '-' : `(${effective})`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
