// `parley clean`: removes what finished runs have left, by age or by name.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { cliLimits, SLOW } from '../../limits.ts'
import type { CleanedView } from '../../node/views.ts'
import { print } from '../../output.ts'
import { plural, shortHash, shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about:
    'Removes the branches of finished runs, what was kept beside them, and their folders in the profile. Commits that no other branch or tag reaches stay unless the flag for them is given. A branch that is checked out, or that somebody has worked on since, always stays. The record of the runs is not touched.',
  args: [
    { name: 'RUN', summary: 'Only these, whatever their age (default: all finished runs)', optional: true, rest: true },
  ],
  flags: {
    'older-than': { value: 'TIME', summary: `Runs that ended longer ago (default: ${cliLimits.cleanAge})` },
    force: { summary: 'Remove commits, too, that nothing else reaches' },
    'dry-run': { summary: 'Only say what would be removed' },
  },
  examples: [
    ['parley clean --dry-run', 'what would go'],
    ['parley clean --older-than 24h', 'everything that ended more than a day ago'],
    ['parley clean run_k3f9qz', 'one run, whatever its age'],
  ],
  async run(context, { flags, words }) {
    const dry = flags['dry-run']
    const older_than = await ageOf(flags['older-than'] ?? cliLimits.cleanAge)
    const runs = words.length > 0 ? [...words] : undefined
    const cleaned = await context.api.results.clean({ runs, older_than, force: flags.force, check: dry }, SLOW)
    print(context, cleaned, () => {
      const all = cleaned.runs.flatMap(each => cleanedLines(each, dry))
      return all.length > 0 ? all : ['There is nothing to clean up.']
    })
  },
})

async function ageOf(given: string): Promise<number> {
  const { parseDuration } = await import('@parley/node')
  // Durations end with hours.
  const days = /^(\d{1,5})d$/.exec(given)?.[1]
  const found = parseDuration(days === undefined ? given : `${Number(days) * 24}h`)
  if (found !== undefined && found >= 0) return found
  throw new Failure('usage', `'${given}' is no age.`, { next: '--older-than 7d, or 24h' })
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
    const what = ref.startsWith(HEADS) ? `branch ${oneLine(ref.slice(HEADS.length))}` : 'kept work'
    return [`  stays   ${what}, commit ${shortHash(commit)}: ${STAYS[stays]}`]
  })
  return [
    `${shortId(run)}  ${names.length === 0 ? 'nothing' : names.join(', ')} ${dry ? 'would be removed' : 'removed'}`,
    ...stay,
    ...(result !== undefined && !folder ? [`  stays   ${oneLine(result)}: the only copy of its result`] : []),
  ]
}

const HEADS = 'refs/heads/'

function kept(count: number): readonly string[] {
  return count === 0 ? [] : [`${plural(count, 'kept commit')}`]
}
