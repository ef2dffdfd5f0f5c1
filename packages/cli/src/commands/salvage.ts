// `parley salvage`: a person judges what a failed task left, and takes it over or lets it go.
import { type Context, command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import { drawing, print, printLines, remark } from '../output.ts'
import { shortId } from '../render/format.ts'
import { each, lines, oneLine, wrap } from '../render/text.ts'
import type { LeftView, SalvageView } from '../views.ts'
import { LAST, reasonOf } from './words.ts'

export const salvage = command({
  name: 'salvage',
  summary: 'Look at what a failed task left, and take it over',
  about:
    'Shows why the task failed and what it had kept, then asks. What is taken over is merged into the result; the task stays failed. A run can be asked as long as it is at work: `salvage: ask` in the team file lets it wait for you.',
  args: [{ name: 'TASK', summary: 'A task of the run that has failed' }],
  flags: {
    run: { type: 'text', value: 'RUN', summary: 'The run (default: last)' },
    checkpoint: { type: 'text', value: 'ID', summary: 'Another one than the newest' },
    yes: { type: 'boolean', short: 'y', summary: 'Take it over without a question' },
    discard: { type: 'boolean', summary: 'Let it go: a run that waits for the answer goes on' },
    reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' },
  },
  examples: [
    ['parley salvage docs', 'look at it, and decide'],
    ['parley salvage docs --run run_01m7 --yes', 'take it over'],
    ['parley salvage docs --discard --reason "Wrong track"', 'let it go'],
  ],
  async run(context, { flags, words }) {
    const task = words[0]!
    if (flags.yes && flags.discard)
      throw new Failure('usage', '--yes and --discard contradict each other.', { next: 'Give one of them.' })
    const api = await context.connect()
    const { run, left } = await api.left(flags.run ?? LAST, task, flags.checkpoint)
    if (!flags.yes && !flags.discard) printLines(context, leftLines(left, drawing(context).width))
    const take = flags.yes || (!flags.discard && (await decided(context, task)))
    if (take === undefined) return EXIT.refused
    const reason = reasonOf(flags.reason)
    const { checkpoint } = left
    const saved = await api.salvage(run, { task, take, checkpoint, ...(reason !== undefined && { reason }) })
    print(context, { run, task, ...saved }, () => [outcome(saved, task, run)])
    return exitOf(saved, take)
  },
})

/** Undefined: nothing was decided. */
async function decided(context: Context, task: string): Promise<boolean | undefined> {
  if (!context.terminal.interactive || context.global.json) {
    remark(context, `Nothing was decided. parley salvage ${task} --yes takes it over, --discard lets it go.`)
    return undefined
  }
  for (;;) {
    const typed = await context.terminal.ask('Take it over? [y]es, [n]o (let it go), [l]ater: ')
    switch (typed?.trim().toLowerCase()) {
      case 'y':
      case 'yes':
        return true
      case 'n':
      case 'no':
        return false
      case undefined:
      case 'l':
      case 'later':
        return undefined
    }
  }
}

function leftLines(left: LeftView, width: number): readonly string[] {
  const { task, agent, checkpoint, final, failure, text, files, conflicts, diff } = left
  return [
    ...wrap(`${oneLine(task)} failed: ${oneLine(failure)}`, width),
    `left     ${each(files)}, by ${oneLine(agent)}, ${checkpoint}${final ? '' : ', not finished'}`,
    ...(text.trim() === '' ? [] : wrap(`said     ${oneLine(text)}`, width)),
    ...(conflicts.length > 0 ? [`conflict ${each(conflicts)}: you are asked which version is taken`] : []),
    '',
    ...lines(diff),
    '',
  ]
}

function outcome({ state, files, reason }: SalvageView, task: string, run: string): string {
  const what = files.length === 1 ? '1 file' : `${files.length} files`
  switch (state) {
    case 'merged':
      return `Took over what ${task} left: ${what}.`
    case 'discarded':
      return `Let go of what ${task} left${reason ? `: ${reason}` : ''}.`
    default:
      return `What ${task} left waits for an answer: parley gates ${shortId(run)}`
  }
}

/** Asked for, and not there: somebody has to see to it. */
function exitOf({ state }: SalvageView, take: boolean): ExitCode {
  return take && state === 'discarded' ? EXIT.failed : EXIT.done
}
