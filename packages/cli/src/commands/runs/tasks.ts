// `parley tasks`: the tasks of a run as a table.
import { command } from '../../command.ts'
import { machineFault } from '../../node/client.ts'
import { drawing, print, remark } from '../../output.ts'
import { heldLine } from '../../render/machine.ts'
import { tasksTable } from '../../render/runs.ts'
import { LAST, RUN } from '../words.ts'

export default command({
  args: [RUN],
  examples: [
    ['parley tasks', 'of the newest run'],
    ['parley tasks last --json', 'with usage, files and notes of each'],
  ],
  async run(context, { words }) {
    const list = (await context.api.tasks.list({ run: words[0] ?? LAST })).tasks
    const machine = await machineFault(context.api)
    print(context, { tasks: list, ...(machine && { machine }) }, () => tasksTable(list, drawing(context)))
    if (machine) remark(context, heldLine(machine, drawing(context)))
  },
})
