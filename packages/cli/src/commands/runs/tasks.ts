// `parley tasks`: the tasks of a run as a table.
import { command } from '../../command.ts'
import { machineFault } from '../../node/client.ts'
import { drawing, printHeld } from '../../output.ts'
import { tasksTable } from '../../render/runs.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  args: [RUN],
  examples: [
    ['parley tasks', 'of the newest run'],
    ['parley tasks last --json', 'with usage, files and notes of each'],
  ],
  async run(context, { words }) {
    const list = (await context.api.tasks.list({ run: await runHere(context, words[0]) })).tasks
    const machine = await machineFault(context.api)
    printHeld(context, { tasks: list }, machine, () => tasksTable(list, drawing(context)))
  },
})
