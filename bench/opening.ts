// bench/opening: how long a node takes to open what it left behind, a very long run or very many short ones, until
// every run takes commands: with the state cache and without it, each in a fresh process, from the same files. npm run
// bench -- opening [--entries N] [--runs N] [--rounds N] [--short]
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type RunHandle, Runtime } from '@parley/kernel'
import { fileStateCache, openTrail } from '@parley/trail'
import { longRun, shortRun } from './opening/long-run.ts'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values } = parseArgs({
  options: {
    entries: { type: 'string' },
    runs: { type: 'string' },
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})
const ENTRIES = Number(values.entries ?? (values.short ? 2000 : 1_000_000))
const RUNS = Number(values.runs ?? (values.short ? 5 : 1000))
const ROUNDS = Number(values.rounds ?? (values.short ? 1 : 3))
const scratch = mkdtempSync(join(tmpdir(), 'parley-bench-'))

interface Opening {
  readonly trail: number
  readonly runtime: number
  readonly command: number
  readonly whole: number
  /** Of the whole process from its start, on all threads. */
  readonly cpu: number
  readonly stalled: number
  readonly stop: number
  readonly stopStalled: number
  readonly faults: readonly string[]
}

/** Fills a profile and stops in good order, or keeps the states as a crash would have left them. */
async function fill(name: string, work: (runtime: Runtime) => Promise<unknown>): Promise<string> {
  const profile = join(scratch, name)
  const trail = await openTrail(profile)
  const stateCache = fileStateCache(join(profile, 'states'))
  const runtime = await Runtime.open({ trail, level: 1, secret: Buffer.alloc(32, 1), stateCache })
  await work(runtime)
  if (existsSync(join(profile, 'states')))
    cpSync(join(profile, 'states'), join(profile, 'crashed'), { recursive: true })
  await runtime.close()
  await trail.close()
  return profile
}

/** Opens a copy: opening writes. */
function open(profile: string, states: string | undefined): Opening {
  const copy = join(scratch, 'copy')
  cpSync(profile, copy, { recursive: true })
  const file = join(import.meta.dirname, 'opening', 'open.ts')
  const args = [...process.execArgv, file, copy, ...(states ? [join(copy, states)] : [])]
  const said = execFileSync(process.execPath, args, { encoding: 'utf8' })
  rmSync(copy, { recursive: true })
  const opening = JSON.parse(said) as Opening
  for (const fault of opening.faults) console.error(fault)
  return opening
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

function compare(profile: string, ways: readonly (readonly [name: string, states: string | undefined])[]) {
  const rows: string[][] = []
  let slowest = Number.NaN
  // One way is enough to see whether it works.
  for (const [name, states] of values.short ? ways.slice(-1) : ways) {
    const all = Array.from({ length: ROUNDS }, () => open(profile, states))
    const of = (key: Exclude<keyof Opening, 'faults'>) => median(all.map(each => each[key]))
    if (Number.isNaN(slowest)) slowest = of('whole')
    rows.push([
      name,
      ms(of('trail')),
      ms(of('runtime')),
      ms(of('command')),
      ms(of('whole')),
      ratio(slowest / of('whole')),
      ms(of('cpu')),
      ms(of('stalled')),
      ms(of('stop')),
      ms(of('stopStalled')),
    ])
  }
  const head = [
    '',
    'trail',
    'runtime',
    'first command',
    'whole',
    'times as fast',
    'CPU time',
    'longest stall',
    'stop',
    'its stall',
  ]
  console.log(`\n${table(head, rows)}`)
}

const ms = (value: number) => `${rate(value)} ms`
const MB = (value: number) => `${rate(value / 1e6)} MB`

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}`)
try {
  let run: RunHandle | undefined
  const long = await fill('long', async runtime => {
    run = await longRun(runtime, ENTRIES)
  })
  console.log(`\n## One run of ${rate(ENTRIES)} entries (${run?.id})\n`)
  console.log(`trail ${MB(bytesIn(join(long, 'trail')))}, its state ${MB(bytesIn(join(long, 'states')))}`)
  compare(long, [
    ['without a state cache', undefined],
    ['after a crash', 'crashed'],
    ['after a stop in good order', 'states'],
  ])
  const short = await fill('short', async runtime => {
    for (let count = 0; count < RUNS; count++) await shortRun(runtime)
  })
  console.log(`\n## ${rate(RUNS)} runs that have just begun\n`)
  compare(short, [
    ['without a state cache', undefined],
    ['with one', 'states'],
  ])
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
