// `parley escalations`: lists the questions of agents, for scripts. People use `parley inbox`.
import { command } from '../../command.ts'
import { machineFault } from '../../node/client.ts'
import { drawing, printHeld } from '../../output.ts'
import { gatesTable } from '../../render/runs.ts'
import { runHere } from '../which-run.ts'
import { OF_RUN } from '../words.ts'

export default command({
  args: [OF_RUN],
  examples: [
    ['parley escalations', 'every question of every run'],
    ['parley escalations last --json', 'those of the newest run, for a program'],
  ],
  async run(context, { words }) {
    const { gates: list } = await context.api.escalations.list({ run: words[0] && (await runHere(context, words[0])) })
    const machine = await machineFault(context.api)
    printHeld(context, { questions: list }, machine, () =>
      list.length > 0 ? gatesTable(list, drawing(context)) : ['No question is waiting for you.'],
    )
  },
})
