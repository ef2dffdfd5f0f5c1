// `npm start`, until there is a main job: a run on the real kernel and the real trail, verified; then copies are tampered with, to show
// that verification names the entry.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { type RunHandle, Runtime, type Worker } from '@parley/kernel'
import { type Entry, openTrail, type Trail, type VerifyReport } from '@parley/trail'
import { edited, tamper } from '@parley/trail/testing'

const colour = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
const bold = (text: string) => paint(1, text)
const dim = (text: string) => paint(2, text)
const good = (text: string) => paint(32, text)
const bad = (text: string) => paint(31, text)

const home = process.env.PARLEY_HOME ?? join(homedir(), '.parley')
const profile = join(home, 'demo')

/** A builder and a reviewer on a small job. Nothing here thinks yet: the point is that every step is decided by the rules and recorded. */
async function record(trail: Trail): Promise<RunHandle> {
  const runtime = await Runtime.open({ trail })
  const run = unwrap(await runtime.start({ owner: 'alice' }))
  const { coordinator } = run
  unwrap(await coordinator.started())
  const { tasks } = unwrap(
    await coordinator.submitGraph([
      { key: 'build', name: 'build', description: 'Add the --json option.' },
      { name: 'review', description: 'Review what was built.', depends_on: ['build'] },
    ]),
  )
  for (const task of tasks) {
    const worker = unwrap(await coordinator.createWorkspace({ role: 'worker', task }))
    await work(worker)
    unwrap(await coordinator.accept(worker.workspace))
  }
  unwrap(await run.close())
  await runtime.close()
  return run
}

async function work(worker: Worker): Promise<void> {
  const directive = unwrap(await worker.receive())
  unwrap(await worker.started())
  const draft = {
    type: 'artifact',
    payload: { content: directive.payload.content },
    intent: 'Show the work.',
  }
  const { checkpoint } = unwrap(
    await worker.checkpoint({ ...draft, status: 'provisional', confidence: 'low' }),
  )
  unwrap(await worker.checkpoint({ ...draft, parent: checkpoint, status: 'final', confidence: 'high' }))
  unwrap(await worker.complete())
}

function print(entries: readonly Entry[]): void {
  const names = new Map<string | null, string>([[null, 'system-level']])
  for (const entry of entries) {
    if (!names.has(entry.workspace))
      names.set(entry.workspace, ['root', 'builder', 'reviewer'][names.size - 1] ?? 'workspace')
    const cells = [
      String(entry.seq).padStart(4),
      entry.timestamp.slice(11, 26),
      names.get(entry.workspace)!.padEnd(9),
      entry.actor.padEnd(9),
      entry.event_type.padEnd(24),
      dim(`${entry.integrity.entry_hash.slice(0, 12)}…`),
    ]
    console.log(`  ${cells.join('  ')}`)
  }
}

function verdict(report: VerifyReport): void {
  if (report.findings.length === 0) {
    console.log(
      `  ${good('sound')}: ${report.entries} entries, both chains, anchors and signatures; head ${report.head?.hash.slice(0, 12)}…`,
    )
    return
  }
  for (const finding of report.findings)
    console.log(`  ${bad(finding.damage)} (${finding.violation}): ${finding.message}`)
}

/** Damages a copy of the profile and verifies that. */
async function tampered(what: string, run: RunHandle, damage: (copy: string) => void): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'parley-demo-'))
  try {
    cpSync(profile, copy, { recursive: true })
    damage(copy)
    const trail = await openTrail(copy)
    console.log(bold(`\nIn a copy, ${what}:`))
    verdict(await trail.run(run.id).verify())
    await trail.close()
  } finally {
    rmSync(copy, { recursive: true })
  }
}

console.log(bold('Parley: agents at work under the rules of WACP, and a tamper-evident record of it'))
console.log(dim(`profile ${profile}\n`))
const trail = await openTrail(profile)
const run = await record(trail)
console.log(bold('A run of two tasks, each step durable on disk before the next:'))
print(unwrap(await trail.run(run.id).query({})).entries)
console.log(bold('\nVerifying it from the stored bytes:'))
verdict(await trail.run(run.id).verify())
const runs = await trail.runs()
await trail.close()

const mine = (record: { run: string }) => record.run === run.id
await tampered('somebody changes "low" confidence to "high" in one entry', run, copy =>
  tamper(copy, records => {
    const target = records.findIndex(
      record => mine(record) && record.kind === 'entry' && record.view.includes('"confidence":"low"'),
    )
    return records.with(target, edited(records[target]!, '"confidence":"low"', '"confidence":"high"'))
  }),
)
await tampered("somebody removes the review's completion", run, copy =>
  tamper(copy, records => {
    const target = records.findLastIndex(
      record => mine(record) && record.kind === 'entry' && record.view.includes('"task_completed"'),
    )
    return records.toSpliced(target, 1)
  }),
)
await tampered('somebody cuts off the last three entries', run, copy =>
  tamper(copy, records => {
    const last = Math.max(...records.filter(mine).map(record => record.seq))
    return records.filter(record => !mine(record) || record.seq <= last - 3)
  }),
)

console.log(bold('\nWhat now?'))
console.log(
  `  The record of ${runs.length === 1 ? 'this run' : `all ${runs.length} runs`} is in ${join(profile, 'trail')}; run npm start again and it grows.`,
)
console.log('  npm run trail -- verify   verifies it again          npm run trail -- show   lists its runs')
console.log(
  '  npm test                  runs everything            README.md               what is there and what is not yet',
)
