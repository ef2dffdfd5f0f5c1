// `parley agents`: who could do the work.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { agentsTable } from '../render/runs.ts'

export const agents = command({
  name: 'agents',
  summary: 'List configured agents and presets, and which are installed',
  args: [],
  flags: {},
  examples: [
    ['parley agents', 'what is configured and what is found on PATH'],
    ['parley agents --json', 'with what each needs'],
  ],
  async run(context) {
    const api = await context.connect()
    const list = await api.agents()
    print(context, { agents: list }, () => agentsTable(list, drawing(context)))
    return EXIT.done
  },
})
