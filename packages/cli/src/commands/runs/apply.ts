// `parley apply`: the result of a run goes into the branch that is checked out here.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { SLOW } from '../../limits.ts'
import { agreed, notableLines, partialLine } from '../../live/agree.ts'
import type { AppliedView } from '../../node/views.ts'
import { print } from '../../output.ts'
import { plural, shortHash, shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  about:
    'Makes one commit of the result, in your name, on the branch that is checked out here. Git hooks do not run. Changes of hooks, CI files, package scripts and tool settings are named first, and need your yes; so does the result of a run that failed or was aborted, with the tasks whose work it has and lacks. Files of yours with uncommitted changes are never overwritten. `parley undo` takes it back; doing it twice changes nothing. In a project without git, files are written and deleted as the run did, unless you changed them since it began.',
  args: [RUN],
  flags: {
    merge: { summary: 'Merge the branch of the run, with its commits, instead of making one commit' },
    patch: { summary: 'Stage the changes, and leave the commit to you' },
    'dry-run': { summary: 'Only say what would be done' },
    yes: { short: 'y', summary: 'Agree to what is named first, without being asked' },
  },
  examples: [
    ['parley apply', 'the newest run, as one commit on this branch'],
    ['parley apply run_k3f9qz --merge', 'with the commits of its tasks'],
    ['parley apply --patch', 'staged, to be looked at and committed by hand'],
  ],
  async run(context, { flags, words }) {
    if (flags.merge && flags.patch)
      throw new Failure('usage', '--merge and --patch contradict each other.', { next: 'Give one of them.' })
    const how = flags.merge ? 'merge' : flags.patch ? 'patch' : 'squash'
    const wanted = { run: await runHere(context, words[0]), folder: context.cwd, how } as const
    const seen = await context.api.results.apply({ ...wanted, check: true }, SLOW)
    if (seen.already || flags['dry-run']) {
      print(context, seen, () => outcome(seen, flags['dry-run']))
      return EXIT.done
    }
    const accept = flags.yes || (await agreed(context, seen, QUESTION))
    if (!accept) return EXIT.refused
    const done = await context.api.results.apply({ ...wanted, run: seen.run, accept }, SLOW)
    print(context, done, () => outcome(done, false))
    return EXIT.done
  },
})

const QUESTION = { question: 'Apply it?', yes: ['apply', 'it goes into your project'] } as const

function outcome(view: AppliedView, dry: boolean): readonly string[] {
  const { run, how, branch, folder, to, already, files } = view
  const where = how === 'copy' ? oneLine(folder) : branch === undefined ? 'what is checked out' : oneLine(branch)
  if (already && how === 'copy') return [`${where} has the result of ${shortId(run)} already; nothing was changed.`]
  if (already) return [`${shortId(run)} is on ${where} already; nothing was changed.`]
  const what = plural(files.length, 'file')
  const partial = partialLine(view)
  if (dry)
    return [
      `${shortId(run)} would change ${what} ${how === 'copy' ? 'in' : 'on'} ${where}${how === 'patch' ? ', staged' : ''}:`,
      ...files.map(each => `  ${oneLine(each)}`),
      ...notableLines(view).map(each => `Other programs run it: ${each}`),
      ...(partial === undefined ? [] : [partial]),
    ]
  if (how === 'patch')
    return [`Staged ${what} of ${shortId(run)}.`, 'look    git diff --cached', `back    parley undo ${shortId(run)}`]
  if (how === 'copy') return [`Applied ${shortId(run)} in ${where}: ${what}.`, `back    parley undo ${shortId(run)}`]
  const made = how === 'merge' ? 'Merged' : 'Applied'
  return [
    `${made} ${shortId(run)} on ${where}: ${what}, commit ${shortHash(to ?? '')}.`,
    `look    git show ${shortHash(to ?? '')}`,
    `back    parley undo ${shortId(run)}`,
  ]
}
