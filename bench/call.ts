// bench/call: an echo of 100 bytes and a stream between two processes, beside the bare socket and other ways to call in
// the same run. npm run bench -- call [--seconds N] [--sides bareUnix,parleyUnix] [--calls 1,64,1000] [--short]
//
// Every side is measured for N seconds in each column, in short rounds that take turns, so that what else the machine
// does meets all alike.
import { parseArgs } from 'node:util'
import { End, Pair, type Seen } from './call/pair.ts'
import { CARRIERS, ENTRIES } from './call/sides.ts'
import { Leftovers } from './kernel-peers/leftovers.ts'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    sides: { type: 'string' },
    calls: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})
const ROUNDS = values.short ? 2 : 7
const MILLISECONDS = (Number(values.seconds ?? (values.short ? 0.1 : 3)) * 1000) / ROUNDS
const SIDES = values.sides?.split(',') ?? (values.short ? ['bareUnix', 'parleyUnix'] : Object.keys(ENTRIES))
const AT_ONCE = (values.calls ?? (values.short ? '1,64' : '1,64,1000')).split(',').map(Number)
const WARM_VALUES = values.short ? 500 : 20_000
const COLUMNS = [...AT_ONCE.map(atOnce => `${rate(atOnce)} at once`), 'stream']
const STREAM = AT_ONCE.length

/** The rounds of one side, by column. */
interface Row {
  readonly pair: Pair
  readonly columns: readonly Seen[][]
  /** Values of a stream that take about one round. */
  readonly values: number
}

async function start(): Promise<Row[]> {
  const rows: Row[] = []
  for (const key of SIDES) {
    const entry = ENTRIES[key]
    if (!entry) throw new Error(`there is no side '${key}'; sides: ${Object.keys(ENTRIES).join(', ')}`)
    const pair = await Pair.start(key, entry)
    if (!pair) continue
    for (const atOnce of AT_ONCE) await pair.calls(atOnce, Math.min(500, MILLISECONDS))
    await pair.stream(WARM_VALUES)
    const { perSecond } = await pair.stream(WARM_VALUES)
    rows.push({
      pair,
      columns: COLUMNS.map(() => []),
      values: Math.ceil((perSecond * MILLISECONDS) / 1000),
    })
  }
  return rows
}

async function round(rows: readonly Row[]): Promise<void> {
  for (const [column, atOnce] of AT_ONCE.entries())
    for (const { pair, columns } of rows) columns[column]!.push(await pair.calls(atOnce, MILLISECONDS))
  for (const { pair, columns, values: count } of rows) columns[STREAM]!.push(await pair.stream(count))
}

type Figure = 'perSecond' | 'p50' | 'p99' | 'processor'

const typical = (rounds: readonly Seen[], of: Figure) => median(rounds.map(each => each[of]))

/** The median of the ratios of rounds that ran one after another. */
function times(rounds: readonly Seen[], others: readonly Seen[], of: Figure): number {
  return median(rounds.map((each, index) => each[of] / others[index]![of]))
}

function report(carrier: string, rows: readonly Row[]): void {
  const latencies = AT_ONCE.flatMap((_, column) => [`${COLUMNS[column]}`, 'p50 µs', 'p99 µs'])
  const figures = rows.map(({ pair, columns }) => [
    pair.name,
    ...columns.flatMap((rounds, column) => [
      rate(typical(rounds, 'perSecond')),
      ...(column === STREAM ? [] : [rate(typical(rounds, 'p50')), rate(typical(rounds, 'p99'))]),
    ]),
  ])
  console.log(`\n${table([`calls per second, ${carrier}`, ...latencies, 'values of a stream'], figures)}`)
  const processor = rows.map(({ pair, columns }) => [
    pair.name,
    ...columns.map(rounds => typical(rounds, 'processor').toFixed(1)),
  ])
  console.log(`\n${table(['processor time for each, µs in both processes', ...COLUMNS], processor)}`)
  compare(carrier, rows)
}

function compare(carrier: string, rows: readonly Row[]): void {
  const parley = rows.find(({ pair }) => pair.entry.role === 'parley')
  const bare = rows.find(({ pair }) => pair.entry.role === 'bare')
  const peers = rows.filter(({ pair }) => pair.entry.role === 'peer')
  if (!parley) return
  const compared: string[][] = []
  const beside = (name: string, other: Row, of: Figure) =>
    compared.push([
      name,
      ...parley.columns.map((rounds, column) =>
        of === 'p50' && column === STREAM ? '' : ratio(times(rounds, other.columns[column]!, of)),
      ),
    ])
  if (bare) {
    beside('calls, times the bare socket', bare, 'perSecond')
    beside("p50, times the bare socket's", bare, 'p50')
    beside("processor time, times the bare socket's", bare, 'processor')
  }
  const limit = rows.find(({ pair }) => pair.entry.role === 'limit')
  if (limit) beside(`calls, times the ${limit.pair.name}`, limit, 'perSecond')
  if (peers.length > 0) {
    const best = (rounds: readonly Seen[], column: number) => {
      const rates = (row: Row) => typical(row.columns[column]!, 'perSecond')
      const winner = peers.reduce((one, other) => (rates(other) > rates(one) ? other : one))
      return `${ratio(times(rounds, winner.columns[column]!, 'perSecond'))} (${winner.pair.entry.name})`
    }
    compared.push(['calls, times the best peer', ...parley.columns.map(best)])
  }
  if (compared.length > 0) console.log(`\n${table([`Parley, ${carrier}`, ...COLUMNS], compared)}`)
}

async function invokes(): Promise<number> {
  const leftovers = new Leftovers()
  const end = new End(leftovers, ['local'])
  await end.answer()
  const rounds: number[] = []
  for (let each = 0; each <= ROUNDS; each++)
    rounds.push(await end.order<number>({ do: 'invokes', milliseconds: MILLISECONDS }))
  await end.stop()
  leftovers.remove()
  return median(rounds.slice(1))
}

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}`)
const rows = await start()
try {
  for (let each = 0; each < ROUNDS; each++) await round(rows)
} finally {
  for (const { pair } of rows) await pair.stop()
}
for (const carrier of CARRIERS) {
  const sides = rows.filter(({ pair }) => pair.entry.carrier === carrier)
  if (sides.length > 0) report(carrier, sides)
}
console.log(`\nlocal env.invoke: ${rate(await invokes())} per second, one after another`)
