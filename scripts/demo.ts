// `npm start`, until there is a main job: record a scripted run on the real trail, verify it, tamper with a copy, and show that
// verification names the entry.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { StrictClock, SystemClock, SystemIds, unwrap, type WorkspaceId } from '@parley/core'
import { type Entry, openTrail, type Trail, type VerifyReport } from '@parley/trail'
import { edited, ScriptedRun, tamper } from '@parley/trail/testing'

const colour = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)
const bold = (text: string) => paint(1, text)
const dim = (text: string) => paint(2, text)
const good = (text: string) => paint(32, text)
const bad = (text: string) => paint(31, text)

const home = process.env.PARLEY_HOME ?? join(homedir(), '.parley')
const profile = join(home, 'demo')

/** Two workers on a small job; a person approves the result. Nothing here thinks: the point is the record. */
async function record(trail: Trail): Promise<ScriptedRun> {
  const clock = new StrictClock(new SystemClock())
  clock.anchor(trail.floor)
  const script = await ScriptedRun.start(trail, new SystemIds(), clock)
  const builder = await script.workspace({ owner: 'alice', originator: 'alice', agent: 'builder#1' })
  const reviewer = await script.workspace({ owner: 'alice', originator: 'alice', agent: 'reviewer#1' })
  await work(script, builder)
  await work(script, reviewer)
  const gate_id = script.id('gate')
  const gate = { gate_id, gate_type: 'integration' } as const
  unwrap(
    await script.append(script.entry('gate_triggered', builder, 'protocol', { ...gate, workspace: builder })),
  )
  unwrap(await script.append(script.entry('gate_resolved', builder, 'alice', { ...gate, actor: 'alice' })))
  for (const workspace of [builder, reviewer])
    await script.state(workspace, 'integrating', 'closed', { trigger: 'integration_succeeded' })
  await script.end()
  return script
}

async function work(script: ScriptedRun, workspace: WorkspaceId): Promise<void> {
  await script.envelope(script.root, workspace, 'system')
  await script.state(workspace, 'idle', 'active', { trigger: 'first_envelope' })
  await script.checkpoint(workspace, { confidence: 'low' })
  await script.checkpoint(workspace, { confidence: 'high', status: 'final' })
  await script.state(workspace, 'active', 'integrating', { trigger: 'agent_complete' })
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
async function tampered(what: string, script: ScriptedRun, damage: (copy: string) => void): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'parley-demo-'))
  try {
    cpSync(profile, copy, { recursive: true })
    damage(copy)
    const trail = await openTrail(copy)
    console.log(bold(`\nIn a copy, ${what}:`))
    verdict(await trail.run(script.run.id).verify())
    await trail.close()
  } finally {
    rmSync(copy, { recursive: true })
  }
}

console.log(bold('Parley: the trail, a tamper-evident record of what agents and people did'))
console.log(dim(`profile ${profile}\n`))
const trail = await openTrail(profile)
const script = await record(trail)
console.log(bold('A scripted run, each step durable on disk before the next:'))
print(unwrap(await script.run.query({})).entries)
console.log(bold('\nVerifying it from the stored bytes:'))
verdict(await script.run.verify())
const runs = await trail.runs()
await trail.close()

const mine = (record: { run: string }) => record.run === script.run.id
await tampered('somebody changes "low" confidence to "high" in one entry', script, copy =>
  tamper(copy, records => {
    const target = records.findIndex(
      record => mine(record) && record.kind === 'entry' && record.view.includes('"confidence":"low"'),
    )
    return records.with(target, edited(records[target]!, '"confidence":"low"', '"confidence":"high"'))
  }),
)
await tampered("somebody removes the person's approval", script, copy =>
  tamper(copy, records =>
    records.filter(
      record => !(mine(record) && record.kind === 'entry' && record.view.includes('"gate_resolved"')),
    ),
  ),
)
await tampered('somebody cuts off the last three entries', script, copy =>
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
