// `parley clean`: removes what finished runs have left, by age or by name.
import { parseDuration } from '@parley/core'
import { type Context, command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { cliLimits, SLOW } from '../../limits.ts'
import { askKey } from '../../live/ask-key.ts'
import type { CleanedView } from '../../node/views.ts'
import { isAttended, print, printLines, remark } from '../../output.ts'
import { plural, shortHash, shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'

export default command({
  about:
    'Removes the branches of finished runs, what was kept beside them, and their folders in the profile. Commits that no other branch or tag reaches stay unless they were applied, or the flag for them is given: it names them and asks first. A branch that is checked out, or that somebody has worked on since, always stays. The record of the runs is not touched.',
  args: [
    {
      name: 'RUN',
      summary: 'Only these, whatever their age (default: all finished runs of this project)',
      optional: true,
      rest: true,
    },
  ],
  flags: {
    'older-than': { value: 'TIME', summary: `Runs that ended longer ago (default: ${cliLimits.cleanAge})` },
    all: { summary: 'Runs of all projects' },
    force: { summary: 'Remove commits and results, too, that exist nowhere else' },
    yes: { short: 'y', summary: 'Agree to that without being asked' },
    'dry-run': { summary: 'Only say what would be removed' },
  },
  examples: [
    ['parley clean --dry-run', 'what would go'],
    ['parley clean --older-than 24h', 'everything of this project that ended more than a day ago'],
    ['parley clean run_k3f9qz', 'one run, whatever its age'],
  ],
  async run(context, { flags, words }) {
    const dry = flags['dry-run']
    const older_than = ageOf(flags['older-than'] ?? cliLimits.cleanAge)
    const runs = words.length > 0 ? await Promise.all(words.map(each => runHere(context, each))) : undefined
    const folder = runs || flags.all ? undefined : context.cwd
    const wanted = { runs, older_than, folder }
    if (flags.force && !dry && !flags.yes) {
      const { runs: seen } = await context.api.results.clean({ ...wanted, force: false, check: true }, SLOW)
      if (!(await mayLose(context, seen.flatMap(lostLines)))) return EXIT.refused
    }
    const cleaned = await context.api.results.clean({ ...wanted, force: flags.force, check: dry }, SLOW)
    print(context, cleaned, () => {
      const all = cleaned.runs.flatMap(each => cleanedLines(each, dry))
      return all.length > 0 ? all : [nothingText(runs, flags['older-than'])]
    })
    return EXIT.done
  },
})

function ageOf(given: string): number {
  // Durations end with hours.
  const days = /^(\d{1,5})d$/.exec(given)?.[1]
  const found = parseDuration(days === undefined ? given : `${Number(days) * 24}h`)
  if (found !== undefined && found >= 0) return found
  throw new Failure('usage', `'${given}' is no age.`, { next: '--older-than 7d, or 24h' })
}

/** What is nowhere else, which only force removes. */
function lostLines({ run, refs, folder, result, intent }: CleanedView): readonly string[] {
  const lost = [
    ...refs.flatMap(({ commit, ref, stays }) =>
      stays === 'unreached' ? [`${refText(ref)}, commit ${shortHash(commit)}`] : [],
    ),
    ...(result !== undefined && !folder ? [`${oneLine(result)}: the only copy of its result`] : []),
  ]
  return lost.map(each => `${shortId(run)}  ${each}, of "${oneLine(intent)}"`)
}

async function mayLose(context: Context, lost: readonly string[]): Promise<boolean> {
  if (lost.length === 0) return true
  const what = `${plural(lost.length, 'piece')} of work would be lost: no other branch, tag or folder has it.`
  if (!isAttended(context))
    throw new Failure('unconfirmed', what, {
      why: 'There is no terminal to ask on, and --yes was not given.',
      next: ['`parley apply` takes a result over first.', 'With --yes it is removed all the same.'],
      details: { files: lost },
    })
  printLines(context, [...lost, context.terminal.paint('warning', what)])
  const agrees = await askKey(context, 'Remove it for good?', [
    { key: 'y', label: 'remove', help: 'nobody can bring it back', gives: { answer: true } },
    { key: 'n', label: 'keep', help: 'nothing is removed', gives: { answer: false } },
  ])
  if (!agrees) remark(context, 'Nothing was removed.')
  return agrees === true
}

function nothingText(runs: readonly string[] | undefined, age: string | undefined): string {
  if (runs) return 'There is nothing to clean up: these runs have left nothing.'
  const kept = `runs that ended less than ${age ?? cliLimits.cleanAge} ago are kept`
  return `There is nothing to clean up: ${kept}. \`parley clean --older-than 0d --dry-run\` shows what all of them have left.`
}

const STAYS = {
  unreached: 'nothing else has its commits',
  checked_out: 'it is checked out',
  moved: 'somebody has worked on it',
} as const

function cleanedLines({ run, refs, folder, result }: CleanedView, dry: boolean): readonly string[] {
  const gone = refs.filter(({ stays }) => stays === undefined)
  const names = [
    ...gone.flatMap(({ ref }) => (ref.startsWith(HEADS) ? [`branch ${oneLine(ref.slice(HEADS.length))}`] : [])),
    ...kept(gone.filter(({ ref }) => !ref.startsWith(HEADS)).length),
    ...(folder ? ['its folder'] : []),
  ]
  const stay = refs.flatMap(({ ref, commit, stays }) => {
    if (stays === undefined) return []
    return [`  stays   ${refText(ref)}, commit ${shortHash(commit)}: ${STAYS[stays]}`]
  })
  return [
    `${shortId(run)}  ${names.length === 0 ? 'nothing' : names.join(', ')} ${dry ? 'would be removed' : 'removed'}`,
    ...stay,
    ...(result !== undefined && !folder ? [`  stays   ${oneLine(result)}: the only copy of its result`] : []),
  ]
}

function refText(ref: string): string {
  return ref.startsWith(HEADS) ? `branch ${oneLine(ref.slice(HEADS.length))}` : 'kept work'
}

const HEADS = 'refs/heads/'

function kept(count: number): readonly string[] {
  return count === 0 ? [] : [`${plural(count, 'kept commit')}`]
}
