// `parley salvage`: a person reviews what a failed task left, and keeps or discards it.
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { askKey } from '../../live/ask-key.ts'
import { PASSPHRASE_FLAG } from '../../node/confirm.ts'
import type { LeftView, SalvageView } from '../../node/views.ts'
import { drawing, isAttended, print, printLines, remark } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { each, lines, oneLine, wrap } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { reasonOf } from '../words.ts'

export default command({
  about:
    'Shows why the task failed and what it had saved, then asks. If you keep it, it is merged into the result; the task stays failed. This works while the run is in progress, where `salvage: ask` in the team file lets it wait for you, and after its end, for all that it had saved.',
  args: [{ name: 'TASK', summary: 'A failed task of the run' }],
  flags: {
    run: { value: 'RUN', summary: 'The run (default: last)' },
    checkpoint: { value: 'ID', summary: 'A checkpoint other than the newest' },
    yes: { short: 'y', summary: 'Keep it without asking' },
    discard: { summary: 'Discard it: a run that waits for the answer continues' },
    reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley salvage docs', 'review it, and decide'],
    ['parley salvage docs --run run_k3f9qz --yes', 'keep it'],
    ['parley salvage docs --discard --reason "Wrong track"', 'discard it'],
  ],
  async run(context, { flags, words }) {
    const task = words[0]!
    if (flags.yes && flags.discard)
      throw new Failure('usage', '--yes and --discard contradict each other.', { next: 'Give one of them.' })
    const { run, left } = await context.api.workspaces.left({
      run: await runHere(context, flags.run),
      task,
      checkpoint: flags.checkpoint,
    })
    if (!flags.yes && !flags.discard) printLines(context, leftLines(left, drawing(context).width))
    const take = flags.yes || (!flags.discard && (await decided(context, task)))
    if (take === undefined) return EXIT.refused
    const reason = reasonOf(flags.reason)
    const { checkpoint } = left
    const { salvage: saved } = await context.api.workspaces.salvage({ run, task, take, checkpoint, reason })
    const lines = saved.state === 'merged' && !context.global.json ? [await takeLine(context, run)] : []
    print(context, { run, task, ...saved }, () => [outcome(saved, task, run), ...lines])
    return exitOf(saved, take)
  },
})

async function takeLine(context: Context, run: string): Promise<string> {
  const { ended } = await context.api.runs.show({ run })
  return `take    parley apply ${shortId(run)}${ended === undefined ? ', when the run is over' : ''}`
}

/** Undefined: no decision. */
async function decided(context: Context, task: string): Promise<boolean | undefined> {
  const undecided = () => {
    remark(context, `Nothing was decided. parley salvage ${task} --yes keeps it, --discard discards it.`)
    return undefined
  }
  if (!isAttended(context)) return undecided()
  const answer = await askKey<'keep' | 'discard' | 'later'>(context, 'Keep it?', [
    { key: 'y', label: 'keep', help: 'it is merged into the result', gives: { answer: 'keep' } },
    { key: 'n', label: 'discard', help: 'it is not used', gives: { answer: 'discard' } },
    { key: 'l', label: 'later', help: 'nothing is decided', gives: { answer: 'later' } },
  ])
  return answer === undefined || answer === 'later' ? undecided() : answer === 'keep'
}

function leftLines(left: LeftView, width: number): readonly string[] {
  const { task, agent, checkpoint, final, failure, text, files, conflicts, diff } = left
  return [
    ...wrap(`${oneLine(task)} failed: ${oneLine(failure)}`, width),
    `left     ${each(files)}, by ${oneLine(agent)}, ${checkpoint}${final ? '' : ', not finished'}`,
    ...(text.trim() === '' ? [] : wrap(`said     ${oneLine(text)}`, width)),
    ...(conflicts.length > 0 ? [`conflict ${each(conflicts)}: you will be asked which version to keep`] : []),
    '',
    ...lines(diff),
    '',
  ]
}

function outcome({ state, files, reason }: SalvageView, task: string, run: string): string {
  const what = files.length === 1 ? '1 file' : `${files.length} files`
  switch (state) {
    case 'merged':
      return `Kept what ${task} left: ${what}.`
    case 'discarded':
      return `Discarded what ${task} left${reason ? `: ${reason}` : ''}.`
    default:
      return `What ${task} left waits for an answer: parley gates ${shortId(run)}`
  }
}

function exitOf({ state }: SalvageView, take: boolean): ExitCode {
  return take && state === 'discarded' ? EXIT.failed : EXIT.done
}
