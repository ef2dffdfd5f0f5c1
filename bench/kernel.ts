// bench/kernel: durable envelopes, durable steps and whole tasks, beside the bare sync of the disk and the same
// ten-step workflow on DBOS and on Restate in the same run. npm run bench -- kernel [--seconds N] [--runs 1,64,1000]
// [--no-peers] [--short]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Parley } from './kernel/parley.ts'
import type { PeerResult, PeerStart } from './kernel-peers/peer.ts'
import { BareFile } from './trail/bare-file.ts'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    runs: { type: 'string' },
    'no-peers': { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
})
const SECONDS = Number(values.seconds ?? (values.short ? 0.05 : 6))
const RUNS = (values.runs ?? (values.short ? '2' : '1,64,1000')).split(',').map(Number)
const PEERS = !values['no-peers'] && !values.short

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc') as typeof globalThis.gc

/** Milliseconds of writing 1 KiB behind what is there and syncing it: the median of a second, or less. */
async function bareSync(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const file = new BareFile(join(folder, 'bare'), false)
  const times: number[] = []
  const entry = Buffer.alloc(1024, 1)
  const end = performance.now() + Math.min(1000, SECONDS * 1000)
  while (performance.now() < end) {
    const start = performance.now()
    await file.append(entry)
    times.push(performance.now() - start)
  }
  file.close()
  rmSync(folder, { recursive: true, force: true })
  return median(times)
}

async function measured<T>(signed: boolean, measure: (parley: Parley) => Promise<T>): Promise<T> {
  const parley = await Parley.open(signed)
  try {
    return await measure(parley)
  } finally {
    await parley.close()
  }
}

async function peer(start: PeerStart): Promise<{ name: string; results: (PeerResult | undefined)[] }> {
  const started = await start()
  if ('unavailable' in started) return { name: started.name, results: RUNS.map(() => undefined) }
  const results: PeerResult[] = []
  try {
    for (const runs of RUNS) results.push(await started.measure(runs, SECONDS))
  } finally {
    await started.stop()
  }
  return { name: `${started.name} ${started.version}`, results }
}

const ms = (value: number) => value.toFixed(2)
const cells = (result: PeerResult | undefined) =>
  result ? [rate(result.stepsPerSecond), ms(result.p50), ms(result.p99)] : ['–', '–', '–']

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}\n`)
const sync = [await bareSync()]

const steps: { name: string; results: (PeerResult | undefined)[] }[] = []
for (const [name, signed, whole] of [
  ['Parley, steps', true, false],
  ['Parley, steps, not signed', false, false],
  ['Parley, whole workflows', true, true],
  ['Parley, whole workflows, not signed', false, true],
] as const) {
  const results: PeerResult[] = []
  for (const runs of RUNS)
    results.push(
      await measured(signed, parley => (whole ? parley.workflows(runs, SECONDS) : parley.steps(runs, SECONDS))),
    )
  steps.push({ name, results })
  sync.push(await bareSync())
}
if (PEERS) {
  // Named while it runs: their packages are installed for this comparison alone.
  for (const [file, name] of [
    ['dbos', 'startDbos'],
    ['restate', 'startRestate'],
  ]) {
    const { [name!]: start } = (await import(`./kernel-peers/${file}.ts`)) as Record<string, PeerStart>
    steps.push(await peer(start!))
  }
}
sync.push(await bareSync())

const head = ['durable steps per second', ...RUNS.flatMap(runs => [`${runs} at once`, 'p50 ms', 'p99 ms'])]
console.log(
  table(
    head,
    steps.map(({ name, results }) => [name, ...results.flatMap(cells)]),
  ),
)

const peers = steps.slice(4)
const better = RUNS.map((_, index) => Math.max(...peers.map(({ results }) => results[index]?.stepsPerSecond ?? 0)))
if (peers.length > 0) {
  const against = steps
    .slice(0, 4)
    .map(({ name, results }) => [
      name,
      ...results.map((result, index) => ratio((result?.stepsPerSecond ?? Number.NaN) / better[index]!)),
    ])
  console.log(`\n${table(['times the better peer', ...RUNS.map(runs => `${runs} at once`)], against)}`)
}

const bare = median(sync)
console.log(`\nbare sync: ${ms(bare)} ms; goal for a step at one run: ${ms(1.5 * bare + 0.2)} ms`)

const mail: string[][] = []
for (const signed of [true, false]) {
  const row = [signed ? 'envelopes' : 'envelopes, not signed']
  for (const runs of RUNS) {
    const result = await measured(signed, parley => parley.envelopes(runs, SECONDS * 1000))
    row.push(rate(result.perSecond), ms(result.p50), ms(result.p99))
  }
  mail.push(row)
}
console.log(`\n${table(['durable envelopes per second', ...head.slice(1)], mail)}`)

const whole: string[][] = []
for (const signed of [true, false]) {
  const row = [signed ? 'tasks' : 'tasks, not signed']
  for (const runs of RUNS) row.push(rate(await measured(signed, parley => parley.tasks(runs, SECONDS * 500))))
  whole.push(row)
}
console.log(`\n${table(['whole tasks per second', ...RUNS.map(runs => `${runs} at once`)], whole)}`)

const memory = await measured(true, parley => parley.memory(values.short ? 50 : 1000))
console.log(`\nheap per open run ${rate(memory.run)} bytes, per idle workspace ${rate(memory.workspace)} bytes`)
