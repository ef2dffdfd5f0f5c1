// bench/tiers: many finished runs in the log, in files of their own, and in the cold tier: the room they take, what
// moving them costs, how fast each is read, and the cold copy verified alone. npm run bench -- tiers [--runs 1000]
// [--entries 1000] [--unsigned] [--short]
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { formatTimestamp, type RunId, StrictClock, SystemClock, SystemIds, unwrap } from '@parley/core'
import { openCold, openTrail, type Trail } from '@parley/trail'
import { ed25519Signer, ScriptedRun } from '@parley/trail/testing'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    entries: { type: 'string' },
    short: { type: 'boolean', default: false },
    unsigned: { type: 'boolean', default: false },
  },
})
const RUNS = Number(values.runs ?? (values.short ? 4 : 1000))
const ENTRIES = Number(values.entries ?? (values.short ? 50 : 1000))
/** Runs that are written at the same time, as those of a busy node are. */
const AT_ONCE = 20
/** Runs between two times that the log is freed. */
const BATCH = 50
const SAMPLES = 40

const scratch = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const profile = join(scratch, 'profile')
const replica = join(scratch, 'replica')
const ids = new SystemIds()
const clock = new StrictClock(new SystemClock())
const signer = values.unsigned ? null : ed25519Signer(Buffer.alloc(32, 1))

function bytesIn(path: string): number {
  if (!existsSync(path)) return 0
  const found = statSync(path)
  // What the disk gives for it, in blocks, and not what the file says.
  if (!found.isDirectory()) return found.blocks * 512
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0)
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`

/** A run of a coordinator and four workers: envelopes, signals and state changes as they occur, objects beside them. */
async function writeRun(trail: Trail): Promise<RunId> {
  const script = await ScriptedRun.start(trail, ids, clock)
  const workers = await Promise.all(Array.from({ length: 4 }, () => script.workspace()))
  for (let left = ENTRIES - 10; left > 0; left -= 4) {
    const worker = workers[left % workers.length]!
    const envelope_id = ids.next('env')
    const address = { envelope_id, from: script.root, to: worker }
    const payload = {
      id: ids.next('obj') as never,
      kind: 'payload',
      value: { task: `Step ${left}`, text: ids.next('t').repeat(6) },
    }
    const written = await script.appendWith(
      [payload],
      script.entry('envelope_created', script.root, 'system', { ...address, in_reply_to: null }),
      script.entry('envelope_delivered', worker, 'protocol', address),
      script.entry('liveness_warning', worker, 'protocol', { workspace_id: worker }),
      script.entry('checkpoint_created', worker, 'worker', {
        checkpoint_id: ids.next('cp'),
        workspace: worker,
      }),
    )
    unwrap(written)
  }
  for (const worker of workers)
    await script.state(worker, 'integrating', 'closed', { trigger: 'integration_succeeded' })
  await script.end()
  const { id } = script.run
  await trail.release(id)
  return id
}

async function writeAll(trail: Trail): Promise<RunId[]> {
  const runs: RunId[] = []
  for (let left = RUNS; left > 0; left -= AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, left) }, () => writeRun(trail))
    runs.push(...(await Promise.all(some)))
  }
  return runs
}

/** The last 50 entries of runs chosen over the whole range, each asked for once. */
async function queryTime(trail: Trail, runs: readonly RunId[], event_type: string): Promise<string> {
  const times: number[] = []
  for (let sample = 0; sample < SAMPLES; sample++) {
    const run = runs[Math.floor((sample * runs.length) / SAMPLES)]!
    const start = performance.now()
    const page = unwrap(await trail.run(run).query({ event_type, order: 'descending', limit: 50 }))
    times.push(performance.now() - start)
    if (page.entries.length === 0 || page.partial) throw new Error(`${run} cannot be read`)
    await trail.release(run)
  }
  return `${median(times).toFixed(2)} ms (most ${Math.max(...times).toFixed(1)})`
}

async function compactAll(trail: Trail, runs: readonly RunId[]): Promise<void> {
  const compactor = trail.storage
  for (const [index, id] of runs.entries()) {
    const root = unwrap(await trail.run(id).query({ limit: 1 })).entries[0]!.workspace!
    const script = new ScriptedRun(trail, ids, clock, { run: id, root })
    for (;;) {
      const { summaries, done } = unwrap(await compactor.compactRun(id, formatTimestamp(clock.take())))
      if (done) break
      unwrap(await script.append(...summaries))
    }
    await trail.release(id)
    if (index % BATCH === BATCH - 1) unwrap(await compactor.reclaim())
  }
  unwrap(await compactor.reclaim())
}

interface Timed<T> {
  readonly result: T
  readonly milliseconds: number
  /** The longest that the event loop stood still. */
  readonly stall: number
}

async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const start = performance.now()
  const result = await work()
  const milliseconds = performance.now() - start
  delays.disable()
  return { result, milliseconds, stall: delays.max / 1e6 }
}

interface Sizes {
  readonly log: number
  readonly runs: number
  readonly cold: number
}

function sizes(): Sizes {
  const folder = join(profile, 'trail')
  const log = readdirSync(folder).filter(name => name.endsWith('.seg'))
  return {
    log: log.reduce((sum, name) => sum + bytesIn(join(folder, name)), 0),
    runs: bytesIn(join(folder, 'runs')),
    cold: bytesIn(join(folder, 'cold')),
  }
}

const together = ({ log, runs, cold }: Sizes) => log + runs + cold

/**
 * One phase of the trail's life, and what it takes once the trail is closed: without what was laid out for appends to
 * come.
 */
async function phase<T>(work: (trail: Trail) => Promise<T>): Promise<Timed<T>> {
  const trail = await openTrail(profile, { signer, replica })
  try {
    clock.anchor(trail.floor)
    return await timed(() => work(trail))
  } finally {
    await trail.close()
  }
}

async function tiers(): Promise<void> {
  mkdirSync(profile)
  mkdirSync(replica)
  const total = RUNS * ENTRIES
  const rows: string[][] = []
  const reads: string[][] = []
  const row = (name: string, size: Sizes, { milliseconds, stall }: Timed<unknown>, hot: Sizes) => {
    const figures = [size.log, size.runs, size.cold, together(size)].map(mib)
    const smaller = ratio(together(hot) / together(size))
    const perSecond = rate((total / milliseconds) * 1000)
    rows.push([name, ...figures, smaller, seconds(milliseconds), perSecond, `${stall.toFixed(1)} ms`])
  }
  const written = await phase(writeAll)
  const hot = sizes()
  const runs = written.result
  row('written', hot, written, hot)
  await phase(async trail => reads.push(['in the log', await queryTime(trail, runs, 'checkpoint_created')]))
  const compacted = await phase(trail => compactAll(trail, runs))
  row('compacted', sizes(), compacted, hot)
  await phase(async trail => {
    reads.push(['warm, what stays', await queryTime(trail, runs, 'checkpoint_created')])
    reads.push(['cold, what compaction archived', await queryTime(trail, runs, 'envelope_delivered')])
  })
  const expired = await phase(async trail => {
    const compactor = trail.storage
    for (const run of runs) unwrap(await compactor.expire(run, clock.take(), { warm: 0, cold: 0 }))
  })
  row('moved to cold and its replica', sizes(), expired, hot)
  await phase(async trail => reads.push(['cold, all', await queryTime(trail, runs, 'checkpoint_created')]))
  console.log(`\n## ${rate(RUNS)} finished runs of ${rate(ENTRIES)} entries, ${signer ? 'signed' : 'not signed'}\n`)
  const head = ['', 'log', 'files of runs', 'cold', 'together', 'written / this', 'time']
  console.log(table([...head, 'entries per second', 'longest stall'], rows))
  console.log(`\n## Newest 50 entries of one kind of a run, median of ${SAMPLES} runs\n`)
  console.log(table(['', 'time'], reads))
  rmSync(profile, { recursive: true })
  await coldAlone(runs, total)
}

/** The profile is gone: what the replica tells. */
async function coldAlone(runs: readonly RunId[], total: number): Promise<void> {
  const rows: string[][] = []
  const opened = await timed(() => openCold(replica, signer ? { trusted: new Set([signer.id]) } : {}))
  const { trail } = opened.result
  const listed = await timed(() => trail.runs())
  rows.push(['opened and indexed', seconds(opened.milliseconds + listed.milliseconds)])
  if (listed.result.length !== runs.length) throw new Error(`${listed.result.length} runs of ${runs.length}`)
  rows.push(['newest 50 entries of one kind', await queryTime(trail, runs, 'checkpoint_created')])
  for (const [name, options] of [
    ['chains and anchors', { skipSignatures: true }],
    ['chains, anchors and signatures', {}],
  ] as const) {
    const verified = await timed(() => trail.verifyAll(options))
    const report = verified.result
    const entries = report.runs.reduce((sum, each) => sum + each.entries, 0)
    if (report.unreadable.length > 0 || report.runs.some(each => each.findings.length > 0))
      throw new Error('the cold copy does not verify')
    if (entries < total) throw new Error(`${entries} entries of ${total}`)
    const perSecond = rate((entries / verified.milliseconds) * 1000)
    rows.push([`verified, ${name}`, `${seconds(verified.milliseconds)} (${perSecond} entries per second)`])
  }
  await trail.close()
  console.log('\n## From the replica alone, after the profile was deleted\n')
  console.log(table(['', ''], rows))
}

console.log(`${new Date().toISOString().slice(0, 10)} · ${machine()}`)
try {
  await tiers()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
