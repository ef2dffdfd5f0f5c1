// What a node that does many short runs keeps of them, each watched again after its end: the heap after a full
// collection, as their number grows.
// node --expose-gc --conditions parley-source bench/alx/memory.ts [--ended N] [--tasks N] [--runs N]
import { parseArgs } from 'node:util'
import type { RunId } from '@parley/core'
import { machine, table } from '../trail/measure.ts'
import { Runs } from './runs.ts'

const { values } = parseArgs({
  options: { ended: { type: 'string' }, tasks: { type: 'string' }, runs: { type: 'string' } },
})
const concurrency = Number(values.runs ?? 64)
/** The first part is what caches need to be full. */
const PARTS = [0.2, 0.6, 1] as const

async function heap(): Promise<number> {
  // Twice, with a turn of the loop between: what a finalizer lets go of goes with the second.
  for (let time = 0; time < 2; time++) {
    await new Promise(resolve => setImmediate(resolve))
    globalThis.gc!()
  }
  return process.memoryUsage().heapUsed
}

async function measure(name: string, total: number, one: (side: Runs) => () => Promise<RunId>): Promise<string[]> {
  const side = await Runs.open(concurrency)
  try {
    const next = one(side)
    const heaps: number[] = []
    let done = 0
    for (const part of PARTS) {
      const until = Math.round(total * part)
      const worker = async () => {
        while (done < until) {
          done++
          // Once more when it is over, as a client does that comes back for its answer.
          await side.watch(await next())
        }
      }
      await Promise.all(Array.from({ length: concurrency }, worker))
      heaps.push(await heap())
    }
    const perRun = (heaps[2]! - heaps[0]!) / (total * (PARTS[2] - PARTS[0]))
    return [name, `${total}`, ...heaps.map(bytes => (bytes / 1_048_576).toFixed(1)), perRun.toFixed(0)]
  } finally {
    await side.close()
  }
}

if (!globalThis.gc) throw new Error('Start it with --expose-gc.')
console.log(
  `${new Date().toISOString().slice(0, 10)}, ${machine()}, ${concurrency} at once; MB after a full collection\n`,
)
const head = ['', 'runs', '20 %', '60 %', '100 %', 'bytes for each run after 20 %']
const rows = [
  await measure('runs that end as they begin', Number(values.ended ?? 20_000), side => side.starterOfEnded()),
  await measure('runs of one task of one function', Number(values.tasks ?? 5_000), side => side.starterOfTasks()),
]
console.log(table(head, rows))
