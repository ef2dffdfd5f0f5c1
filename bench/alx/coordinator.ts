// Runs through the coordinator (runs.ts), such that end as they begin and such with one task, beside the whole tasks of
// bench/kernel, so that a busy machine is busy for all. Later a part of bench/alx; until then:
// node --conditions parley-source bench/alx/coordinator.ts [--seconds N] [--runs N] [--short]
import { parseArgs } from 'node:util'
import { Parley } from '../kernel/parley.ts'
import { machine, rate, ratio, table } from '../trail/measure.ts'
import { Runs } from './runs.ts'

/** What a run of each kind has to reach of the other side of its comparison. */
const GOALS = { ended: 1, task: 0.5 } as const

interface Measured {
  readonly perSecond: number
  /** Milliseconds of processor time for each, of all threads: another program does not change it much. */
  readonly processor: number
}

async function measured<T extends { close(): Promise<void> }>(
  open: Promise<T>,
  measure: (side: T) => Promise<number>,
): Promise<Measured> {
  const side = await open
  try {
    const [before, began] = [process.cpuUsage(), performance.now()]
    const perSecond = await measure(side)
    const { user, system } = process.cpuUsage(before)
    const done = (perSecond * (performance.now() - began)) / 1000
    return { perSecond, processor: (user + system) / 1000 / done }
  } finally {
    await side.close()
  }
}

const { values } = parseArgs({
  options: { seconds: { type: 'string' }, runs: { type: 'string' }, short: { type: 'boolean', default: false } },
})
const milliseconds = Number(values.seconds ?? (values.short ? 0.05 : 4)) * 1000
const runs = Number(values.runs ?? (values.short ? 2 : 64))

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}, ${runs} at once\n`)
const kernel = [await measured(Parley.open(true), parley => parley.tasks(runs, milliseconds))]
const ended = await measured(Runs.open(runs), each => each.ended(milliseconds))
const task = await measured(Runs.open(runs), each => each.tasks(milliseconds))
kernel.push(await measured(Parley.open(true), parley => parley.tasks(runs, milliseconds)))
const mean = (of: keyof Measured) => (kernel[0]![of] + kernel[1]![of]) / 2
const whole: Measured = { perSecond: mean('perSecond'), processor: mean('processor') }
const row = (name: string, { perSecond, processor }: Measured, goal: number) => [
  name,
  rate(perSecond),
  ratio(perSecond / whole.perSecond),
  ratio(goal),
  processor.toFixed(2),
  ratio(processor / whole.processor),
]
const head = ['', 'per second', 'times the whole tasks', 'goal', 'processor ms', 'times the whole tasks']
console.log(
  table(head, [
    row('whole tasks of the kernel', whole, 1),
    row('runs that end as they begin', ended, GOALS.ended),
    row('runs of one task of one function', task, GOALS.task),
  ]),
)
