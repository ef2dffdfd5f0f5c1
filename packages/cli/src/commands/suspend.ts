// `parley suspend`, `parley resume`: work that stands still for a while.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { reasonOf } from './words.ts'

const ARGS = [
  { name: 'RUN', summary: 'A run: its id, a unique beginning of it, or last' },
  { name: 'TASK', summary: 'One task of it (default: all work of the run)', optional: true },
] as const

export const suspend = command({
  name: 'suspend',
  summary: 'Let the work of a run, or of one task, stand still',
  about:
    'Turns at work are ended and are taken again, from their last checkpoint, after `parley resume`. No time or budget is used up meanwhile.',
  args: ARGS,
  flags: { reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' } },
  examples: [
    ['parley suspend last', 'everything of the newest run'],
    ['parley suspend run_01m7 docs --reason "The style guide is coming"', 'one task'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const { run } = await api.show(words[0]!)
    const reason = reasonOf(flags.reason) ?? 'suspended by its owner'
    await api.suspend(run, reason, words[1])
    print(context, { run, task: words[1] ?? null, reason }, () => [
      `Suspended ${words[1] ?? 'all work'} of ${run}. It goes on with: parley resume ${run}`,
    ])
    return EXIT.done
  },
})

export const resume = command({
  name: 'resume',
  summary: 'Let suspended work go on',
  args: ARGS,
  flags: {},
  examples: [
    ['parley resume last', 'everything of the newest run that is suspended'],
    ['parley resume run_01m7 docs', 'one task'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const { run } = await api.show(words[0]!)
    await api.resume(run, words[1])
    print(context, { run, task: words[1] ?? null }, () => [`${words[1] ?? 'The work'} of ${run} goes on.`])
    return EXIT.done
  },
})
