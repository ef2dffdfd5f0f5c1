// `parley config`: each value of the configuration and where it came from. It needs no node.
import type { Config } from '@parley/node'
import { command } from '../../command.ts'
import { drawing, print } from '../../output.ts'
import { table } from '../../render/grid.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  examples: [
    ['parley config', 'the settings of the profile'],
    ['parley config --profile work --json', 'another profile, for a program'],
  ],
  async run(context) {
    const { loadConfig } = await import('@parley/node')
    const loaded = loadConfig({ flags: { profile: context.global.profile }, env: context.env })
    if (!loaded.ok) throw loaded.error
    const { paths, entries } = loaded.value
    const { profile, folder, config: file } = paths
    print(context, { profile, folder, file, values: entries }, () => configLines(loaded.value, drawing(context)))
  },
})

function configLines({ paths, entries }: Config, drawing: Drawing): readonly string[] {
  return [
    `profile ${oneLine(paths.profile)} in ${oneLine(paths.folder)}`,
    '',
    ...table(
      entries,
      [
        { header: 'SETTING', of: ({ key }) => key },
        { header: 'VALUE', flexible: true, of: ({ value }) => oneLine(shown(value)) },
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

function shown(value: unknown): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
