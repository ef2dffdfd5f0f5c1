// `parley tree`: the tasks of a run as the live view shows them, once.
import { command } from '../../command.ts'
import { drawing, printHeld } from '../../output.ts'
import { totalLine } from '../../render/live.ts'
import { taskLines } from '../../render/tasks.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  args: [RUN],
  examples: [
    ['parley tree', 'of the newest run'],
    ['parley tree run_k3f9qz --json', 'its tasks with what each waits for'],
  ],
  async run(context, { words }) {
    const view = await context.api.runs.show({ run: await runHere(context, words[0]) })
    const { run, intent, state, tasks, machine } = view
    printHeld(context, { run, intent, state, tasks }, machine, () => [
      ...taskLines(tasks, drawing(context)).flatMap(({ lines }) => lines),
      totalLine(view, drawing(context)),
    ])
  },
})
