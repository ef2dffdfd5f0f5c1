// `parley tasks`: the tasks of a run as a table.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { tasksTable } from '../render/runs.ts'
import { LAST, RUN } from './words.ts'

export const tasks = command({
  name: 'tasks',
  summary: 'List the tasks of a run in the order of its plan',
  args: [RUN],
  flags: {},
  examples: [
    ['parley tasks', 'of the newest run'],
    ['parley tasks last --json', 'with usage, files and notes of each'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const list = await api.tasks(words[0] ?? LAST)
    print(context, { tasks: list }, () => tasksTable(list, drawing(context)))
    return EXIT.done
  },
})
