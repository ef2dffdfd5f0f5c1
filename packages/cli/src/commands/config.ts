// `parley config`: each value of the configuration and where it came from. It needs no node.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { configLines } from '../render/config.ts'

export const config = command({
  name: 'config',
  summary: 'Show each setting and where its value came from',
  args: [],
  flags: {},
  examples: [
    ['parley config', 'the settings of the profile'],
    ['parley config --profile work --json', 'of another one, for a program'],
  ],
  async run(context) {
    const { loadConfig } = await import('@parley/node')
    const loaded = loadConfig({ flags: { profile: context.global.profile }, env: context.env })
    if (!loaded.ok) throw loaded.error
    const { paths, entries } = loaded.value
    const { profile, folder, config: file } = paths
    print(context, { profile, folder, file, values: entries }, () =>
      configLines(loaded.value, drawing(context)),
    )
    return EXIT.done
  },
})
