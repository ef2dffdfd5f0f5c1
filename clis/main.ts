// `npm run clis`: the real coding CLIs, as Parley ships them, against a scripted model on loopback. Exit codes: 0 all
// works, 1 something does not, 2 wrong use.
import { parseArgs } from 'node:util'
import { bundled } from '@parley/node/testing'
import { checks } from './checks/index.ts'
import { binFolder, cacheFolder, install } from './install.ts'
import { isolated, rerunIsolated } from './isolate.ts'
import { clisLimits } from './limits.ts'
import { type Program, programs } from './programs.ts'
import { record, recordings } from './record.ts'
import { closeAll, type Outcome, runAll } from './run.ts'
import { writeTable } from './table.ts'

const USAGE = `usage: npm run clis -- [--only PROGRAM,…] [--check CHECK,…] [--write] [--json] [--keep] [--verbose] [--jobs N]

  --only PROGRAM,…  only these programs: ${programs.map(({ name }) => name).join(', ')}
  --check CHECK,…   only these checks: ${checks.map(({ name }) => name).join(', ')}
  --write           put what was seen into the table of docs/guide/agents.md
  --record          keep what each program prints in a turn, as fixtures of the tests of its parser
  --turn TURN,…     only these turns: ${Object.keys(recordings).join(', ')}
  --json            print the outcomes as one JSON value
  --keep            keep the folder of each check that fails, with the log of its node
  --verbose         print what each check asked of the model
  --jobs N          checks at once (${clisLimits.jobs})

Installs the programs into ${cacheFolder()} (PARLEY_CLIS_CACHE names another place).`

const { values } = parse()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const chosenPrograms = chosen('only', programs)
const chosenChecks = chosen('check', checks)
const jobs = Number(values.jobs ?? clisLimits.jobs)
if (!Number.isInteger(jobs) || jobs < 1 || jobs > 16) wrong('--jobs must be a number from 1 to 16')
const cache = cacheFolder()

if (!isolated) {
  for (const program of chosenPrograms) install(cache, program, text => console.error(text))
  // Also made here: the checks have no time to wait for it.
  await bundled()
  const code = await rerunIsolated()
  if (code !== undefined) process.exit(code)
  console.error('This machine has no network namespaces (unshare --net): the programs could reach the network.')
}

const around = {
  programs: chosenPrograms,
  bundle: await bundled(),
  bin: (program: Program) => binFolder(cache, program),
  jobs,
  keep: values.keep === true,
  verbose: values.verbose === true,
}
if (values.record) {
  const turns = chosen(
    'turn',
    Object.keys(recordings).map(name => ({ name })),
  )
  await record(
    around,
    turns.map(({ name }) => name),
    text => console.log(text),
  )
  process.exit(0)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void closeAll().finally(() => process.exit(130)))

const tell = (outcome: Outcome) => {
  if (!values.json) console.log(line(outcome))
}
const outcomes = await runAll({ ...around, checks: chosenChecks, tell })
if (values.write) writeTable(outcomes, new Date())
const failed = outcomes.filter(({ failure }) => failure !== undefined)
if (values.json) console.log(JSON.stringify({ isolated, outcomes }, null, 2))
else console.log(`${outcomes.length - failed.length} of ${outcomes.length} work${isolated ? '' : ', not isolated'}`)
process.exit(failed.length > 0 ? 1 : 0)

function line({ program, check, failure, measured, seconds, kept }: Outcome): string {
  const what = `${failure === undefined ? '✓' : '✗'} ${program.padEnd(9)} ${check.padEnd(14)} ${seconds.toFixed(1)} s`
  return [what, ...[failure ?? measured ?? []].flat(), ...(kept === undefined ? [] : [`kept in ${kept}`])].join('  ')
}

function chosen<T extends { readonly name: string }>(flag: 'only' | 'check' | 'turn', all: readonly T[]): readonly T[] {
  const names = values[flag]?.split(',') ?? all.map(({ name }) => name)
  const unknown = names.find(name => !all.some(each => each.name === name))
  if (unknown !== undefined) wrong(`--${flag}: there is no '${unknown}'`)
  return all.filter(({ name }) => names.includes(name))
}

function parse() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        check: { type: 'string' },
        write: { type: 'boolean' },
        record: { type: 'boolean' },
        turn: { type: 'string' },
        json: { type: 'boolean' },
        keep: { type: 'boolean' },
        verbose: { type: 'boolean' },
        jobs: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (thrown) {
    return wrong((thrown as Error).message)
  }
}

function wrong(message: string): never {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}
