// bench/trail: durable appends, verification, opening and reading, beside the physical limit and SQLite as the record
// in the same run. npm run bench -- trail [--entries N] [--rounds N] [--seconds N] [--appenders 1,64,…] [--short]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { formatTimestamp, StrictClock, SystemClock, SystemIds, unwrap } from '@parley/core'
import { type EntryDraft, Trail, type TrailStore } from '@parley/trail'
import { ed25519Signer, openSegmentStore, RunVerifier, ScriptedRun } from '@parley/trail/testing'
import { BareFile } from './trail/bare-file.ts'
import { loops, machine, median, rate, ratio, table } from './trail/measure.ts'
import { SqliteRecord } from './trail/sqlite-record.ts'

const { values } = parseArgs({
  options: {
    entries: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    appenders: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})
const ENTRIES = Number(values.entries ?? (values.short ? 2000 : 1_000_000))
const ROUNDS = Number(values.rounds ?? (values.short ? 1 : 5))
const MILLISECONDS = Number(values.seconds ?? (values.short ? 0.05 : 2)) * 1000
const APPENDERS = (values.appenders ?? (values.short ? '1,64' : '1,64,1000,4096'))
  .split(',')
  .filter(Boolean)
  .map(Number)
/** Entries that are verified in memory. */
const VERIFIED = values.short ? 500 : 20_000

const scratch = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const ids = new SystemIds()
const clock = new StrictClock(new SystemClock())

/** Drafts of entries of about 400 bytes in canonical form, as a runtime hands them in: stamped, with a new id. */
function drafts(script: ScriptedRun): () => EntryDraft {
  const { event_type, workspace, actor, body } = script.entry('task_approved', script.root, 'fallback', {
    approval_source: 'timeout-auto-approve',
  })
  return () =>
    ({
      id: ids.next('e'),
      timestamp: formatTimestamp(clock.take()),
      workspace,
      actor,
      event_type,
      body,
    }) as EntryDraft
}

async function trailRate(
  store: TrailStore,
  appenders: number,
  signed: boolean,
): Promise<{ rate: number; delay: number }> {
  const trail = new Trail({ store, ...(signed && { signer: ed25519Signer(Buffer.alloc(32, 1)) }) })
  const scripts = await Promise.all(Array.from({ length: appenders }, () => ScriptedRun.start(trail, ids, clock)))
  const next = scripts.map(drafts)
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const perSecond = await loops(appenders, MILLISECONDS, async index => {
    const result = await scripts[index]!.run.append({ entries: [next[index]!()] })
    if (!result.ok) throw result.error
  })
  delays.disable()
  return { rate: perSecond, delay: delays.percentile(99) / 1e6 }
}

async function bareRate(synchronous: boolean, appenders: number, entry: Buffer): Promise<number> {
  const file = new BareFile(join(scratch, 'bare'), synchronous)
  const perSecond = await loops(appenders, MILLISECONDS, () => file.append(entry))
  file.close()
  return perSecond
}

async function onStore<T>(
  make: (folder: string) => Promise<TrailStore>,
  use: (store: TrailStore) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(scratch, 'store-'))
  const store = await make(folder)
  try {
    return await use(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

const segmentLog = (folder: string) => openSegmentStore(folder)
const sqliteRecord = async (folder: string) => new SqliteRecord(join(folder, 'record.db'))

async function entryBytes(): Promise<number> {
  return onStore(segmentLog, async store => {
    const script = await ScriptedRun.start(new Trail({ store }), ids, clock)
    unwrap(await script.run.append({ entries: [drafts(script)()] }))
    const page = await store.select({ run: script.run.id, order: 'descending', limit: 1 })
    return Buffer.byteLength(page.entries[0]!.view)
  })
}

async function appends(): Promise<void> {
  const bytes = await entryBytes()
  const entry = Buffer.alloc(bytes, 'x')
  console.log(`\n## Durable appends per second, entries of ${bytes} bytes, median of ${ROUNDS} rounds\n`)
  const rows: string[][] = []
  for (const appenders of APPENDERS) {
    const seen = {
      trail: [] as number[],
      signed: [] as number[],
      bare: [] as number[],
      sync: [] as number[],
      sqlite: [] as number[],
      delay: [] as number[],
    }
    for (let round = 0; round < ROUNDS; round++) {
      seen.bare.push(await bareRate(false, appenders, entry))
      const plain = await onStore(segmentLog, store => trailRate(store, appenders, false))
      seen.trail.push(plain.rate)
      seen.delay.push(plain.delay)
      seen.sqlite.push((await onStore(sqliteRecord, store => trailRate(store, appenders, false))).rate)
      seen.signed.push((await onStore(segmentLog, store => trailRate(store, appenders, true))).rate)
      seen.sync.push(await bareRate(true, appenders, entry))
    }
    const trail = median(seen.trail)
    rows.push([
      rate(appenders),
      rate(trail),
      rate(median(seen.signed)),
      rate(median(seen.bare)),
      rate(median(seen.sync)),
      rate(median(seen.sqlite)),
      ratio(median(seen.trail.map((value, index) => value / seen.bare[index]!))),
      ratio(median(seen.trail.map((value, index) => value / seen.sqlite[index]!))),
      `${median(seen.delay).toFixed(1)} ms`,
    ])
  }
  console.log(
    table(
      [
        'appenders',
        'trail',
        'trail, signed',
        'bare file',
        'bare file, synchronous',
        'SQLite as the record',
        'trail / bare',
        'trail / SQLite',
        'event loop delay, p99',
      ],
      rows,
    ),
  )
}

async function fill(profile: string): Promise<{ script: ScriptedRun; indexed: number }> {
  const store = await openSegmentStore(profile)
  const script = await ScriptedRun.start(new Trail({ store }), ids, clock)
  const workspaces = await Promise.all(Array.from({ length: 100 }, () => script.workspace()))
  const proposals = workspaces.map(workspace =>
    script.entry('liveness_warning', workspace, 'protocol', { workspace_id: workspace }),
  )
  let left = ENTRIES - 101
  await Promise.all(
    Array.from({ length: 1000 }, async (_, index) => {
      while (left-- > 0) unwrap(await script.append(proposals[index % proposals.length]!))
    }),
  )
  const start = performance.now()
  await store.head(script.run.id)
  const indexed = performance.now() - start
  await store.close()
  return { script, indexed }
}

async function reading(): Promise<void> {
  const profile = join(scratch, 'large')
  const { script, indexed } = await fill(profile)
  const rows: string[][] = []
  const opening: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    const store = await openSegmentStore(profile)
    opening.push(performance.now() - start)
    await store.close()
  }
  rows.push(['opening with a good index', `${median(opening).toFixed(0)} ms`, '100 ms'])
  const store = await openSegmentStore(profile)
  const trail = new Trail({ store })
  const run = trail.run(script.run.id)
  const workspace = unwrap(await run.query({ after: 50, limit: 1 })).entries[0]!.workspace!
  const lookups: number[] = []
  for (let round = 0; round < 200; round++) {
    const start = performance.now()
    unwrap(await run.query({ workspace, order: 'descending', limit: 50 }))
    lookups.push(performance.now() - start)
  }
  rows.push(['last 50 entries of one workspace', `${median(lookups).toFixed(2)} ms`, '2 ms'])
  let start = performance.now()
  let read = 0
  for await (const record of run.replay()) if ('seq' in record) read++
  rows.push([`reading all ${rate(read)}, parsed`, `${((performance.now() - start) / 1000).toFixed(2)} s`, '8 s'])
  start = performance.now()
  const cpu = process.cpuUsage()
  const report = await run.verify({ skipSignatures: true })
  const { user, system } = process.cpuUsage(cpu)
  const perSecond = (report.entries / (performance.now() - start)) * 1000
  if (report.findings.length > 0) throw new Error('the trail does not verify')
  rows.push(['verification, entries per second', rate(perSecond), '250,000'])
  rows.push(['verification, entries per second of CPU time', rate((report.entries / (user + system)) * 1e6), ''])
  rows.push(['index catching up after the load', `${(indexed / 1000).toFixed(2)} s`, ''])
  await store.close()
  console.log(`\n## A trail of ${rate(ENTRIES)} entries\n`)
  console.log(table(['', 'measured', 'goal'], rows))
}

/** What the chains alone cost, without any file. */
async function signatures(): Promise<void> {
  const signer = ed25519Signer(Buffer.alloc(32, 1))
  const rows: string[][] = []
  await onStore(segmentLog, async store => {
    const trail = new Trail({ store, signer })
    const script = await ScriptedRun.start(trail, ids, clock)
    const next = drafts(script)
    await Promise.all(Array.from({ length: VERIFIED }, () => script.run.append({ entries: [next()] })))
    const stored = []
    for await (const record of store.replay(script.run.id)) if (record.kind === 'entry') stored.push(record)
    for (const [name, options] of [
      ['without signatures', { skipSignatures: true }],
      ['with signatures', {}],
    ] as const) {
      const verifier = new RunVerifier(script.run.id, options)
      const start = performance.now()
      for (const entry of stored) verifier.entry(entry)
      rows.push([name, rate((stored.length / (performance.now() - start)) * 1000)])
    }
  })
  console.log('\n## Verification in memory, entries per second\n')
  console.log(table(['', 'per second'], rows))
}

console.log(`${new Date().toISOString().slice(0, 10)} · ${machine()}`)
try {
  await appends()
  await reading()
  await signatures()
} finally {
  rmSync(scratch, { recursive: true })
}
