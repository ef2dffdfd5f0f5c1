// Runs through the coordinator on a real trail on disk: such that end as they begin, and such with one task of one
// function. Beside them the whole tasks of bench/kernel, so that a busy machine is busy for all. Later a part of
// bench/alx; until then: node --conditions parley-source bench/alx/coordinator.ts [--seconds N] [--runs N] [--short]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { functionAdapter } from '@parley/agents'
import { Coordinator, coordinatorRunPort, type RunSetup, soloTeam } from '@parley/coordinator'
import { ok, type Principal, type RunEnd, type RunPort, unwrap } from '@parley/core'
import { openTrail, type Trail } from '@parley/trail'
import { Parley } from '../kernel/parley.ts'
import { loops, machine, rate, ratio, table } from '../trail/measure.ts'

const user: Principal = { id: 'bench', kind: 'user', scopes: ['owner'] }
/** What a run of each kind has to reach of the other side of its comparison. */
const GOALS = { ended: 1, task: 0.5 } as const

export class Runs {
  readonly #folder: string
  readonly #trail: Trail
  readonly #coordinator: Coordinator
  #keys = 0

  private constructor(folder: string, trail: Trail, coordinator: Coordinator) {
    this.#folder = folder
    this.#trail = trail
    this.#coordinator = coordinator
  }

  static async open(concurrency: number): Promise<Runs> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
    const trail = await openTrail(folder)
    const coordinator = await Coordinator.open({
      trail,
      profile: folder,
      secret: Buffer.alloc(32, 1),
      runs: concurrency * 2,
      turns: concurrency,
      adapter: ({ name }) => functionAdapter(name, () => 'done'),
      worksWithoutFolder: () => true,
    })
    return new Runs(folder, trail, coordinator)
  }

  async close(): Promise<void> {
    await this.#coordinator.close()
    await this.#trail.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #port(setup: RunSetup): RunPort {
    return coordinatorRunPort({
      coordinator: this.#coordinator,
      trail: this.#trail,
      setup: async () => ok(setup),
      costUnknown: () => false,
    })
  }

  async #start(port: RunPort) {
    const key = { text: `${this.#keys++}`, reuse: 'always' } as const
    return unwrap(await port.start({ principal: user, intent: 'Do nothing.', origin: 'bench', key })).run
  }

  /** Ended and durable when they are counted. */
  async ended(concurrency: number, milliseconds: number): Promise<number> {
    const port = this.#port({ ends: { outcome: 'complete', text: 'done' } })
    const one = () => this.#start(port)
    await one()
    await loops(concurrency, milliseconds / 4, one)
    return loops(concurrency, milliseconds, one)
  }

  /** From the start until whoever watches has the end. */
  async tasks(concurrency: number, milliseconds: number): Promise<number> {
    const team = { ...soloTeam('worker', { function: 'nothing', slots: concurrency }), approval: 'none' as const }
    const port = this.#port({ team, approved: true })
    const one = async () => {
      const run = await this.#start(port)
      let end: RunEnd | undefined
      for await (const page of port.watch(run, { principal: user })) end = page.end
      if (end?.outcome !== 'complete') throw new Error(`a run came to ${JSON.stringify(end)}`)
    }
    await one()
    await loops(concurrency, milliseconds / 4, one)
    return loops(concurrency, milliseconds, one)
  }
}

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
const ended = await measured(Runs.open(runs), each => each.ended(runs, milliseconds))
const task = await measured(Runs.open(runs), each => each.tasks(runs, milliseconds))
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
