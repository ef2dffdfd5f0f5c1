// `parley apply`: the result of a run goes into the branch that is checked out here.
import { type Context, command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { SLOW } from '../../limits.ts'
import { askKey } from '../../live/ask-key.ts'
import type { AppliedView } from '../../node/views.ts'
import { isAttended, print, printLines, remark } from '../../output.ts'
import { plural, shortHash, shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { LAST, RUN } from '../words.ts'

export default command({
  about:
    'Makes one commit of the result, in your name, on the branch that is checked out here. Git hooks do not run. Changes of hooks, CI files, package scripts and tool settings are named first, and need your yes. Files of yours with uncommitted changes are never overwritten. `parley undo` takes it back; doing it twice changes nothing.',
  args: [RUN],
  flags: {
    merge: { summary: 'Merge the branch of the run, with its commits, instead of making one commit' },
    patch: { summary: 'Stage the changes, and leave the commit to you' },
    'dry-run': { summary: 'Only say what would be done' },
    yes: { short: 'y', summary: 'Agree to changes of hooks, CI files, package scripts and settings' },
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
    const wanted = { run: words[0] ?? LAST, folder: context.cwd, how } as const
    const seen = await context.api.results.apply({ ...wanted, check: true }, SLOW)
    if (seen.already || flags['dry-run']) {
      print(context, seen, () => outcome(seen, flags['dry-run']))
      return EXIT.done
    }
    const accept = flags.yes || (await agreed(context, seen))
    if (!accept) return EXIT.refused
    const done = await context.api.results.apply({ ...wanted, run: seen.run, accept }, SLOW)
    print(context, done, () => outcome(done, false))
    return EXIT.done
  },
})

/** Nobody is asked where nothing is run by itself: `parley undo` takes all of it back. */
async function agreed(context: Context, seen: AppliedView): Promise<boolean> {
  if (seen.notable.length === 0) return true
  const { terminal } = context
  if (!isAttended(context))
    throw new Failure('unconfirmed', 'The result changes files that other programs run.', {
      why: 'There is no terminal to ask on, and --yes was not given.',
      next: [`parley diff ${shortId(seen.run)} shows them.`, 'With --yes it is applied all the same.'],
      details: { files: notableLines(seen), notable: seen.notable },
    })
  printLines(context, [
    terminal.paint('warning', 'Other programs run what this changes:'),
    ...notableLines(seen).map(each => `  ${each}`),
  ])
  const agrees = await askKey(context, 'Apply it?', [
    { key: 'y', label: 'apply', help: 'one commit on your branch', gives: { answer: true } },
    { key: 'n', label: 'leave it', help: 'nothing is changed', gives: { answer: false } },
  ])
  if (!agrees) remark(context, `Nothing was changed. parley diff ${shortId(seen.run)} shows it.`)
  return agrees === true
}

const KINDS = { hook: 'git hook', ci: 'CI', script: 'package scripts', settings: 'settings' } as const

function notableLines({ notable }: AppliedView): readonly string[] {
  return notable.map(({ kind, path, scripts }) => {
    const which = scripts ? ` (${scripts.map(oneLine).join(', ')})` : ''
    return `${KINDS[kind]}: ${oneLine(path)}${which}`
  })
}

function outcome(view: AppliedView, dry: boolean): readonly string[] {
  const { run, how, branch, to, already, files } = view
  const where = branch === undefined ? 'what is checked out' : oneLine(branch)
  if (already) return [`${shortId(run)} is on ${where} already; nothing was changed.`]
  const what = plural(files.length, 'file')
  if (dry)
    return [
      `${shortId(run)} would change ${what} on ${where}${how === 'patch' ? ', staged' : ''}:`,
      ...files.map(each => `  ${oneLine(each)}`),
      ...notableLines(view).map(each => `Other programs run it: ${each}`),
    ]
  if (how === 'patch')
    return [`Staged ${what} of ${shortId(run)}.`, 'look    git diff --cached', `back    parley undo ${shortId(run)}`]
  const made = how === 'merge' ? 'Merged' : 'Applied'
  return [
    `${made} ${shortId(run)} on ${where}: ${what}, commit ${shortHash(to ?? '')}.`,
    `look    git show ${shortHash(to ?? '')}`,
    `back    parley undo ${shortId(run)}`,
  ]
}
