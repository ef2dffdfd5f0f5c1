// `parley undo`: takes a result back that `parley apply` took over.
import { type Context, command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { asFailure, Failure } from '../../failure.ts'
import { SLOW } from '../../limits.ts'
import { agreed, notableLines } from '../../live/agree.ts'
import type { Input } from '../../node/client.ts'
import type { UndoneView } from '../../node/views.ts'
import { print } from '../../output.ts'
import { plural, shortHash, shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'

export default command({
  about:
    'Moves the branch back to where it was before `parley apply`, as long as that commit is its newest and was not pushed. Otherwise a new commit takes the changes back; hooks, CI files, package scripts and tool settings that it changes are named first, and need your yes. What you have changed since stays. In a project without git the files are put back, unless you changed them since.',
  args: [{ name: 'RUN', summary: 'A run that was applied (default: the one that was applied last)', optional: true }],
  flags: {
    'dry-run': { summary: 'Only say what would be done' },
    yes: { short: 'y', summary: 'Agree to what is named first, without being asked' },
  },
  examples: [
    ['parley undo', 'what was applied last'],
    ['parley undo run_k3f9qz', 'the result of this run'],
  ],
  async run(context, { flags, words }) {
    const dry = flags['dry-run']
    const wanted = { run: words[0] && (await runHere(context, words[0])), folder: context.cwd }
    const seen = await undone(context, { ...wanted, check: true })
    if (seen.already || dry) {
      print(context, seen, () => [
        outcome(seen, dry),
        ...notableLines(seen).map(each => `Other programs run it: ${each}`),
      ])
      return EXIT.done
    }
    const accept = flags.yes || (await agreed(context, seen, QUESTION))
    if (!accept) return EXIT.refused
    const done = await undone(context, { ...wanted, run: seen.run, accept })
    print(context, done, () => [outcome(done, false)])
    return EXIT.done
  },
})

/** What is in the way of taking something back is later work, and nothing that a merge would bring. */
async function undone({ api }: Context, input: Input<'/results/undo'>): Promise<UndoneView> {
  try {
    return await api.results.undo(input, SLOW)
  } catch (thrown) {
    const { code, message, details } = asFailure(thrown)
    if (code !== 'merge_conflict') throw thrown
    const commit = typeof details.commit === 'string' ? shortHash(details.commit) : 'COMMIT'
    throw new Failure(code, message, {
      details,
      next: `\`git revert ${commit}\` lets you settle it by hand; \`parley show\` names the commit that was applied.`,
      cause: thrown,
    })
  }
}

const QUESTION = { question: 'Take it back?', yes: ['take back', 'your project is as it was before'] } as const

function outcome({ run, how, branch, folder, to, already, files }: UndoneView, dry: boolean): string {
  const id = shortId(run)
  if (already) return `${id} was taken back already; nothing was changed.`
  const where = branch === undefined ? 'What is checked out' : oneLine(branch)
  const what = plural(files.length, 'file')
  if (how === 'copy') return `${dry ? 'Would take back' : 'Took back'} ${id} in ${oneLine(folder)}: ${what}.`
  if (how === 'files') return `${dry ? 'Would unstage' : 'Unstaged'} the changes of ${id}: ${what}.`
  if (how === 'back')
    return `${dry ? 'Would take back' : 'Took back'} ${id}: ${where} ${dry ? 'would be' : 'is'} at ${shortHash(to)} again, ${what}.`
  return dry
    ? `Would take back ${id} by a new commit on ${where}: ${what}.`
    : `Took back ${id} by a new commit on ${where}, ${shortHash(to)}: ${what}.`
}
