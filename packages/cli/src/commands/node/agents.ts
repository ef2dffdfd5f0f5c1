// `parley agents`: who could do the work.
import { command } from '../../command.ts'
import { drawing, print } from '../../output.ts'
import { agentsTable } from '../../render/runs.ts'

export default command({
  examples: [
    ['parley agents', 'what is configured, and what was found on PATH'],
    ['parley agents --json', 'with what each needs'],
  ],
  async run(context) {
    const list = (await context.api.agents.list({})).agents
    print(context, { agents: list }, () => agentsTable(list, drawing(context)))
  },
})
