// bench/versus: this version beside an older one, in rounds that alternate, so that what the machine does meanwhile
// hits both. Ratios above 1 mean that this version is faster. npm run bench -- versus --base REVISION [--rounds N]
// [--columns REGEXP] [--times] -- NAME [arguments of that benchmark]. `--times` compares the tables of milliseconds
// instead of the rates. `versus --short` compares this version with itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

/** Rates of Parley itself in the tables of `trail` and `kernel`; latencies and peers are left out. */
const RATES = '^(|trail|trail, signed|[0-9,]+ at once|values of a stream)$'
/** Of times, those that a single slow moment does not decide. */
const TIMES = '^(p50|median)$'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
    columns: { type: 'string' },
    times: { type: 'boolean', default: false },
  },
})
const { base: revision = 'HEAD' } = values
const rounds = Number(values.rounds ?? (values.short ? 1 : 15))
const [name, ...args] = values.short ? ['canonical', '--short'] : positionals
if ((values.base === undefined && !values.short) || name === undefined) {
  console.error(
    'usage: npm run bench -- versus --base REVISION [--rounds N] [--columns REGEXP] [--times] -- NAME [arguments]',
  )
  process.exit(2)
}
const columns = new RegExp(values.columns ?? (values.short ? '^canonicalize$' : values.times ? TIMES : RATES))
/** Tables and rows of times and ratios, of which less may be better. */
const NO_RATE = /µs|\bms\b|\btimes\b/
const A_TIME = /\bms\b/
const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'parley-versus-'))
const base = values.short ? root : join(folder, 'base')
const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim()

/** The rates (or the times) that a benchmark prints, by row and column of its tables. */
function figuresIn(output: string): Map<string, number> {
  const figures = new Map<string, number>()
  let head: readonly string[] | undefined
  for (const line of output.split('\n')) {
    if (!line.startsWith('|')) head = undefined
    const cells = line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim())
    if (cells.length === 0 || /^-+:?$/.test(cells[0]!)) continue
    if (!head) {
      head = cells
      continue
    }
    if (values.times ? !A_TIME.test(head[0]!) : NO_RATE.test(head[0]!) || NO_RATE.test(cells[0]!)) continue
    for (const [index, cell] of cells.entries()) {
      const value = Number(cell.replaceAll(',', ''))
      if (index > 0 && columns.test(head[index]!) && value > 0)
        figures.set(`${rowOf(cells, head)}, ${head[index]}`, value)
    }
  }
  return figures
}

/** Two tables of times have rows of the same names: there the table's own name tells them apart. */
function rowOf(cells: readonly string[], head: readonly string[]): string {
  return values.times ? `${head[0]}: ${cells[0]}` : cells[0]!
}

function run(tree: string): Map<string, number> {
  const command = [...process.execArgv, join(tree, 'bench', `${name}.ts`), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: tree, encoding: 'utf8' })
  if (status === 0) return figuresIn(stdout)
  console.error(stderr)
  throw new Error(`${name} of ${tree} ended with ${status}`)
}

try {
  if (base !== root) {
    git('worktree', 'add', '--detach', base, revision)
    execFileSync('npm', ['install', '--ignore-scripts', '--no-fund', '--no-audit', '--no-package-lock'], {
      cwd: base,
      stdio: 'ignore',
    })
  }
  const seen = new Map<string, { old: number[]; now: number[]; ratios: number[] }>()
  for (let round = 0; round < rounds; round++) {
    // Whoever comes second may find a warmer machine: they take turns.
    const first = round % 2 === 0 ? run(base) : undefined
    const now = run(root)
    const old = first ?? run(base)
    for (const [what, value] of now) {
      const before = old.get(what)
      if (before === undefined) continue
      const each = seen.get(what) ?? { old: [], now: [], ratios: [] }
      each.old.push(before)
      each.now.push(value)
      each.ratios.push(values.times ? before / value : value / before)
      seen.set(what, each)
    }
    console.error(`round ${round + 1} of ${rounds}`)
  }
  console.log(`${new Date().toISOString().slice(0, 10)} · ${machine()}`)
  console.log(
    `\n${name} ${args.join(' ')}: ${git('rev-parse', '--short', 'HEAD')} beside ${git('rev-parse', '--short', revision)}, median of ${rounds} alternating rounds\n`,
  )
  const figure = values.times ? (ms: number) => ms.toFixed(1) : rate
  const rows = [...seen].map(([what, { old, now, ratios }]) => [
    what,
    figure(median(old)),
    figure(median(now)),
    ratio(median(ratios)),
  ])
  console.log(table([values.times ? 'time' : 'per second', 'before', 'now', 'median ratio'], rows))
  const all = [...seen.values()].flatMap(({ ratios }) => ratios)
  console.log(`\nmedian of all ${all.length} ratios: ${ratio(median(all))}`)
} finally {
  if (base !== root) spawnSync('git', ['worktree', 'remove', '--force', base], { cwd: root })
  rmSync(folder, { recursive: true, force: true })
}
