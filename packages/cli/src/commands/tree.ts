// `parley tree`: the tasks of a run as the live view shows them, once.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { totalLine } from '../render/live.ts'
import { taskLines } from '../render/tasks.ts'
import { LAST, RUN } from './words.ts'

export const tree = command({
  name: 'tree',
  summary: 'Show the tasks of a run as a tree',
  args: [RUN],
  flags: {},
  examples: [
    ['parley tree', 'of the newest run'],
    ['parley tree run_01m7 --json', 'its tasks with what each waits for'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const view = await api.show(words[0] ?? LAST)
    const { run, intent, state, tasks } = view
    print(context, { run, intent, state, tasks }, () => [
      ...taskLines(tasks, drawing(context)).flatMap(({ lines }) => lines),
      totalLine(view, drawing(context)),
    ])
    return EXIT.done
  },
})
