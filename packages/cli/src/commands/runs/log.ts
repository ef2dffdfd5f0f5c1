// `parley log`: one task's agents, in full; with -f as they work.
import { type Context, command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { LogItem, PlanTaskView } from '../../node/views.ts'
import { drawing, print, printJson, printLines, remark } from '../../output.ts'
import { indented, logLines, logStepLines } from '../../render/log.ts'
import { oneLine } from '../../render/text.ts'
import { interruption } from '../../terminal.ts'
import { LAST } from '../words.ts'

export default command({
  about:
    'Every attempt, check and review of a task with all that was said. With -f it goes on with what the agent says and uses while it works, until the task is over; Ctrl-C leaves it at work.',
  args: [{ name: 'TASK', summary: 'A task of the run' }],
  flags: {
    run: { value: 'RUN', summary: 'The run (default: last)' },
    follow: { short: 'f', summary: 'Follow it live' },
  },
  examples: [
    ['parley log docs -f', 'what the agent of `docs` is doing now'],
    ['parley log docs --run run_k3f9qz', 'all that was said about it'],
  ],
  async run(context, { flags, words }) {
    const { run, tasks, started } = await context.api.runs.show({ run: flags.run ?? LAST })
    const task = tasks.find(({ id }) => id === words[0])
    if (!task)
      throw new Failure('not_found', `There is no task ${oneLine(words[0]!)} in ${run}.`, {
        next: `It has ${tasks.map(({ id }) => oneLine(id)).join(', ')}.`,
      })
    if (flags.follow) return follow(context, { run, task, started })
    print(context, { run, task: task.id, steps: task.steps }, () =>
      task.steps.length === 0
        ? [`Nobody has worked on ${oneLine(task.id)} yet.`]
        : task.steps.flatMap(step => logStepLines(step, started, drawing(context))),
    )
  },
})

async function follow(
  context: Context,
  { run, task, started }: { readonly run: string; readonly task: PlanTaskView; readonly started: string },
): Promise<void> {
  const { api, global, terminal } = context
  using interrupted = interruption(terminal)
  if (task.steps.length === 0) remark(context, `Nobody has worked on ${oneLine(task.id)} yet.`)
  try {
    const items: AsyncIterable<LogItem> = api.streams.tasks.follow(
      { run, task: task.id },
      { signal: interrupted.signal },
    )
    let begun = ''
    for await (const item of items) {
      if (global.json) {
        printJson(context, item)
        continue
      }
      // What comes in parts is shown in whole lines.
      if (item.type === 'text' && item.part) {
        begun += item.text
        const end = begun.lastIndexOf('\n') + 1
        printLines(context, logLines({ ...item, text: begun.slice(0, end) }, started, drawing(context)))
        begun = begun.slice(end)
        continue
      }
      const whole = item.type === 'text' ? { ...item, text: begun + item.text } : item
      const rest = item.type === 'text' || begun === '' ? [] : indented(begun, terminal.columns)
      begun = ''
      printLines(context, [...rest, ...logLines(whole, started, drawing(context))])
    }
  } catch (thrown) {
    if (!interrupted.signal.aborted) throw thrown
  }
}
