// `parley log`: one task's agents, in full; with -f as they work.
import { type Context, command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { LogItem, PlanTaskView } from '../../node/views.ts'
import { drawing, print, printJson, printLines, remark } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { indented, logLines, logStepLines } from '../../render/steps.ts'
import { oneLine } from '../../render/text.ts'
import { interruption } from '../../terminal.ts'
import { runHere } from '../which-run.ts'

export default command({
  about:
    'Every attempt, check and review of a task with what it came to, and all that a turn at work has said and used so far. With -f it goes on until the task is over; Ctrl-C leaves it at work. What an agent said before its answer is not kept after its turn.',
  args: [{ name: 'TASK', summary: 'A task of the run, by its id or title (default: the only one)', optional: true }],
  flags: {
    run: { value: 'RUN', summary: 'The run (default: last)' },
    follow: { short: 'f', summary: 'Follow it live' },
  },
  examples: [
    ['parley log docs -f', 'what the agent of `docs` is doing now'],
    ['parley log docs --run run_k3f9qz', 'all that was said about it'],
  ],
  async run(context, { flags, words }) {
    const { run, tasks, started } = await context.api.runs.show({ run: await runHere(context, flags.run) })
    const [named] = words
    const titled = tasks.filter(({ title }) => named === undefined || title === named)
    const task = tasks.find(({ id }) => id === named) ?? (titled.length === 1 ? titled[0] : undefined)
    if (!task)
      throw new Failure(
        named === undefined ? 'usage' : 'not_found',
        named === undefined
          ? `${shortId(run)} has several tasks.`
          : `There is no task ${oneLine(named)} in ${shortId(run)}.`,
        { next: `Name one of ${tasks.map(({ id }) => oneLine(id)).join(', ')}.` },
      )
    const isAtWork = task.steps.some(({ ended }) => ended === undefined)
    if (flags.follow) return follow(context, { run, task, started })
    if (isAtWork && !context.global.json) return follow(context, { run, task, started }, true)
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
  now?: true,
): Promise<void> {
  const { api, global, terminal } = context
  using interrupted = interruption(terminal)
  if (task.steps.length === 0) remark(context, `Nobody has worked on ${oneLine(task.id)} yet.`)
  try {
    const items: AsyncIterable<LogItem> = api.streams.tasks.follow(
      { run, task: task.id, now },
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
